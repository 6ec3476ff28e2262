"""The desk: where open questions wait, and where a person's decision is made.

The row in the database decides who was first; what is in memory here only wakes the waiting call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import Handover, NobodyWaits
from jpweb.runtime.signals import announce
from jpweb.store import inquiries, journal
from jpweb.store.errors import AlreadySettled
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
    from jpweb.store.models import Inquiry

T = TypeVar("T")

#: Seconds after which a waiting call looks at its row again, should a wake-up be lost.
LOOK_AGAIN = 2.0


class Bell:
    """Wakes the calls of this process that wait for rows, by their keys."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Event] = {}

    def ring(self, key: int) -> None:
        """Let who waits for this row look at it."""
        if key in self.waiting:
            self.waiting[key].set()

    async def until(self, key: int, look: Callable[[], Awaitable[T | None]]) -> T:
        """Look now and whenever it rings, and return what is found first."""
        rung = self.waiting.setdefault(key, asyncio.Event())
        try:
            while True:
                rung.clear()
                found = await look()
                if found is not None:
                    return found
                await _until(rung)
        finally:
            self.waiting.pop(key, None)


bell = Bell()
handover = Handover()


async def answer(inquiry_key: int, typed: str, by: Decider, *, remember: bool = False) -> Inquiry:
    """Settle a question with what a person typed; returns the settled row.

    A secret goes to the waiting call alone. ``remember`` asks to use the answer for the rest of
    the turn, which only some questions allow. Raises UnknownInquiry, Unfit, AlreadySettled,
    NobodyWaits.
    """
    row = await in_store(inquiries.get, inquiry_key)
    if row.state != inquiries.OPEN:
        raise AlreadySettled(row)
    kind = answers.answer_type(row.question["answer_type"])
    value = kind.read(typed)
    if kind.KEEP or not isinstance(value, str):
        remember = remember and inquiries.may_be_remembered(row)
        return await settle(row, Answered(value), by, remember=remember)
    try:
        await handover.deliver(inquiry_key, value, by)
    except NobodyWaits:
        row = await in_store(inquiries.get, inquiry_key)
        if row.state != inquiries.OPEN:
            raise AlreadySettled(row) from None
        raise
    return await in_store(inquiries.get, inquiry_key)


async def decline(inquiry_key: int, by: Decider) -> Inquiry:
    """Close a question without an answer; returns the settled row.

    Raises UnknownInquiry, AlreadySettled.
    """
    row = await in_store(inquiries.get, inquiry_key)
    if row.state != inquiries.OPEN:
        raise AlreadySettled(row)
    return await settle(row, Cancelled(CancellationReason.USER), by)


async def settle(row: Inquiry, outcome: Outcome, by: Decider, **noted: bool) -> Inquiry:
    """Commit an outcome, wake the waiting call, tell everybody. Raises AlreadySettled.

    ``noted``: ``remember`` for the rest of the turn, or ``withdrawn`` by who interrupted it.
    """
    event = ConversationEvent(
        timestamps.written(datetime.now(UTC)),
        InquiryResponse(row.inquiry_id, outcome),
        by.note(**noted),
    )
    await in_store(journal.append, row.conversation_id, [event])
    bell.ring(row.pk)
    await announce.conversation(row.conversation_id)
    await announce.questions(row.conversation.workspace_id)
    return await in_store(inquiries.get, row.pk)


async def wait(row: Inquiry) -> Inquiry:
    """Return the row once somebody or something has settled it."""

    async def settled() -> Inquiry | None:
        now = await in_store(inquiries.get, row.pk)
        return None if now.state == inquiries.OPEN else now

    return await bell.until(row.pk, settled)


async def wait_for_secret(row: Inquiry) -> str | Inquiry:
    """Return the secret once ``redacted`` is on record, or the row where it ended otherwise."""
    with handover.expected(row.pk) as arrival:
        ending = asyncio.create_task(wait(row))
        try:
            waiting: set[asyncio.Future[Any]] = {arrival, ending}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not arrival.done():
                return ending.result()
            delivery = arrival.result()
            try:
                await settle(row, Redacted(), delivery.by)
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
    try:
        await asyncio.wait_for(rung.wait(), LOOK_AGAIN)
    except TimeoutError:
        return
