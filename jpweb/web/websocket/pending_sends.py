"""The sends of one batch: the pending flags of each socket when the batch takes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jpweb.runtime.broadcast.local_bus import Signal
from jpweb.store.ledger.entries import Place
from jpweb.web.websocket import conversation_updates
from jpweb.web.websocket.conversation_updates import ConversationUpdate, RenderedState
from jpweb.web.websocket.protocol import Subscription

if TYPE_CHECKING:
    from jpweb.web.websocket.live_updates import LiveUpdateConsumer

#: A person, and the state of a page of theirs; None for a page that is sent partial text alone.
PageKey = tuple[int, RenderedState | None]
#: Updates of a conversation by person and page state; costly ones are absent.
UpdatesByPage = dict[PageKey, ConversationUpdate | None]


@dataclass(slots=True, eq=False)
class PendingSend:
    """A pending update of one socket in a batch."""

    socket: LiveUpdateConsumer
    subscription: Subscription

    @property
    def is_current(self) -> bool:
        """Whether the page of the socket has sent no other state since."""
        return self.socket.subscription is self.subscription


@dataclass(slots=True, eq=False)
class ConversationSend(PendingSend):
    """A pending update of a socket's conversation, and its newest partial text."""

    page: RenderedState | None
    text_signal: Signal | None
    is_text_newer: bool

    @property
    def page_key(self) -> PageKey:
        """The key of the update, which equal pages of a person share."""
        return self.subscription.person_id, self.page

    @property
    def max_entries(self) -> int:
        """Entries that the page may lack in the shared batch; 0 for its first update."""
        return 0 if self.socket.pending.is_connecting else conversation_updates.MAX_BATCHED_ENTRIES

    def render_html(self, update: ConversationUpdate, html_by_text: dict[str, str]) -> str:
        """Return the update and the partial text as HTML; record content in it as read.

        A text is dropped that the page has as an event: its socket may be subscribed after the
        event was stored and before that is published, or the signal of it may be lost.
        """
        shown_count = self.socket.page.entry_count if self.page is None else update.page.entry_count
        signal = self.text_signal
        if (
            signal is not None
            and signal["text"]
            and signal.get("entry_count", shown_count) < shown_count
        ):
            self.text_signal = None
        html = conversation_updates.join_partial_text(
            self.text_signal, update.html, html_by_text, is_text_newer=self.is_text_newer
        )
        if html and self._has_content(update):
            self._note_content(update.workspace_id)
        return html

    def _has_content(self, update: ConversationUpdate) -> bool:
        """Tell whether events or text of the model are sent, not only the state of the run."""
        if self.text_signal is not None and self.text_signal["text"]:
            return True
        if self.page is None:
            return False
        shown_state = self.page.entry_count, self.page.revision
        return shown_state != (update.page.entry_count, update.page.revision)

    def _note_content(self, workspace_id: int) -> None:
        """Record that the person is sent content of the conversation."""
        person: Any = self.socket.scope["user"]
        place = Place(workspace_id, self.subscription.conversation_id)
        self.socket.reads.note_content(person, place)

    def restore_flags(self) -> None:
        """Mark the update as pending again: it is costly, or the socket is under backpressure."""
        self.socket.pending.restore_conversation(
            has_changes=self.page is not None,
            text_signal=self.text_signal,
            is_text_newer=self.is_text_newer,
        )


def group_pages(sends: Iterable[ConversationSend]) -> dict[int, set[PageKey]]:
    """Return the pages of sends, by the number of entries that they may lack."""
    pages_by_limit: defaultdict[int, set[PageKey]] = defaultdict(set)
    for send in sends:
        pages_by_limit[send.max_entries].add(send.page_key)
    return pages_by_limit


def take_conversation_sends(
    conversation_id: int, sockets: Iterable[LiveUpdateConsumer]
) -> list[ConversationSend]:
    """Return the pending updates of sockets for a conversation, and clear their flags."""
    sends: list[ConversationSend] = []
    for socket in sockets:
        subscription, flags = socket.subscription, socket.pending
        if subscription is not None and subscription.conversation_id == conversation_id:
            page = socket.page if flags.has_changes else None
            sends.append(
                ConversationSend(
                    socket,
                    subscription,
                    page,
                    flags.text_signal,
                    flags.is_text_newer,
                )
            )
            flags.has_changes, flags.text_signal = False, None
    return sends
