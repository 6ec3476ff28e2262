"""Answers, declines and settles inquiries, and waits for their settlement.

The row in the database decides which settlement is first (compare-and-set); the waiters in
memory only wake the calls of this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.views.decorators.debug import sensitive_variables

from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import secret_channels
from jpweb.runtime.inquiries.secret_channels import SecretChannel, SecretExpectation
from jpweb.runtime.inquiries.secret_handover import SecretHandover
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import inquiries, journal
from jpweb.store.choices import RunState
from jpweb.store.database import clock
from jpweb.store.derived_rows import from_stream
from jpweb.store.errors import AlreadySettled
from jpweb.store.inbox import current_roles
from jpweb.store.inquiries import SettledInquiry
from jpweb.stream import answer_type, timestamps
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
    Redacted,
)

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Inquiry, Run

T = TypeVar("T")

#: Seconds after which a waiting call queries its row, in case a wake-up was lost.
ROW_POLL_SECONDS = 2.0
#: Seconds after which a call first queries a row that it has just inserted: an answer in between
#: wakes it, unless that came before it waited.
FIRST_QUERY_SECONDS = 0.5

#: Cycles of the event loop until a call that was woken has its tool continue. Pages are told of an
#: answer after them: rendering takes 1 ms.
WAKE_CYCLES = 8


class RowWaiters(Generic[T]):
    """Wakes the coroutines of this process that wait for rows, by row key."""

    def __init__(self) -> None:
        self.waiters_by_key: dict[int, set[_RowWaiter[T]]] = {}

    def notify(self, key: int, result: T | None = None) -> None:
        """Wake the waiters of a row; they return ``result`` without a query where it is given."""
        for waiter in self.waiters_by_key.get(key, ()):
            waiter.result = waiter.result or result
            waiter.set()

    async def wait_for(
        self, key: int, fetch: Callable[[], Awaitable[T | None]], *, is_new: bool = False
    ) -> T:
        """Return the first result of ``fetch``, called at once, on wake-ups and at intervals.

        ``is_new``: the row has just been inserted, so the first call has FIRST_QUERY_SECONDS.
        """
        waiter: _RowWaiter[T] = _RowWaiter()
        # A set, because a run that was parked and resumed briefly has two waiters.
        self.waiters_by_key.setdefault(key, set()).add(waiter)
        try:
            if is_new:
                await _wait_for_wakeup(waiter, FIRST_QUERY_SECONDS)
            while True:
                waiter.clear()
                result = waiter.result or await fetch() or waiter.result
                if result is not None:
                    return result
                await _wait_for_wakeup(waiter, ROW_POLL_SECONDS)
        finally:
            self.waiters_by_key[key].discard(waiter)
            if not self.waiters_by_key[key]:
                del self.waiters_by_key[key]


class _RowWaiter(asyncio.Event, Generic[T]):
    """Event of one waiter; ``result`` spares it the query."""

    result: T | None = None


_background_tasks = BackgroundTasks()
settlement_waiters: RowWaiters[SettledInquiry] = RowWaiters()
handover = SecretHandover()
secret_channel = SecretChannel(handover, publisher, process_identity.get_process_name)
local_bus.add_subscriber(
    local_bus.make_kind_topic("settled"),
    lambda signal: settlement_waiters.notify(signal["inquiry"]),
)
local_bus.add_subscriber(local_bus.make_kind_topic("secret"), secret_channel.on_secret)
local_bus.add_subscriber(local_bus.make_kind_topic("secret_ack"), secret_channel.on_acknowledgement)


@sensitive_variables("text", "value")
async def answer_inquiry(
    inquiry: int | Inquiry,
    text: str,
    decider: Decider,
    *,
    remember: bool = False,
) -> Inquiry:
    """Settle an inquiry, given by key or row, with a person's answer; return the settled row.

    The row may be stale: the database decides which settlement is first. A secret is delivered to
    the waiting call alone, in whichever process it runs; a parked run is requeued for it.
    ``remember`` reuses the answer for the rest of the turn, where the inquiry allows that.
    Raises UnknownInquiry, InvalidAnswer, AlreadySettled, NoWaitingCall.
    """
    row = await _require_open(inquiry)
    expected_type = answer_type.read_answer_type(row.question["answer_type"])
    value = expected_type.parse_input(text)
    if expected_type.RECORDS_ANSWER or not isinstance(value, str):
        remember = remember and inquiries.can_remember(row)
        return await settle_inquiry(row, Answered(value), decider, remember=remember)
    if decider.member_id is not None:
        await run_in_db_thread(
            current_roles.require_current_responder,
            decider.member_id,
            row.conversation.workspace_id,
        )
    # The waiting call settles the question once it has the secret, and cannot refuse it then.
    await secret_channel.deliver_secret(row.pk, value, replace(decider, member_id=None))
    return await run_in_db_thread(inquiries.get_inquiry, row.pk)


def commit_answer(
    row: Inquiry, text: str, decider: Decider, *, remember: bool = False
) -> SettledInquiry:
    """Commit a person's answer, which is no secret, in the thread of the caller.

    ``row`` is one of ``inquiries.get_inquiry``, and gets its new columns: reading it again took a
    tenth of the time. The caller publishes the settlement. Raises as ``answer_inquiry``.
    """
    _assert_open(row)
    value = answer_type.read_answer_type(row.question["answer_type"]).parse_input(text)
    remember = remember and inquiries.can_remember(row)
    event = _make_response(row, Answered(value), decider, remember=remember)
    journal.append_events(row.conversation_id, [event], row=row, member_id=decider.member_id)
    return SettledInquiry(row, remember)


async def decline_inquiry(inquiry: int | Inquiry, decider: Decider, note: str = "") -> Inquiry:
    """Settle an inquiry, given by key or row, without an answer; return the settled row.

    ``note`` is the reason for the model and the record; it is cut and stripped of control
    characters. Raises UnknownInquiry, AlreadySettled.
    """
    row = await _require_open(inquiry)
    clean_note = from_stream.clean_note(note)
    return await settle_inquiry(row, Cancelled(CancellationReason.USER), decider, note=clean_note)


async def _require_open(inquiry: int | Inquiry) -> Inquiry:
    """Return the row of an open inquiry. Raises UnknownInquiry, AlreadySettled."""
    row = (
        await run_in_db_thread(inquiries.get_inquiry, inquiry)
        if isinstance(inquiry, int)
        else inquiry
    )
    _assert_open(row)
    return row


def _assert_open(row: Inquiry) -> None:
    if row.state != inquiries.OPEN_STATE:
        raise AlreadySettled(row)


async def settle_inquiry(
    row: Inquiry,
    outcome: InquiryOutcome,
    decider: Decider,
    run: Run | None = None,
    **details: bool | str,
) -> Inquiry:
    """Commit an outcome, wake the waiting call and publish the change. Raises AlreadySettled.

    A cancellation of the caller, such as the end of its request, stops neither.

    With ``run`` the commit is fenced by the run's lease. Raises LeaseLost where another process
    has it. ``details`` go into the response's metadata: ``remember``, ``withdrawn``,
    ``note``, or ``replied`` where the note is the reply of an interrupt.
    """
    event = _make_response(row, outcome, decider, **details)
    return await _background_tasks.run_shielded(_settle_row(row, event, run, decider.member_id))


async def _settle_row(
    row: Inquiry, event: ConversationEvent, run: Run | None, member_id: int | None
) -> Inquiry:
    settlement = await run_in_db_thread(_commit_response, row, event, run, member_id)
    await publish_settlement(settlement)
    return settlement.inquiry


async def publish_settlement(settlement: SettledInquiry) -> None:
    """Wake the waiting call, in any process, and publish the change to pages."""
    row = settlement.inquiry
    # The committed result spares the waiting call of this process the query.
    settlement_waiters.notify(row.pk, settlement)
    for _ in range(WAKE_CYCLES):
        await asyncio.sleep(0)
    await publisher.publish_question_settled(row.pk)
    if row.run is not None and row.run.state == RunState.QUEUED:
        await publisher.publish_run_changed(row.run.pk)
    await publisher.publish_questions_changed(row.conversation.workspace_id)
    await publisher.publish_conversation_changed(row.conversation_id)


def _make_response(
    row: Inquiry, outcome: InquiryOutcome, decider: Decider, **details: bool | str
) -> ConversationEvent:
    return ConversationEvent(
        timestamps.format_timestamp(clock.now()),
        InquiryResponse(row.inquiry_id, outcome),
        decider.make_note(**details),
    )


def _commit_response(
    row: Inquiry, event: ConversationEvent, run: Run | None, member_id: int | None
) -> SettledInquiry:
    """Append the response and return the settled inquiry. Raises as ``append_events``."""
    journal.append_events(row.conversation_id, [event], run, row, member_id)
    settled_row = inquiries.get_inquiry(row.pk)
    is_remembered = inquiries.can_remember(settled_row) and event.note.get("remember") is True
    return SettledInquiry(settled_row, is_remembered)


async def wait_for_settled_row(row: Inquiry) -> Inquiry:
    """Return the row once it is settled."""
    return (await wait_until_settled(row)).inquiry


async def wait_until_settled(row: Inquiry, *, is_new: bool = False) -> SettledInquiry:
    """Return the settled row, and whether its answer is remembered for the turn.

    ``is_new``: this process has just inserted the row.
    """
    return await settlement_waiters.wait_for(
        row.pk, lambda: run_in_db_thread(inquiries.get_if_settled, row.pk), is_new=is_new
    )


async def wait_for_secret(
    row: Inquiry,
    hold_run: Callable[[], AbstractContextManager[None]] = nullcontext,
    held_run: Run | None = None,
) -> str | Inquiry:
    """Return the secret once ``redacted`` is committed, or the row where it was settled otherwise.

    ``hold_run`` prevents parking. A run that was requeued for a secret stays unparked until the
    secret arrives or its delivery has timed out. ``held_run`` is the run as this process holds it.
    Raises LeaseLost where another process has the run; the sender gets an error as well.
    """
    async with AsyncExitStack() as stack:
        with (
            hold_run()
        ):  # parked before it reads whether a secret was sent, the run would be requeued again
            expectation = await stack.enter_async_context(
                secret_channel.expect_secret(row, held_run)
            )
            if expectation.is_sent:
                hold_stack = stack.enter_context(ExitStack())
                hold_stack.enter_context(hold_run())
                loop = asyncio.get_running_loop()
                stack.callback(
                    loop.call_later(secret_channels.SECRET_TIMEOUT_SECONDS, hold_stack.close).cancel
                )
        return await _receive_secret(row, expectation)


async def _receive_secret(row: Inquiry, expectation: SecretExpectation) -> str | Inquiry:
    arrival = expectation.arrival
    settled_task = asyncio.create_task(wait_for_settled_row(row))
    try:
        futures: set[asyncio.Future[Any]] = {arrival, settled_task}
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        if not arrival.done():
            return settled_task.result()
        delivery = arrival.result()
        try:
            await settle_inquiry(row, Redacted(), delivery.decider, expectation.run)
        except AlreadySettled as error:
            if not delivery.receipt.done():
                delivery.receipt.set_exception(error)
            return await settled_task
        # The sender's request may have been cancelled.
        if not delivery.receipt.done():
            delivery.receipt.set_result(None)
        return delivery.value
    finally:
        settled_task.cancel()


async def _wait_for_wakeup(waiter: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiter.wait()
