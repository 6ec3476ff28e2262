"""WebSocket consumer of one page: its connection, its messages, and the limits of these.

``live_updates`` tells how the page hears of a change.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from channels.consumer import get_handler_name
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.broadcast.close_codes import (
    MALFORMED_MESSAGE,
    RATE_LIMITED,
    SIGNED_OUT,
    TOO_MANY_SOCKETS,
)
from jpweb.runtime.broadcast.flow_control import FLOW_CONTROL_KEY, FlowControl
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.people.sessions import hash_key
from jpweb.token_bucket import TokenBucket
from jpweb.web import access, answer_submission
from jpweb.web.answer_submission import AnswerInput
from jpweb.web.websocket import inbox_batches, live_updates, protocol, socket_limits
from jpweb.web.websocket.live_updates import LiveUpdateConsumer
from jpweb.web.websocket.protocol import (
    AnswerMessage,
    ClientMessage,
    PageState,
    ReceiptReport,
)

logger = logging.getLogger(__name__)


class PageConsumer(LiveUpdateConsumer):
    """The socket of one page, from its connection to its end."""

    page_state_budget: TokenBucket
    session_key: str | None = None

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
        displaced_socket = socket_limits.add_socket(user.pk, self)
        if displaced_socket is not None:
            live_updates.closing_tasks.spawn_task(
                displaced_socket.close_and_cleanup(TOO_MANY_SOCKETS)
            )
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

    async def _send_reply(self, message: AnswerMessage, status: int, **extra_fields: str) -> None:
        await self.send(json.dumps({"reply": message.number, "status": status} | extra_fields))

    async def disconnect(self, code: int) -> None:
        await self.cleanup()

    async def cleanup(self) -> None:
        """Drop the socket from those of its person, and all that it subscribes to."""
        if self.person_id is not None:
            socket_limits.remove_socket(self.person_id, self)
        await super().cleanup()


def is_busy() -> bool:
    """Tell whether a batch runs or a socket is being closed."""
    return (
        any(
            batches.is_busy
            for batches in (
                live_updates.conversation_batches,
                live_updates.costly_conversation_batches,
                inbox_batches.batches,
                inbox_batches.costly_batches,
            )
        )
        or live_updates.closing_tasks.is_busy
    )
