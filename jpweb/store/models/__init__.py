"""Models of the store. Other packages do not import them; they call the store's functions."""

from jpweb.store.models.accounts import (
    Invitation,
    Membership,
    Person,
    SignIn,
    SignInLink,
    Trust,
    Workspace,
)
from jpweb.store.models.conversations import Conversation, JournalEntry, Reading, Turn
from jpweb.store.models.inquiries import Inquiry, Presence, Showing
from jpweb.store.models.notifications import Address, AnswerLink, Notice
from jpweb.store.models.runs import Duty, Heartbeat, Interruption, KeptResult, Prompt, Run
from jpweb.store.models.search import Passage, SavedSearch

__all__ = [
    "Address",
    "AnswerLink",
    "Conversation",
    "Duty",
    "Heartbeat",
    "Inquiry",
    "Interruption",
    "Invitation",
    "JournalEntry",
    "KeptResult",
    "Membership",
    "Notice",
    "Passage",
    "Person",
    "Presence",
    "Prompt",
    "Reading",
    "Run",
    "SavedSearch",
    "Showing",
    "SignIn",
    "SignInLink",
    "Trust",
    "Turn",
    "Workspace",
]
