"""Pending updates of one socket."""

from __future__ import annotations

from dataclasses import dataclass

from jpweb.runtime.broadcast.local_bus import Signal


@dataclass(slots=True)
class PendingUpdates:
    """A few flags, in which signals coalesce: a socket under backpressure queues nothing."""

    #: Whether the conversation has changed, and the newest partial text that was not sent.
    has_changes: bool = False
    text_signal: Signal | None = None
    #: Whether the partial text is newer than the conversation's change.
    is_text_newer: bool = False
    has_inbox_changes: bool = False
    #: Whether the first conversation update is due, and whether it failed.
    is_connecting: bool = False
    has_failed: bool = False
    #: Whether a costly batch holds the conversation update, or the inbox update.
    in_costly_batch: bool = False
    in_costly_inbox_batch: bool = False

    @property
    def is_conversation_due(self) -> bool:
        """Whether the next conversation batch has an update for the socket."""
        return (self.has_changes or self.text_signal is not None) and not self.in_costly_batch

    @property
    def is_inbox_due(self) -> bool:
        """Whether the next inbox batch has an update for the socket."""
        return self.has_inbox_changes and not self.in_costly_inbox_batch

    def note_change(self) -> None:
        """Note a change of the conversation."""
        self.has_changes, self.is_text_newer = True, False

    def note_text(self, text_signal: Signal | None) -> None:
        """Note the newest partial text; it replaces an earlier one."""
        self.text_signal, self.is_text_newer = text_signal, True

    def restore_conversation(
        self, *, has_changes: bool, text_signal: Signal | None, is_text_newer: bool
    ) -> None:
        """Make a conversation update pending again that was not sent; later signals are newer."""
        if not (self.has_changes or self.text_signal):
            self.is_text_newer = is_text_newer
        self.has_changes = self.has_changes or has_changes
        self.text_signal = self.text_signal or text_signal

    def begin_page(self, *, has_conversation: bool) -> None:
        """Make the first update due: the conversation's, and the inbox's after it or alone."""
        self.text_signal, self.has_failed = None, False
        self.is_connecting = self.has_changes = has_conversation
        self.has_inbox_changes = not has_conversation

    def end_connecting(self, *, has_failed: bool) -> None:
        """Make the inbox update due after the first conversation update, or its failure."""
        self.has_inbox_changes = self.has_inbox_changes or self.is_connecting
        self.has_failed, self.is_connecting = has_failed, False
