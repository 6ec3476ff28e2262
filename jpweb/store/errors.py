"""What the store refuses.

* StoreError
  + NoDatabase            the database cannot be reached
  + NoWorkspace           there is no ``.jp`` at or above the path
  + UnknownConversation   no such conversation
  + UnknownEvent          no such event in the conversation
  + UnknownInquiry        no such inquiry
  + AlreadySettled        somebody or something decided first; carries the row
  + AlreadyRunning        the conversation has a run
  + ReadOnly              the conversation belongs to JP
  + BadLink               the sign-in link is unknown, used or too old
  + NameTaken             a person of that name exists
  + LastOwner             a workspace keeps at least one owner
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry


class StoreError(Exception):
    """Base of everything the store raises; the message is for people."""


class NoDatabase(StoreError):
    """The database cannot be reached."""


class NoWorkspace(StoreError):
    """There is no ``.jp`` at or above the path."""


class UnknownConversation(StoreError):
    """No such conversation."""


class UnknownEvent(StoreError):
    """No such event in the conversation."""


class UnknownInquiry(StoreError):
    """No such inquiry."""


class AlreadySettled(StoreError):
    """The question was settled before; ``inquiry`` says how and by whom."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__("This question is settled already.")
        self.inquiry = inquiry


class AlreadyRunning(StoreError):
    """The conversation has a run."""


class ReadOnly(StoreError):
    """The conversation belongs to JP."""


class BadLink(StoreError):
    """The sign-in link is unknown, used or too old."""


class NameTaken(StoreError):
    """A person of that name exists."""


class LastOwner(StoreError):
    """A workspace keeps at least one owner."""
