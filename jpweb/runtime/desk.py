"""The desk: where open questions wait, and where a person's decision is made.

The row in the database decides who was first; what is in memory here only wakes the waiting call.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.views.decorators.debug import sensitive_variables

from jpweb.runtime import process, sealing
from jpweb.runtime.crossing import in_store
from jpweb.runtime.sealing import Courier, Expectation
from jpweb.runtime.secrets import Handover
from jpweb.runtime.signals import announce, fanout
from jpweb.store import inquiries, journal
from jpweb.store.database import clock
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Ended
from jpweb.store.terms import RunState
from jpweb.stream import answers, timestamps
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryResponse,
    Outcome,
    Redacted,
)

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Inquiry, Run

T = TypeVar("T")

#: Seconds after which a waiting call looks at its row again, should a wake-up be lost.
LOOK_AGAIN = 2.0


class Bell(Generic[T]):
    """Wakes the calls of this process that wait for rows, by their keys."""

    def __init__(self) -> None:
        self.waiting: dict[int, set[_Rung[T]]] = {}

    def ring(self, key: int, found: T | None = None) -> None:
        """Let who waits for this row look at it, or have what was found on record already."""
        for rung in self.waiting.get(key, ()):
            rung.found = rung.found or found
            rung.set()

    async def until(self, key: int, look: Callable[[], Awaitable[T | None]]) -> T:
        """Look now and whenever it rings, and return what is found first."""
        rung: _Rung[T] = _Rung()
        # A run that was put down and taken up again waits twice for a moment.
        self.waiting.setdefault(key, set()).add(rung)
        try:
            while True:
                rung.clear()
                found = rung.found or await look() or rung.found
                if found is not None:
                    return found
                await _until(rung)
        finally:
            self.waiting[key].discard(rung)
            if not self.waiting[key]:
                del self.waiting[key]


class _Rung(asyncio.Event, Generic[T]):
    """Set once there may be something; ``found`` where somebody has found it meanwhile."""

    found: T | None = None


#: Tasks that nobody waits for.
_later: set[asyncio.Task[None]] = set()
bell: Bell[Ended] = Bell()
handover = Handover()
courier = Courier(handover, announce, process.name)
fanout.subscribe("settled", lambda signal: bell.ring(signal["inquiry"]))
fanout.subscribe("secret", courier.hear)
fanout.subscribe("secret_ack", courier.hear_back)


@sensitive_variables("typed", "value")
async def answer(
    inquiry: int | Inquiry, typed: str, by: Decider, *, remember: bool = False
) -> Inquiry:
    """Settle a question, its key or its row, with what a person typed; returns the settled row.

    A row may be as old as the request: who is first is decided on record. A secret goes to the
    waiting call alone, in whichever process; its run is woken for it.
    ``remember`` asks to use the answer for the rest of the turn, which only some questions allow.
    Raises UnknownInquiry, Unfit, AlreadySettled, NobodyWaits.
    """
    row = await _opened(inquiry)
    kind = answers.answer_type(row.question["answer_type"])
    value = kind.read(typed)
    if kind.KEEP or not isinstance(value, str):
        remember = remember and inquiries.may_be_remembered(row)
        return await settle(row, Answered(value), by, remember=remember)
    await courier.deliver(row.pk, value, by)
    return await in_store(inquiries.get, row.pk)


async def decline(inquiry: int | Inquiry, by: Decider, note: str = "") -> Inquiry:
    """Close a question, its key or its row, without an answer; returns the settled row.

    ``note`` says why, for the model and for the record; it may be long or hold anything, and is
    cut and made plain. Raises UnknownInquiry, AlreadySettled.
    """
    row = await _opened(inquiry)
    said = inquiries.note(note)
    return await settle(row, Cancelled(CancellationReason.USER), by, note=said)


async def _opened(inquiry: int | Inquiry) -> Inquiry:
    """Return a row that was open a moment ago. Raises UnknownInquiry, AlreadySettled."""
    row = await in_store(inquiries.get, inquiry) if isinstance(inquiry, int) else inquiry
    if row.state != inquiries.OPEN:
        raise AlreadySettled(row)
    return row


async def settle(
    row: Inquiry, outcome: Outcome, by: Decider, run: Run | None = None, **noted: bool | str
) -> Inquiry:
    """Commit an outcome, wake the waiting call, tell everybody. Raises AlreadySettled.

    With a ``run`` it is its holder that commits. Raises NotHolder where it is not any more.
    ``noted``: ``remember`` for the rest of the turn, ``withdrawn`` by who interrupted it, or the
    ``note`` of who declined.
    """
    event = ConversationEvent(
        timestamps.written(clock.now()),
        InquiryResponse(row.inquiry_id, outcome),
        by.note(**noted),
    )
    try:
        settled = await in_store(_commit, row, event, run)
        # What is on record need not be read again by a call of this process, which goes on first.
        bell.ring(row.pk, settled)
        await asyncio.sleep(0)
        await announce.settled(row.pk)
        asked_by = settled.row.run
        await _tell(row, woken=asked_by is not None and asked_by.state == RunState.QUEUED)
    except asyncio.CancelledError:
        # Whoever sent it has left; it is committed all the same, and others are to know.
        _soon(announce.settled(row.pk))
        _soon(_tell(row, woken=True))
        raise
    return settled.row


def _commit(row: Inquiry, event: ConversationEvent, run: Run | None) -> Ended:
    """Put a response on record; returns how its question stands then. Raises as ``append`` does."""
    journal.append(row.conversation_id, [event], run, row)
    now = inquiries.get(row.pk)
    return Ended(now, inquiries.remembered(now))


async def _tell(row: Inquiry, *, woken: bool) -> None:
    """Tell pages of a question that is settled; ``woken``: its run may have been parked over it."""
    if woken and row.run_id is not None:
        await announce.run(row.run_id)
    await announce.questions(row.conversation.workspace_id)
    await announce.conversation(row.conversation_id)


def _soon(work: Coroutine[Any, Any, None]) -> None:
    """Do something that nobody waits for, with nothing of the request that it began in."""
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _later.add(task)
    task.add_done_callback(_later.discard)


async def wait(row: Inquiry) -> Inquiry:
    """Return the row once somebody or something has settled it."""
    return (await ended(row)).row


async def ended(row: Inquiry) -> Ended:
    """As ``wait``; says as well whether the answer counts for the rest of the turn."""
    return await bell.until(row.pk, lambda: in_store(inquiries.ended, row.pk))


async def wait_for_secret(
    row: Inquiry, hold: Callable[[], AbstractContextManager[None]] = nullcontext
) -> str | Inquiry:
    """Return the secret once ``redacted`` is on record, or the row where it ended otherwise.

    ``hold`` keeps the run from being parked. A run that was woken for a secret is held until the
    secret has come, or nobody tries to deliver it any more.
    Raises NotHolder where another process has the run by then; who sent the secret is told.
    """
    async with AsyncExitStack() as stack:
        with hold():  # parked before it is known whether a secret was sent, it would be woken again
            expected = await stack.enter_async_context(courier.expected(row))
            if expected.is_sent:
                held = stack.enter_context(ExitStack())
                held.enter_context(hold())
                loop = asyncio.get_running_loop()
                stack.callback(loop.call_later(sealing.WAITS_WITHIN, held.close).cancel)
        return await _secret(row, expected)


async def _secret(row: Inquiry, expected: Expectation) -> str | Inquiry:
    arrival = expected.arrival
    ending = asyncio.create_task(wait(row))
    try:
        waiting: set[asyncio.Future[Any]] = {arrival, ending}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not arrival.done():
            return ending.result()
        delivery = arrival.result()
        try:
            await settle(row, Redacted(), delivery.by, expected.run)
        except AlreadySettled as first:
            if not delivery.received.done():
                delivery.received.set_exception(first)
            return await ending
        # Whoever sent it may have hung up meanwhile.
        if not delivery.received.done():
            delivery.received.set_result(None)
        return delivery.value
    finally:
        ending.cancel()


async def _until(rung: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_AGAIN):
            await rung.wait()
