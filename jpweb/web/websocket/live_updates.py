"""Live updates: a page's socket receives signals of changes, and is sent the HTML that it lacks.

How an open page hears of a change, such as the answer to a question:

1. The page sends the state that it shows when it connects: ``subscribe_page`` subscribes its
   socket to the topic of its conversation, and makes the first update due. ``inbox_batches``
   subscribes it to those of its workspaces.
2. After the commit of a change ``runtime/broadcast/publisher.py`` publishes a signal, a kind and
   row keys. ``local_bus`` calls ``on_signal`` of each subscribed socket of this process at once; in
   an installation of several processes ``channel_layer`` relays the signal to the others.
3. ``on_signal`` sets a flag of ``pending``, and ``schedule_updates`` puts the socket into the next
   batch of its conversation.
4. The batch, ``_send_conversation``, reads the conversation and renders what pages lack by
   ``find_conversation_updates``, once for pages in the same state. It sends each socket its HTML
   fragments, which htmx swaps in by id.
5. ``inbox_batches`` does the same, without a delay, for the cards of questions and approvals: a
   settled question publishes a signal to its workspace and one to its conversation.

An update is the difference between the page's state and the database: a page whose connection ended
connects again and is sent all that it missed. A signal that is lost between processes costs a delay
of about 10 s, for cards too: each process polls for changes (``channel_layer``). A socket under
backpressure keeps its flags, and is queued when its send buffer has drained.

A page that lacks many entries is costly to update. Costly pages in the same state share a batch of
their own on a background thread, one such batch at a time, so that it delays no other.
"""

from __future__ import annotations

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from jpweb.runtime.broadcast import local_bus, partial_texts, publisher
from jpweb.runtime.broadcast.batching import BatchRunner
from jpweb.runtime.broadcast.close_codes import FORBIDDEN, SERVER_FAULT, SIGNED_OUT
from jpweb.runtime.broadcast.flow_control import FlowControl
from jpweb.runtime.broadcast.local_bus import Signal
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread, thread_use
from jpweb.runtime.inquiries import presence
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox.queue import PendingItem
from jpweb.store.inbox.snoozes import SnoozedQuestion
from jpweb.web.websocket import (
    conversation_updates,
    cooperative_sending,
    inbox_batches,
    inbox_updates,
    pending_sends,
)
from jpweb.web.websocket.content_reads import ContentReads
from jpweb.web.websocket.conversation_updates import RenderedState
from jpweb.web.websocket.inbox_updates import CardKeys
from jpweb.web.websocket.pending_sends import ConversationSend, UpdatesByPage
from jpweb.web.websocket.pending_updates import PendingUpdates
from jpweb.web.websocket.protocol import PageState, Subscription

#: Longest wait of a conversation batch for a pause: what a turn appends together is one update.
MAX_COALESCE_SECONDS = 0.05
#: Flow control of a socket whose server passes none in the scope; it never pauses.
_NO_BACKPRESSURE = FlowControl()

#: Tasks that close sockets.
closing_tasks = BackgroundTasks()


