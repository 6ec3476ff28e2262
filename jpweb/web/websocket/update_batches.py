"""Batched updates of sockets: read and rendered once for all pages in the same state.

A page that lacks many entries or cards is costly to update. Costly pages in the same state share a
separate batch, which runs on a background thread, one such batch at a time, so that it does not
delay the other batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jpweb.runtime.broadcast.batching import BatchRunner
from jpweb.runtime.broadcast.close_codes import FORBIDDEN
from jpweb.runtime.broadcast.local_bus import Signal
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.inquiries import presence
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.web.websocket import conversation_updates, cooperative_sending, inbox_updates
from jpweb.web.websocket.conversation_updates import ConversationUpdate, RenderedState
from jpweb.web.websocket.inbox_updates import InboxUpdate, InboxView
from jpweb.web.websocket.protocol import Subscription

if TYPE_CHECKING:
    from jpweb.web.websocket.consumers import PageConsumer

#: Delay of a conversation batch, so that the entries that a turn appends together are one update.
#: Inbox batches, and so questions and their outcomes, have no delay.
COALESCE_SECONDS = 0.05
#: Changed cards of an inbox in the shared batch; with more, its update is costly.
MAX_BATCHED_CARDS = 20

#: Tasks that close sockets.
closing_tasks = BackgroundTasks()


def is_busy() -> bool:
    """Tell whether a batch runs or a socket is being closed."""
    return (
        any(
            batches.is_busy
            for batches in (
                conversation_batches,
                inbox_batches,
                costly_conversation_batches,
                costly_inbox_batches,
            )
        )
        or closing_tasks.is_busy
    )


@dataclass(slots=True, eq=False)
class _PendingSend:
    """A pending update of one socket in a batch."""

    socket: PageConsumer
    subscription: Subscription

    @property
    def is_current(self) -> bool:
        """Whether the page of the socket has sent no other state since."""
        return self.socket.subscription is self.subscription


@dataclass(slots=True, eq=False)
class _ConversationSend(_PendingSend):
    """A pending update of a socket's conversation, and its newest partial text."""

    page: RenderedState | None
    text_signal: Signal | None
    is_text_newer: bool

    @property
    def max_entries(self) -> int:
        """Entries that the page may lack in the shared batch; 0 for its first update."""
        return 0 if self.socket.pending.is_connecting else conversation_updates.MAX_BATCHED_ENTRIES

    def has_content(self, update: ConversationUpdate) -> bool:
        """Tell whether events or text of the model are sent, not only the state of the run."""
        if self.text_signal is not None and self.text_signal["text"]:
            return True
        if self.page is None:
            return False
        shown_state = self.page.entry_count, self.page.revision
        return shown_state != (update.page.entry_count, update.page.revision)


@dataclass(slots=True, eq=False)
class _InboxSend(_PendingSend):
    """A pending update of a socket's inbox."""

    inbox: InboxView


#: Updates of a conversation by person and page state; costly ones are absent.
_UpdatesByPage = dict[tuple[int, RenderedState | None], ConversationUpdate | None]


async def _send_conversation(conversation_id: int, sockets: list[PageConsumer]) -> None:
    """Send a conversation's updates to its pages; move costly ones to the costly batches."""
    sends = _take_pending(
        conversation_id, (socket for socket in sockets if not socket.pending.in_costly_batch)
    )
    updates: _UpdatesByPage = {}
    for max_entries in {send.max_entries for send in sends}:
        pages = {
            (send.subscription.person_id, send.page)
            for send in sends
            if send.max_entries == max_entries
        }
        updates |= await run_in_db_thread(
            conversation_updates.find_conversation_updates, conversation_id, pages, max_entries
        )
    await _send_updates(sends, updates)


async def _send_costly_conversation(key: tuple[int, int], sockets: list[PageConsumer]) -> None:
    """Send a conversation's costly update to pages in one state."""
    conversation_id, _ = key
    try:
        sends = _take_pending(conversation_id, sockets)
        pages = {(send.subscription.person_id, send.page) for send in sends}
        updates = await run_in_background_thread(
            conversation_updates.find_conversation_updates, conversation_id, pages
        )
        await _send_updates(sends, updates)
    finally:
        for socket in sockets:
            socket.pending.in_costly_batch = False
            socket.schedule_updates()


def _take_pending(conversation_id: int, sockets: Iterable[PageConsumer]) -> list[_ConversationSend]:
    """Return the pending updates of sockets for a conversation, and clear their flags."""
    sends: list[_ConversationSend] = []
    for socket in sockets:
        subscription, pending = socket.subscription, socket.pending
        if subscription is not None and subscription.conversation_id == conversation_id:
            page = socket.page if pending.has_changes else None
            sends.append(
                _ConversationSend(
                    socket, subscription, page, pending.text_signal, pending.is_text_newer
                )
            )
            pending.has_changes, pending.text_signal = False, None
    return sends


