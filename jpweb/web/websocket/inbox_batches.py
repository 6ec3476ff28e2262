"""Batched updates of inboxes: cards of questions and approvals, and the outcomes of these.

One batch reads and renders for all pages in the same state. An inbox that lacks many cards is
costly to update; those in the same state share a separate batch on a background thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.broadcast.batching import BatchRunner
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.inquiries import presence, receipt_buffer
from jpweb.store.database import clock
from jpweb.store.inbox import snoozes
from jpweb.store.inbox.queue import PendingItem
from jpweb.store.inbox.snoozes import SnoozedQuestion
from jpweb.web.websocket import cooperative_sending, inbox_updates
from jpweb.web.websocket.inbox_updates import InboxUpdate, InboxView, PersonScopes
from jpweb.web.websocket.pending_sends import PendingSend
from jpweb.web.websocket.protocol import Subscription

if TYPE_CHECKING:
    from jpweb.web.websocket.live_updates import LiveUpdateConsumer

#: Changed cards of an inbox in the shared batch; with more, its update is costly.
MAX_BATCHED_CARDS = 20


@dataclass(slots=True, eq=False)
class _InboxSend(PendingSend):
    """A pending update of a socket's inbox."""

    inbox: InboxView


async def _send_inboxes(_key: None, sockets: list[LiveUpdateConsumer]) -> None:
    """Send inbox updates to pages; move costly ones to the costly batches."""
    sends, updates = await _collect_inbox_updates(
        [socket for socket in sockets if not socket.pending.in_costly_inbox_batch], is_costly=False
    )
    await _send_inbox_updates(sends, updates)


async def _send_costly_inboxes(_inbox_key: int, sockets: list[LiveUpdateConsumer]) -> None:
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
            costly_batches.schedule_member(hash(send.inbox), send.socket)
        elif send.socket.flow_control.is_paused:
            send.socket.pending.has_inbox_changes = True
        else:
            await _send_update(send.socket, updates[send.inbox])


async def _send_update(socket: LiveUpdateConsumer, update: InboxUpdate) -> None:
    """Send an inbox update, and record the delivery of its new questions."""
    if socket.subscription is not None and socket.subscription.open_cards is not None:
        socket.open_cards = update.cards
        new_ids = update.cards.questions - socket.delivered_ids
        if new_ids:
            receipt_buffer.note_delivered(socket.subscription.person_id, new_ids)
        socket.delivered_ids = update.cards.questions
    await socket.send(update.html)


async def _collect_inbox_updates(
    sockets: list[LiveUpdateConsumer], *, is_costly: bool
) -> tuple[list[_InboxSend], dict[InboxView, InboxUpdate]]:
    """Return the pending inbox updates, by the current roles of the pages' people.

    A page whose person's roles have changed first subscribes to the workspaces in which they may
    answer and registers its presence there; the queue is read after that, so no question is missed.
    """
    pairs = [(socket, socket.subscription) for socket in sockets if socket.subscription is not None]
    for socket, _ in pairs:
        socket.pending.has_inbox_changes = False
    sends: list[_InboxSend] = []
    updates: dict[InboxView, InboxUpdate] = {}
    while pairs:
        pages = [
            (subscription.person_id, _make_inbox(socket, subscription))
            for socket, subscription in pairs
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
        moved_sockets: list[tuple[LiveUpdateConsumer, Subscription]] = []
        for (socket, subscription), (person_id, inbox) in zip(pairs, pages, strict=True):
            if socket.subscription is not subscription:
                continue
            if scopes[person_id] == (
                inbox.answer_workspace_ids,
                inbox.read_workspace_ids,
                inbox.snoozed,
            ):
                sends.append(_InboxSend(socket, subscription, inbox))
            else:
                _set_scopes(socket, scopes[person_id])
                moved_sockets.append((socket, subscription))
        if moved_sockets:
            await presence.register_pages(
                (page, subscription.person_id, page.answer_workspace_ids)
                for page, subscription in moved_sockets
            )
        pairs = moved_sockets
    return sends, updates


def _make_inbox(socket: LiveUpdateConsumer, subscription: Subscription) -> InboxView:
    conversation_id = subscription.conversation_id if socket.open_cards is not None else None
    return InboxView(
        socket.answer_workspace_ids,
        socket.read_workspace_ids,
        conversation_id,
        socket.open_cards,
        subscription.workspace_id,
        socket.snoozed,
        socket.returned,
    )


def _set_scopes(socket: LiveUpdateConsumer, scopes: PersonScopes) -> None:
    """Subscribe to the workspaces where the person may answer, and to no other."""
    answers_in, reads_in, snoozed_questions = scopes
    for key in answers_in - socket.answer_workspace_ids:
        socket.subscribe(publisher.make_workspace_topic(key))
    for key in socket.answer_workspace_ids - answers_in:
        socket.unsubscribe(publisher.make_workspace_topic(key))
    socket.answer_workspace_ids, socket.read_workspace_ids = answers_in, reads_in
    socket.returned = _find_returned(socket, snoozed_questions)
    socket.snoozed = snoozed_questions


def _find_returned(
    socket: LiveUpdateConsumer, snoozed_questions: frozenset[SnoozedQuestion]
) -> PendingItem | None:
    """Return the question whose snooze ended last; not one whose person woke it.

    It is dated by the end of the snooze, so that pages notify of it as of a new question.
    """
    snoozed_keys = {question.key for question in snoozed_questions}
    ended_snoozes = [
        PendingItem(question.until, False, *question[:3])
        for question in socket.snoozed
        if question.until <= clock.now() + snoozes.SIGNAL_TIME
    ]
    items = [*ended_snoozes, socket.returned] if socket.returned else ended_snoozes
    return max((item for item in items if item.key not in snoozed_keys), default=None)


def _describe_key(_key: int | None) -> str:
    return "the lists of waiting questions"


def _force_reconnect(socket: LiveUpdateConsumer, _error: BaseException) -> None:
    socket.force_reconnect()


#: Batches have one key, since an inbox may hold cards of many workspaces. They have no delay, and
#: so questions and their outcomes have none.
batches: BatchRunner[None, LiveUpdateConsumer] = BatchRunner(
    _send_inboxes, _force_reconnect, describe_key=_describe_key
)
#: Costly batches are keyed by the hash of the inbox, which equal pages share.
costly_batches: BatchRunner[int, LiveUpdateConsumer] = BatchRunner(
    _send_costly_inboxes, _force_reconnect, max_parallel=1, describe_key=_describe_key
)
