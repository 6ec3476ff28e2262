"""Conversations of any length that look like real ones: turns, tool calls, inquiries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from jpweb.stream import timestamps, wire
from jpweb.stream.answers import Boolean
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import (
    Answered,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROSE = "The planner keeps a list of beds and what grows in each of them. " * 8
CODE = "def water(bed):\n    return bed.thirst > 3\n" * 20


def conversation(events: int) -> bytes:
    """Return an ``events.json`` of so many events."""
    texts = []
    for number, kind in zip(range(events), _kinds(), strict=False):
        stamp = timestamps.written(BEGIN + timedelta(milliseconds=700 * number))
        texts.append(wire.write(ConversationEvent(stamp, kind)).raw)
    return wire.join(texts).encode()


def _kinds() -> Iterator[EventKind]:
    """Yield turn after turn of ten events."""
    turn = 0
    while True:
        turn += 1
        yield TurnStart()
        yield ChatRequest(f"Look after bed {turn}. {PROSE[:200]}")
        yield ChatResponse("reasoning", PROSE)
        yield ChatResponse("message", f"I will read the file of bed {turn}. {PROSE}")
        for name in ("fs_read_file", "fs_modify_file"):
            call = f"toolu_{turn}_{name}"
            yield ToolCallRequest(call, name, {"path": f"beds/{turn}.py", "patch": CODE[:300]})
            if name == "fs_modify_file":
                question = InquiryQuestion(f"Apply this to bed {turn}?\n\n{CODE[:400]}", Boolean())
                asked = f"{call}.apply_changes.1"
                yield InquiryRequest(asked, InquirySource.tool(name), question)
                yield InquiryResponse(asked, Answered(True))
            yield ToolCallResponse(call, CODE, is_error=False)
        yield ChatResponse("message", f"Bed {turn} is looked after. {PROSE}")
