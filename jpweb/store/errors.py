"""What the store refuses.

* StoreError
  + NoDatabase            the database cannot be reached
  + NoWorkspace           there is no ``.jp`` at or above the path
  + UnknownConversation   no such conversation
  + UnknownEvent          no such event in the conversation
  + UnknownInquiry        no such inquiry
  + AlreadySettled        somebody or something decided first; carries the row
  + UnknownPrompt         no such permission or delivery prompt, or no run that could ask it
  + AlreadyDecided        somebody decided the prompt first, or it was withdrawn; carries the row
  + AlreadyRunning        the conversation has a run
  + NotHolder             another process executes the run, or nobody does any more
  + NothingToRetry        the newest run of the conversation did not fail
  + ReadOnly              the conversation belongs to JP
  + ExportBroken          what is downloaded was rewritten or removed meanwhile
  + BadLink               the sign-in link is unknown, used or too old
  + BadName               a name hides or imitates something; says what
  + NameTaken             a member has that name, or one that looks like it
  + TooManyLinks          the person made as many links as one may in an hour
  + LastOwner             a workspace keeps at least one owner
  + BadFile               a file of the configuration, or the overrides, cannot be read
  + Outdated              what somebody decided about is not what they saw
  + BadBackup             the file is no backup, is damaged, or cannot be written
  + OtherSchema           the database or the backup is of another version of jpweb
  + NotEmpty              a backup would be restored over what is there
  + DatabaseInUse         a backup would be restored under a running jpweb
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry, Prompt


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
        super().__init__("This question is already settled.")
        self.inquiry = inquiry


class UnknownPrompt(StoreError):
    """No such permission or delivery prompt, or no run that could ask it."""


class AlreadyDecided(StoreError):
    """The prompt was decided or withdrawn before; ``prompt`` says how and by whom."""

    def __init__(self, prompt: Prompt) -> None:
        super().__init__("This is already decided.")
        self.prompt = prompt


class AlreadyRunning(StoreError):
    """The conversation has a run."""


class NotHolder(StoreError):
    """This process does not hold the run any more; what it wanted to write was not written."""


class NothingToRetry(StoreError):
    """The newest run of the conversation did not fail."""


class ReadOnly(StoreError):
    """The conversation belongs to JP."""


class ExportBroken(StoreError):
    """What is downloaded was rewritten or removed meanwhile; its file cannot be made whole."""


class BadLink(StoreError):
    """The sign-in link is unknown, used or too old."""


class BadName(StoreError):
    """A name hides or imitates something; says what."""


class NameTaken(StoreError):
    """A person of that name, or of one that looks like it, is in the workspace."""


class TooManyLinks(StoreError):
    """The person made as many links as one may in an hour."""


class LastOwner(StoreError):
    """A workspace keeps at least one owner."""


class BadFile(StoreError):
    """A file of the configuration, or the overrides, cannot be read; names file and line."""


class Outdated(StoreError):
    """What somebody decided about is no longer what they saw."""


class BadBackup(StoreError):
    """The file is no backup, is damaged, or cannot be written."""


class OtherSchema(StoreError):
    """The database or the backup is of another version of jpweb."""


class NotEmpty(StoreError):
    """The database already holds rows."""


class DatabaseInUse(StoreError):
    """A process of jpweb works with the database."""
