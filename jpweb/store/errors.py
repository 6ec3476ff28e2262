"""Errors that the store raises.

* StoreError
  + DatabaseUnavailable   the database cannot be reached
  + NoWorkspace           there is no ``.jp`` at or above the path
  + UnknownConversation   no such conversation
  + UnknownAnchor         no such event in the conversation
  + UnknownInquiry        no such inquiry
  + AlreadySettled        another answer came first; carries the row
  + UnknownApproval       no such approval, or no run that could ask for it
  + AlreadyDecided        another decision came first, or the call ended; carries the row
  + AlreadyRunning        the conversation has a run
  + LeaseLost             another process executes the run, or the run has ended
  + NothingToRetry        the newest run of the conversation did not fail
  + ReadOnlyConversation  the conversation belongs to JP
  + ExportBroken          the conversation was rewritten or removed during its download
  + InvalidLink           the sign-in link is unknown, used or too old
  + InvalidName           a name hides or imitates characters; says which
  + NameTaken             a member has that name, or one that looks like it
  + TooManyLinks          the person made as many links as one may in an hour
  + IdentityTaken         another account has this identity at the provider
  + CodeRequired          the person of the sign-in link has a second factor; carries the link
  + PasskeyRefused        the passkey cannot be added; says why
  + InactivePerson        the person's account is deactivated
  + LastOwner             a workspace keeps at least one owner
  + RoleByGroup           a group gives the person a role in the workspace; names the group
  + MembershipEnded       the person was removed from the workspace or the group meanwhile
  + UnmanagedGroup        the group was deleted, or the person may no longer change it
  + InvalidConfigFile     a configuration file, or the overrides, cannot be read
  + StaleVersion          the row was changed since the person saw it
  + ReviewRefused         the person may not review this, or not now; says why
  + CommentRefused        the comment cannot be saved or changed; says why
  + BookmarkRefused       the bookmark cannot be set; says why
  + InvalidBackup         the file is no backup, is damaged, or cannot be written
  + ImportRefused         the bundle does not verify, or cannot be imported here
  + SchemaMismatch        the database or the backup is of another version of jpweb
  + DatabaseNotEmpty      a backup would be restored over existing rows
  + DatabaseInUse         a backup would be restored under a running jpweb
  + WrongSecretKey        the key of another secret key signed the ledger
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jpweb.store.models import Approval, Inquiry


class StoreError(Exception):
    """Base of everything the store raises; the message is for people."""


class DatabaseUnavailable(StoreError):
    """The database cannot be reached."""


class NoWorkspace(StoreError):
    """There is no ``.jp`` at or above the path."""


class UnknownConversation(StoreError):
    """No such conversation."""


class UnknownAnchor(StoreError):
    """No such event in the conversation."""


class UnknownInquiry(StoreError):
    """No such inquiry."""


class AlreadySettled(StoreError):
    """The question was settled before; ``inquiry`` says how and by whom."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__("This question is already settled.")
        self.inquiry = inquiry


class UnknownApproval(StoreError):
    """No such approval, or no run that could ask for it."""


class AlreadyDecided(StoreError):
    """The approval was decided or withdrawn before; ``approval`` says how and by whom."""

    def __init__(self, approval: Approval) -> None:
        super().__init__("This is already decided.")
        self.approval = approval


class AlreadyRunning(StoreError):
    """The conversation has a run."""


class LeaseLost(StoreError):
    """The run's lease belongs to another process, or the run has ended; nothing was written."""


class NothingToRetry(StoreError):
    """The newest run of the conversation did not fail."""


class ReadOnlyConversation(StoreError):
    """The conversation belongs to JP."""


class ExportBroken(StoreError):
    """The conversation was rewritten or removed during its download; the file is incomplete."""


class InvalidLink(StoreError):
    """The sign-in link is unknown, used or too old."""


class InvalidName(StoreError):
    """A name has hidden characters or imitates another name; the text names them."""


class NameTaken(StoreError):
    """A person of that name, or of one that looks like it, is in the workspace."""


class TooManyLinks(StoreError):
    """The person made as many links as one may in an hour."""


class InactivePerson(StoreError):
    """The person's account is deactivated; says how to restore it."""


class LastOwner(StoreError):
    """A workspace keeps at least one owner."""


class RoleByGroup(StoreError):
    """A group gives the person a role in the workspace; names the group."""


class MembershipEnded(StoreError):
    """The person was removed from the workspace or group after the membership was read."""


class UnmanagedGroup(StoreError):
    """The group was deleted, or has a role in a workspace that the actor does not own."""


class InvalidConfigFile(StoreError):
    """A configuration file, or the overrides, cannot be read; names file and line."""


class StaleVersion(StoreError):
    """The row was changed since the person saw it."""


class ReviewRefused(StoreError):
    """The person may not review this, or another review came first; says why and whose."""


class InvalidBackup(StoreError):
    """The file is no backup, is damaged, or cannot be written."""


class ImportRefused(StoreError):
    """The bundle does not verify, or cannot be imported here; says why."""


class SchemaMismatch(StoreError):
    """The database or the backup is of another version of jpweb."""


class DatabaseNotEmpty(StoreError):
    """The database already holds rows."""


class DatabaseInUse(StoreError):
    """A process of jpweb works with the database."""


class WrongSecretKey(StoreError):
    """The key of another secret key signed the ledger: new entries count as forged."""


class IdentityTaken(StoreError):
    """Another account has this identity at the provider."""


class CodeRequired(StoreError):
    """The person of the sign-in link ``link_id`` has a second factor; the link is not used."""

    def __init__(self, link_id: int) -> None:
        super().__init__("This sign-in also needs a code of your authenticator app.")
        self.link_id = link_id


class PasskeyRefused(StoreError):
    """The passkey cannot be added; says why."""


class CommentRefused(StoreError):
    """The comment cannot be saved or changed; says why."""


class BookmarkRefused(StoreError):
    """The bookmark cannot be set; says why."""