async def _send_updates(sends: list[_ConversationSend], updates: _UpdatesByPage) -> None:
    html_by_text: dict[str, str] = {}
    async for send in cooperative_sending.yield_between(sends):
        socket, key = send.socket, (send.subscription.person_id, send.page)
        if key not in updates:
            _requeue(send)
            socket.pending.in_costly_batch = True
            costly_conversation_batches.schedule_member(
                (send.subscription.conversation_id or 0, hash(send.page)), socket
            )
            continue
        update = updates[key]
        if update is None:
            await socket.close_and_cleanup(FORBIDDEN)
        elif socket.flow_control.is_paused:
            _requeue(send)
        else:
            socket.page = socket.page if send.page is None else update.page
            if html := conversation_updates.join_partial_text(
                send.text_signal, update.html, html_by_text, is_text_newer=send.is_text_newer
            ):
                if send.has_content(update):
                    socket.note_content(send.subscription, update.workspace_id)
                await socket.send(html)
            if socket.pending.is_connecting:
                socket.pending.end_connecting(has_failed=False)
                socket.schedule_updates()


def _requeue(send: _ConversationSend) -> None:
    """Mark the update as pending again because the socket is under backpressure."""
    send.socket.pending.restore_conversation(
        has_changes=send.page is not None,
        text_signal=send.text_signal,
        is_text_newer=send.is_text_newer,
    )


async def _send_inboxes(_key: None, sockets: list[PageConsumer]) -> None:
    """Send inbox updates to pages; move costly ones to the costly batches."""
    sends, updates = await _collect_inbox_updates(
        [socket for socket in sockets if not socket.pending.in_costly_inbox_batch], is_costly=False
    )
    await _send_inbox_updates(sends, updates)


async def _send_costly_inboxes(_inbox_key: int, sockets: list[PageConsumer]) -> None:
    """Send costly inbox updates to pages."""
    try:
        await _send_inbox_updates(*await _collect_inbox_updates(sockets, is_costly=True))
    finally:
        for socket in sockets:
            socket.pending.in_costly_inbox_batch = False
            socket.schedule_updates()


async def _send_inbox_updates(
    sends: list[_InboxSend], updates: dict[InboxView, InboxUpdate]
) -> None:
    async for send in cooperative_sending.yield_between(sends):
        if send.inbox not in updates:
            send.socket.pending.has_inbox_changes = send.socket.pending.in_costly_inbox_batch = True
            costly_inbox_batches.schedule_member(hash(send.inbox), send.socket)
        elif send.socket.flow_control.is_paused:
            send.socket.pending.has_inbox_changes = True
        else:
            await send.socket.send_inbox_update(updates[send.inbox])


async def _collect_inbox_updates(
    sockets: list[PageConsumer], *, is_costly: bool
) -> tuple[list[_InboxSend], dict[InboxView, InboxUpdate]]:
    """Return the pending inbox updates, by the current roles of the pages' people.

    A page whose person's roles have changed first subscribes to the workspaces in which they may
    answer and registers its presence there; the queue is read after that, so no question is missed.
    """
    unchecked = [
        (socket, socket.subscription) for socket in sockets if socket.subscription is not None
    ]
    for socket, _ in unchecked:
        socket.pending.has_inbox_changes = False
    sends: list[_InboxSend] = []
    updates: dict[InboxView, InboxUpdate] = {}
    while unchecked:
        pages = [
            (subscription.person_id, _make_inbox(socket, subscription))
            for socket, subscription in unchecked
        ]
        if is_costly:
            scopes, new_updates = await run_in_background_thread(
                inbox_updates.find_inbox_updates, pages
            )
        else:
            scopes, new_updates = await run_in_db_thread(
                inbox_updates.find_inbox_updates, pages, MAX_BATCHED_CARDS
            )
        updates |= new_updates
        moved_sockets: list[tuple[PageConsumer, Subscription]] = []
        for (socket, subscription), (person_id, inbox) in zip(unchecked, pages, strict=True):
            if socket.subscription is not subscription:
                continue
            if scopes[person_id] == (
                inbox.answer_workspace_ids,
                inbox.read_workspace_ids,
                inbox.snoozed,
            ):
                sends.append(_InboxSend(socket, subscription, inbox))
            else:
                socket.set_scopes(*scopes[person_id])
                moved_sockets.append((socket, subscription))
        if moved_sockets:
            await presence.register_pages(
                (page, subscription.person_id, page.answer_workspace_ids)
                for page, subscription in moved_sockets
            )
        unchecked = moved_sockets
    return sends, updates


def _make_inbox(socket: PageConsumer, subscription: Subscription) -> InboxView:
    conversation_id = subscription.conversation_id if socket.open_cards is not None else None
    return InboxView(
        socket.answer_workspace_ids,
        socket.read_workspace_ids,
        conversation_id,
        socket.open_cards,
        subscription.workspace_id,
        socket.snoozed,
    )


def _handle_error(socket: PageConsumer, error: BaseException) -> None:
    socket.on_update_error(error)


def _force_reconnect(socket: PageConsumer, _error: BaseException) -> None:
    socket.force_reconnect()


#: Conversation batches are keyed by conversation; inbox batches have one key, since an inbox may
#: hold cards of many workspaces.
conversation_batches: BatchRunner[int, PageConsumer] = BatchRunner(
    _send_conversation, _handle_error, COALESCE_SECONDS
)
inbox_batches: BatchRunner[None, PageConsumer] = BatchRunner(_send_inboxes, _force_reconnect)
#: Costly batches are keyed by the hash of the page's state, which equal pages share.
costly_conversation_batches: BatchRunner[tuple[int, int], PageConsumer] = BatchRunner(
    _send_costly_conversation, _handle_error, max_parallel=1
)
costly_inbox_batches: BatchRunner[int, PageConsumer] = BatchRunner(
    _send_costly_inboxes, _force_reconnect, max_parallel=1
)