class LiveUpdateConsumer(AsyncWebsocketConsumer):
    """A page's socket as a subscriber; ``PageConsumer`` adds its connection and its messages."""

    #: Channels' own layer is unused: signals reach sockets through ``local_bus`` and batches.
    channel_layer_alias = "none"

    person_id: int | None = None
    subscription: Subscription | None = None
    #: State of the conversation that the page shows, and its open cards.
    page = RenderedState()
    open_cards: CardKeys | None = None
    #: Workspaces in which the person may answer, and those in which they may read.
    answer_workspace_ids: frozenset[int] = frozenset()
    read_workspace_ids: frozenset[int] = frozenset()
    #: Questions that the person snoozed, and the one of these that returned last.
    snoozed: frozenset[SnoozedQuestion] = frozenset()
    returned: PendingItem | None = None
    topics: tuple[str, ...] = ()
    delivered_ids: frozenset[int] = frozenset()
    flow_control = _NO_BACKPRESSURE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pending = PendingUpdates()
        self.reads = ContentReads()

    def subscribe_page(self, message: PageState) -> None:
        """Replace the subscription by that of the page's state, and queue the first update."""
        old_id = None if self.subscription is None else self.subscription.conversation_id
        subscription, conversation_id = message.subscription, message.subscription.conversation_id
        if old_id is not None and old_id != conversation_id:
            self.unsubscribe(publisher.make_conversation_topic(old_id))
        self.subscription, self.page = subscription, message.page
        self.open_cards, self.delivered_ids = subscription.open_cards, frozenset()
        self.pending.begin_page(has_conversation=conversation_id is not None)
        if conversation_id is not None:
            topic = publisher.make_conversation_topic(conversation_id)
            self.subscribe(topic)
            self.pending.note_text(partial_texts.find_text(topic))
        self.schedule_updates()

    def subscribe(self, topic: str) -> None:
        if topic not in self.topics:
            self.topics = (*self.topics, topic)
        local_bus.add_subscriber(topic, self.on_signal)

    def unsubscribe(self, topic: str) -> None:
        self.topics = tuple(other_topic for other_topic in self.topics if other_topic != topic)
        local_bus.remove_subscriber(topic, self.on_signal)

    def on_signal(self, signal: Signal) -> None:
        """Set the flags of pending updates for a signal, and queue the socket for a batch."""
        match signal["kind"]:
            case "conversation" | "settings":
                self.pending.note_change()
            case "partial":
                self.pending.note_text(signal)
            case "questions":
                self.pending.has_inbox_changes = True
            case "session":
                closing_tasks.spawn_task(self.close_and_cleanup(SIGNED_OUT))
            case "roles" if inbox_updates.find_scopes(signal["roles"]) != (
                self.answer_workspace_ids,
                self.read_workspace_ids,
            ):
                self.pending.has_changes = self.pending.has_inbox_changes = True
            case _:
                pass
        self.schedule_updates()

    def schedule_updates(self) -> None:
        """Queue this socket for the next batch, unless its send buffer is full."""
        if self.subscription is None or self.flow_control.is_paused:
            return
        conversation_id = self.subscription.conversation_id
        if conversation_id is not None and self.pending.is_conversation_due:
            conversation_batches.schedule_member(conversation_id, self)
        if self.pending.is_inbox_due:
            inbox_batches.batches.schedule_member(None, self)

    def on_update_error(self, error: BaseException) -> None:
        """Force a reconnect after an update that failed.

        A page whose first update fails stays connected and gets its inbox: otherwise it would
        reconnect forever, and show no question.
        """
        is_first = self.pending.has_failed or self.pending.is_connecting
        if isinstance(error, DATABASE_UNAVAILABLE) or not is_first:
            self.force_reconnect()
            return
        self.pending.end_connecting(has_failed=True)
        self.schedule_updates()

    def force_reconnect(self) -> None:
        """Close the connection with a code after which the page connects again."""
        if self.person_id is not None:
            closing_tasks.spawn_task(self.close_and_cleanup(SERVER_FAULT))

    async def close_and_cleanup(self, code: int) -> None:
        """Close the socket and clean up, even where closing fails."""
        try:
            await self.close(code)
        finally:
            await self.cleanup()

    async def cleanup(self) -> None:
        """Drop the person, the subscriptions and the presence of this socket."""
        self.person_id = self.subscription = None
        for topic in self.topics:
            local_bus.remove_subscriber(topic, self.on_signal)
        self.topics = ()
        if self.answer_workspace_ids:
            self.answer_workspace_ids = frozenset()
            await presence.unregister_page(self)


async def _send_conversation(conversation_id: int, sockets: list[LiveUpdateConsumer]) -> None:
    """Send a conversation's updates to its pages; move costly ones to the costly batches."""
    sends = pending_sends.take_conversation_sends(
        conversation_id, (socket for socket in sockets if not socket.pending.in_costly_batch)
    )
    updates: UpdatesByPage = {}
    for max_entries, pages in pending_sends.group_pages(sends).items():
        updates |= await run_in_db_thread(
            conversation_updates.find_conversation_updates, conversation_id, pages, max_entries
        )
    await _send_updates(sends, updates)


async def _send_costly_conversation(
    key: tuple[int, int], sockets: list[LiveUpdateConsumer]
) -> None:
    """Send a conversation's costly update to pages in one state."""
    conversation_id, _ = key
    try:
        sends = pending_sends.take_conversation_sends(conversation_id, sockets)
        updates = await run_in_background_thread(
            conversation_updates.find_conversation_updates,
            conversation_id,
            {send.page_key for send in sends},
        )
        await _send_updates(sends, updates)
    finally:
        for socket in sockets:
            socket.pending.in_costly_batch = False
            socket.schedule_updates()


async def _send_updates(sends: list[ConversationSend], updates: UpdatesByPage) -> None:
    """Send updates. A page without one is costly; None closes it: its person may not read."""
    html_by_text: dict[str, str] = {}
    async for send in cooperative_sending.yield_between(sends):
        socket, page_key = send.socket, send.page_key
        if page_key not in updates:
            send.restore_flags()
            socket.pending.in_costly_batch = True
            costly_conversation_batches.schedule_member(
                (send.subscription.conversation_id or 0, hash(send.page)), socket
            )
            continue
        update = updates[page_key]
        if update is None:
            await socket.close_and_cleanup(FORBIDDEN)
        elif socket.flow_control.is_paused:
            send.restore_flags()
        else:
            socket.page = socket.page if send.page is None else update.page
            if html := send.render_html(update, html_by_text):
                await socket.send(html)
            if socket.pending.is_connecting:
                socket.pending.end_connecting(has_failed=False)
                socket.schedule_updates()


conversation_batches: BatchRunner[int, LiveUpdateConsumer] = BatchRunner(
    _send_conversation,
    LiveUpdateConsumer.on_update_error,
    lambda: thread_use.wait_until_quiet(MAX_COALESCE_SECONDS),
)
#: Costly batches are keyed by the hash of the page's state, which equal pages share.
costly_conversation_batches: BatchRunner[tuple[int, int], LiveUpdateConsumer] = BatchRunner(
    _send_costly_conversation, LiveUpdateConsumer.on_update_error, max_parallel=1
)
