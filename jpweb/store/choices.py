"""Choices of model fields, for packages that may not import the models."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import IntegerChoices, TextChoices


class Role(IntegerChoices):
    """Roles of a person in a workspace; each includes the permissions of the lower ones.

    AUDITOR_ONLY is the exception: it audits like AUDITOR, and answers and runs nothing. Its value
    is below RESPONDER, so that a comparison which forgets it refuses.
    """

    READER = 10, "reader"
    AUDITOR_ONLY = 15, "auditor only"
    RESPONDER = 20, "responder"
    AUDITOR = 30, "auditor"
    OWNER = 40, "owner"

    def has_rights_of(self, needed_role: Role) -> bool:
        """Tell whether this role has the permissions of another; no rule needs AUDITOR_ONLY."""
        return self >= needed_role or (self is Role.AUDITOR_ONLY and needed_role is Role.AUDITOR)

    @classmethod
    def combine(cls, roles: Iterable[Role]) -> Role | None:
        """Return the lowest role with the permissions of all these; None for none."""
        roles = set(roles)
        if roles and max(roles) is cls.RESPONDER and cls.AUDITOR_ONLY in roles:
            return cls.AUDITOR
        return max(roles, default=None)

    @classmethod
    def list_including(cls, needed_role: Role) -> list[Role]:
        """Return the roles that have the permissions of this one, for conditions of queries."""
        return [role for role in cls if role.has_rights_of(needed_role)]


class Origin(TextChoices):
    """The owner of a conversation: JP (``mirrored``, read-only here) or jpweb (``native``).

    One that was ``imported`` from an evidence bundle stays as it was verified.
    """

    MIRRORED = "mirrored"
    NATIVE = "native"
    IMPORTED = "imported"


class WritePolicy(TextChoices):
    """Whether native conversations are also written into their workspace's files.

    If so, changes to a mirrored one, such as its title, are written there too.
    """

    OFF = "off", "no: they stay in jpweb"
    CURRENT = "current", "yes, for a jp that knows RFD 082"
    COMPATIBLE = "compatible", "yes, readable for an older jp too"


class RunState(TextChoices):
    """The state of a run.

    ``queued``: no process executes it yet; ``running``: its holder does; ``parked``: it
    waits for people without a holder; ``lost``: no process can continue it.
    """

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


#: The states of a run that has not ended; a conversation has at most one such run.
UNFINISHED_STATES = (RunState.QUEUED, RunState.RUNNING, RunState.PARKED)


class RunPhase(TextChoices):
    """The phase of a turn: awaits the model's reply, runs tool calls, waits for people, is over."""

    REPLYING = "replying"
    CALLING = "calling"
    WAITING = "waiting"
    OVER = "over"


class InterruptKind(TextChoices):
    """The kinds of interrupt that a person sends to a run."""

    STOP = "stop"
    RESTART = "restart"
    RESPOND = "respond"


class TrustKind(TextChoices):
    """Kinds of commands and servers that an owner can trust."""

    TOOL = "tool", "command of a tool"
    FORMATTER = "formatter", "command that shows a tool's arguments"
    SERVER = "server", "MCP server"
    PROVIDER = "provider", "address or key of a provider"


class ApprovalKind(TextChoices):
    """The prompts of RFD 018 that are no inquiries."""

    RUN = "run", "may this call run?"
    DELIVER = "deliver", "may the model see this result?"


class ApprovalState(TextChoices):
    """The state of an approval; ``withdrawn``: its call ended before a decision."""

    OPEN = "open"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"


#: States of approvals that are no longer open.
SETTLED_STATES = (ApprovalState.DECIDED, ApprovalState.WITHDRAWN)


class Verdict(TextChoices):
    """A reviewer's verdict on a question's outcome, or on a conversation."""

    FINE = "fine"
    QUESTIONABLE = "questionable"
    WRONG = "wrong"
    ESCALATE = "escalate"


class ReviewState(TextChoices):
    """The state of reviews.

    ``partial``: the second of two is missing; ``escalated``: an owner's decision is missing.
    """

    UNREVIEWED = "unreviewed"
    PARTIAL = "partial"
    DONE = "done"
    DISAGREED = "disagreed"
    ESCALATED = "escalated"


