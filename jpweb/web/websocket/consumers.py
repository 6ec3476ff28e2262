"""WebSocket consumer of one page: collects change signals and sends the missing HTML fragments.

An update for many sockets is read and rendered once.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jpweb.runtime.broadcast import local_bus, partial_texts, publisher
from jpweb.runtime.broadcast.close_codes import (
    MALFORMED_MESSAGE,
    RATE_LIMITED,
    SERVER_FAULT,
    SIGNED_OUT,
    TOO_MANY_SOCKETS,
)
from jpweb.runtime.broadcast.flow_control import FLOW_CONTROL_KEY, FlowControl
from jpweb.runtime.broadcast.local_bus import Signal
from jpweb.runtime.broadcast.token_bucket import TokenBucket
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import presence, receipt_buffer
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox.snoozes import SnoozedQuestion
from jpweb.store.ledger.entries import Actor, Place
from jpweb.store.people.sessions import hash_key
from jpweb.web import access, answer_submission
from jpweb.web.answer_submission import AnswerInput
from jpweb.web.websocket import inbox_updates, protocol, socket_limits, update_batches
from jpweb.web.websocket.content_reads import ContentReads
from jpweb.web.websocket.conversation_updates import RenderedState
from jpweb.web.websocket.inbox_updates import CardKeys, InboxUpdate
from jpweb.web.websocket.pending_updates import PendingUpdates
from jpweb.web.websocket.protocol import (
    AnswerMessage,
    ClientMessage,
    PageState,
    ReceiptReport,
    Subscription,
)

logger = logging.getLogger(__name__)


#: Flow control of a socket whose server passes none in the scope; it never pauses.
_NO_BACKPRESSURE = FlowControl()


class PageConsumer(AsyncWebsocketConsumer):
    """The socket of one page: subscribes, sends the fragments that the page lacks, then changes."""

    #: No Channels layer: signals reach sockets through ``local_bus`` and batches.
    channel_layer_alias = "none"

    person_id: int | None = None
    page_state_budget: TokenBucket
    session_key: str | None = None
    subscription: Subscription | None = None
    #: State of the conversation that the page shows, and its open cards.
    page = RenderedState()
    open_cards: CardKeys | None = None
    #: Workspaces in which the person may answer, and those in which they may read.
    answer_workspace_ids: frozenset[int] = frozenset()
    read_workspace_ids: frozenset[int] = frozenset()
    #: Questions that the person snoozed.
    snoozed: frozenset[SnoozedQuestion] = frozenset()
    topics: tuple[str, ...] = ()
    delivered_ids: frozenset[int] = frozenset()
    flow_control = _NO_BACKPRESSURE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pending = PendingUpdates()
        self.reads = ContentReads()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the consumer; clean up however it ends, so that no update is sent afterwards."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.cleanup()

    async def dispatch(self, message: Any) -> None:
        """Handle an event as Channels does, without its trip to the database thread before that.

        The trip closes broken connections, as each call of ``run_in_db_thread`` does, and took 0.4
        of the 12 to 19 ms of processor time from a question to its answer.
        """
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        await self.accept()
        user = self.scope["user"]
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        self.person_id = user.pk
        self.page_state_budget = TokenBucket(
            socket_limits.PAGE_STATE_BURST, socket_limits.PAGE_STATES_PER_SECOND
        )
        displaced = socket_limits.add_socket(user.pk, self)
        if displaced is not None:
            update_batches.closing_tasks.spawn_task(displaced.close_and_cleanup(TOO_MANY_SOCKETS))
        scope_values: dict[str, Any] = dict(self.scope)
        self.session_key = scope_values.get("session")
        if self.session_key:
            self.subscribe(publisher.make_session_topic(hash_key(self.session_key)))
        flow_control = scope_values.get(FLOW_CONTROL_KEY)
        if isinstance(flow_control, FlowControl):
            self.flow_control = flow_control
            flow_control.on_resumed = self.schedule_updates

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle a message: a page's state, read receipts or an answer."""
        if self.person_id is None:
            return
        try:
            message = protocol.parse_message(self.person_id, text_data or "")
        except protocol.MALFORMED_ERRORS:
            await self.close_and_cleanup(MALFORMED_MESSAGE)
            return
        close_code = self._find_refusal(self.person_id, message)
        if close_code is not None:
            await self.close_and_cleanup(close_code)
            return
        match message:
            case ReceiptReport():
                receipt_buffer.note_reports(self.person_id, message.cards)
            case AnswerMessage():
                await self.submit_answer(message)
            case PageState():
                if await self.is_signed_in():
                    self.subscribe_page(message)

    def _find_refusal(self, person_id: int, message: ClientMessage) -> int | None:
        """Return the close code for a refused message, None for an accepted one."""
        if not isinstance(message, ReceiptReport) and message.person_id not in (None, person_id):
            # Another person has signed in with this browser since the page was loaded.
            return SIGNED_OUT
        is_page_state = isinstance(message, PageState)
        if not socket_limits.admit_message(person_id, self, message) or (
            is_page_state and not self.page_state_budget.take_tokens()
        ):
            return RATE_LIMITED
        return None

    async def is_signed_in(self) -> bool:
        """Tell whether the page's session is valid; close the socket where it has ended."""
        if self.session_key and not await run_in_db_thread(
            access.is_session_valid, self.session_key
        ):
            await self.close_and_cleanup(SIGNED_OUT)
        return self.person_id is not None

    def subscribe_page(self, message: PageState) -> None:
        """Replace the subscription by that of the page's state, and queue the first update."""
        subscription = message.subscription
        if self.subscription is not None and self.subscription.conversation_id not in (
            None,
            subscription.conversation_id,
        ):
            self.unsubscribe(
                publisher.make_conversation_topic(self.subscription.conversation_id or 0)
            )
        self.subscription, self.page, self.open_cards = (
            subscription,
            message.page,
            subscription.open_cards,
        )
        self.delivered_ids = frozenset()
        self.pending.begin_page(has_conversation=subscription.conversation_id is not None)
        if subscription.conversation_id is not None:
            topic = publisher.make_conversation_topic(subscription.conversation_id)
            self.subscribe(topic)
            self.pending.note_text(partial_texts.find_text(topic))
        self.schedule_updates()

    async def submit_answer(self, message: AnswerMessage) -> None:
        """Settle a question as its form would; reply with the form's status codes."""
        try:
            result = await answer_submission.submit_socket_answer(
                self.session_key,
                message.question_id,
                AnswerInput(message.answer, message.remember),
            )
        except access.NotSignedIn:
            await self.close_and_cleanup(SIGNED_OUT)
        except Http404:
            await self._send_reply(message, 404)
        except PermissionDenied:
            await self._send_reply(message, 403)
        except DATABASE_UNAVAILABLE as error:
            logger.warning("An answer could not be saved: %s", error)
            await self._send_reply(message, 503)
        else:
            if result is None:
                await self.close_and_cleanup(MALFORMED_MESSAGE)
            else:
                await self._send_reply(message, result.status, html=await result.render_html())

    async def _send_reply(self, message: AnswerMessage, status: int, **extra: str) -> None:
        await self.send(json.dumps({"reply": message.number, "status": status} | extra))

    async def disconnect(self, code: int) -> None:
        await self.cleanup()

    def on_signal(self, signal: Signal) -> None:
        """Set the flags of pending updates for a signal, and queue the socket for a batch."""
        match signal["kind"]:
            case "conversation":
                self.pending.note_change()
            case "partial":
                self.pending.note_text(signal)
            case "questions":
                self.pending.has_inbox_changes = True
            case "session":
                update_batches.closing_tasks.spawn_task(self.close_and_cleanup(SIGNED_OUT))
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
            update_batches.conversation_batches.schedule_member(conversation_id, self)
        if self.pending.is_inbox_due:
            update_batches.inbox_batches.schedule_member(None, self)

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
            update_batches.closing_tasks.spawn_task(self.close_and_cleanup(SERVER_FAULT))

    def note_content(self, subscription: Subscription, workspace_id: int) -> None:
        """Record that the person is sent content of a conversation."""
        person: Any = self.scope["user"]
        place = Place(workspace_id, subscription.conversation_id)
        self.reads.note_content(Actor.from_person(person), place)

    async def send_inbox_update(self, update: InboxUpdate) -> None:
        """Send an inbox update, and record the delivery of its new questions."""
        if self.subscription is not None and self.subscription.open_cards is not None:
            self.open_cards = update.cards
            new_ids = update.cards.questions - self.delivered_ids
            if new_ids:
                receipt_buffer.note_delivered(self.subscription.person_id, new_ids)
            self.delivered_ids = update.cards.questions
        await self.send(update.html)

    def set_scopes(
        self,
        answers_in: frozenset[int],
        reads_in: frozenset[int],
        snoozed: frozenset[SnoozedQuestion],
    ) -> None:
        """Subscribe to the workspaces where the person may answer, and to no other."""
        for key in answers_in - self.answer_workspace_ids:
            self.subscribe(publisher.make_workspace_topic(key))
        for key in self.answer_workspace_ids - answers_in:
            self.unsubscribe(publisher.make_workspace_topic(key))
        self.answer_workspace_ids, self.read_workspace_ids = answers_in, reads_in
        self.snoozed = snoozed

    def subscribe(self, topic: str) -> None:
        """Subscribe to a topic."""
        if topic not in self.topics:
            self.topics = (*self.topics, topic)
        local_bus.add_subscriber(topic, self.on_signal)

    def unsubscribe(self, topic: str) -> None:
        """Unsubscribe from a topic."""
        self.topics = tuple(other_topic for other_topic in self.topics if other_topic != topic)
        local_bus.remove_subscriber(topic, self.on_signal)

    async def close_and_cleanup(self, code: int) -> None:
        """Close the socket and clean up, even where closing fails."""
        try:
            await self.close(code)
        finally:
            await self.cleanup()

    async def cleanup(self) -> None:
        """Drop the person, the subscriptions and the presence of this socket."""
        if self.person_id is not None:
            socket_limits.remove_socket(self.person_id, self)
        self.person_id = self.subscription = None
        for topic in self.topics:
            local_bus.remove_subscriber(topic, self.on_signal)
        self.topics = ()
        if self.answer_workspace_ids:
            self.answer_workspace_ids = frozenset()
            await presence.unregister_page(self)
