"""Models of the store. Other packages do not import them; they call the store's functions."""

from jpweb.store.models.accounts import (
    DEMO_ROOT,
    Group,
    GroupMember,
    GroupRole,
    Identity,
    Invitation,
    Membership,
    Person,
    SignIn,
    SignInLink,
    Trust,
    Workspace,
)
from jpweb.store.models.annotations import Bookmark, Comment, CommentThread, Mention
from jpweb.store.models.authentication import Passkey, RecoveryCode, SecondFactor
from jpweb.store.models.conversations import (
    Conversation,
    JournalEntry,
    MirrorPass,
    ReadMark,
    Turn,
)
from jpweb.store.models.inquiries import (
    DisplayReceipt,
    Inquiry,
    Presence,
    QuestionClaim,
    QuestionSnooze,
)
from jpweb.store.models.ledger import LedgerEntry, LedgerHead, LedgerTile
from jpweb.store.models.notifications import (
    AnswerLink,
    NotificationDelivery,
    NotificationDestination,
    PushDelivery,
    PushSubscription,
)
from jpweb.store.models.redactions import Redaction
from jpweb.store.models.reviews import Review, ReviewTask
from jpweb.store.models.runs import (
    Approval,
    ApprovalClaim,
    CallCheckpoint,
    Heartbeat,
    Run,
    RunInterrupt,
    TaskLease,
)
from jpweb.store.models.search import Passage, SavedSearch
from jpweb.store.models.suspected_secrets import SuspectedSecret

__all__ = [
    "DEMO_ROOT",
    "AnswerLink",
    "Approval",
    "ApprovalClaim",
    "Bookmark",
    "CallCheckpoint",
    "Comment",
    "CommentThread",
    "Conversation",
    "DisplayReceipt",
    "Group",
    "GroupMember",
    "GroupRole",
    "Heartbeat",
    "Identity",
    "Inquiry",
    "Invitation",
    "JournalEntry",
    "LedgerEntry",
    "LedgerHead",
    "LedgerTile",
    "Membership",
    "Mention",
    "MirrorPass",
    "NotificationDelivery",
    "NotificationDestination",
    "Passage",
    "Passkey",
    "Person",
    "Presence",
    "PushDelivery",
    "PushSubscription",
    "QuestionClaim",
    "QuestionSnooze",
    "ReadMark",
    "RecoveryCode",
    "Redaction",
    "Review",
    "ReviewTask",
    "Run",
    "RunInterrupt",
    "SavedSearch",
    "SecondFactor",
    "SignIn",
    "SignInLink",
    "SuspectedSecret",
    "TaskLease",
    "Trust",
    "Turn",
    "Workspace",
]