class Act(TextChoices):
    """The acts that the ledger records."""

    INQUIRY_ANSWERED = "inquiry_answered"
    INQUIRY_CANCELLED = "inquiry_cancelled"
    APPROVAL_DECIDED = "approval_decided"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    CALL_DECIDED_BY_POLICY = "call_decided_by_policy"
    CALL_RAN_UNATTENDED = "call_ran_unattended"
    RESULT_DECIDED_BY_POLICY = "result_decided_by_policy"
    RUN_STARTED = "run_started"
    RUN_INTERRUPTED = "run_interrupted"
    RUN_ENDED = "run_ended"
    TRUST_GIVEN = "trust_given"
    TRUST_WITHDRAWN = "trust_withdrawn"
    SETTING_CHANGED = "setting_changed"
    MEMBER_INVITED = "member_invited"
    INVITATION_WITHDRAWN = "invitation_withdrawn"
    INVITATION_DECLINED = "invitation_declined"
    MEMBER_ADDED = "member_added"
    ROLE_CHANGED = "role_changed"
    MEMBER_REMOVED = "member_removed"
    GROUP_CHANGED = "group_changed"
    LINK_MADE = "link_made"
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    SIGN_INS_ENDED = "sign_ins_ended"
    PERSON_DEACTIVATED = "person_deactivated"
    PERSON_REACTIVATED = "person_reactivated"
    READ = "read"
    SEARCHED = "searched"
    EXPORTED = "exported"
    PURGED = "purged"
    RESTORED = "restored"
    REVIEWED = "reviewed"
    REVIEW_ASSIGNED = "review_assigned"
    REDACTED = "redacted"
    EVIDENCE_IMPORTED = "evidence_imported"
    TEXT_REVEALED = "text_revealed"
    SUSPICION_DISMISSED = "suspicion_dismissed"
    QUESTION_CLAIMED = "question_claimed"
    CLAIM_RELEASED = "claim_released"
    APPROVAL_CLAIMED = "approval_claimed"
    APPROVAL_CLAIM_RELEASED = "approval_claim_released"
    IDENTITY_CONNECTED = "identity_connected"
    IDENTITY_DISCONNECTED = "identity_disconnected"
    PASSKEY_ADDED = "passkey_added"
    PASSKEY_REMOVED = "passkey_removed"
    SECOND_FACTOR_ADDED = "second_factor_added"
    SECOND_FACTOR_REMOVED = "second_factor_removed"
    SECOND_FACTOR_LOCKED = "second_factor_locked"
    RECOVERY_CODES_MADE = "recovery_codes_made"
    COMMENT_ADDED = "comment_added"
    COMMENT_EDITED = "comment_edited"
    COMMENT_DELETED = "comment_deleted"
    COMMENTS_RESOLVED = "comments_resolved"
    COMMENTS_REOPENED = "comments_reopened"
    WORKSPACE_ADDED = "workspace_added"
    LEDGER_KEY_CHANGED = "ledger_key_changed"
    ANSWER_LINK_ISSUED = "answer_link_issued"
    CHANNEL_ADDED = "channel_added"
    CHANNEL_CHANGED = "channel_changed"
    CHANNEL_REMOVED = "channel_removed"


class FilesState(TextChoices):
    """Whether the files of a workspace are mirrored."""

    FOLLOWED = "followed"
    READING = "reading"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    STOPPED = "stopped"
    MISSING = "missing"
    BUILT_IN = "built_in"


class DecisionKind(TextChoices):
    """The kinds of decisions that auditors filter by; two are those of ``ApprovalKind``."""

    QUESTION = "question", "Question"
    RUN = "run", "Tool call"
    UNATTENDED = "unattended", "Ran without asking"
    DELIVER = "deliver", "Result"
    TRUST = "trust", "Trust"
    RIGHTS = "rights", "Members and roles"
    REDACTION = "redaction", "Redaction"
    REVIEW = "review", "Review"
    SETTING = "setting", "Setting"
    SUSPICION = "suspicion", "Suspected secret"


class SuspectedSecretState(TextChoices):
    """The state of a suspected secret; only an open one is masked."""

    OPEN = "open"
    DISMISSED = "dismissed"
    REDACTED = "redacted"


class SavedPage(TextChoices):
    """The page of a saved search."""

    SEARCH = "search"
    AUDIT = "audit"
    DECISIONS = "decisions"


class Theme(TextChoices):
    """Colours of a person's pages: those of their device, light, or dark."""

    SYSTEM = "system", "As on this device"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Density(TextChoices):
    """Size of text and spaces on a person's pages."""

    COMFORTABLE = "comfortable", "Comfortable"
    COMPACT = "compact", "Compact"
