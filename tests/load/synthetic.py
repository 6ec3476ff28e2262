"""Conversations of any length that look like real ones: turns, tool calls, inquiries.

``make_events_json`` is plain; ``make_events_file`` holds all kinds, all outcomes and reasons, large
results, compactions, unknown and broken elements. Both return the same each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from jpweb.store import inquiries, journal
from jpweb.store.choices import Origin
from jpweb.store.models import Conversation, Workspace
from jpweb.stream import timestamps, wire
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
    UnknownReason,
)
from jpweb.stream.outline import build_outline

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROSE = "The planner keeps a list of beds and what grows in each of them. " * 8
CODE = "def water(bed):\n    return bed.thirst > 3\n" * 20
#: A word that is in one turn alone, to be searched for; ``make_needle`` makes it.
NEEDLE = "snapdragon"
#: JP's number of the conversation of ``write_workspace``.
NUMBER = 17_670_000_000
#: Every so many turns a result is so many times ``CODE``: about 3 KB, about 130 KB.
_RARE, _LARGE, _HUGE = 100, 3, 150
_CHOICE = Select((Option("backup", "Keep a copy first"), Option("overwrite"), Option(3)))
#: Every way for a question to end; None is no outcome at all.
_ENDS: Sequence[tuple[AnswerType, InquiryOutcome | None]] = (
    (Boolean(), Answered(True)),
    (_CHOICE, Answered("backup")),
    (Secret(), Redacted()),
    (Boolean(), Cancelled(CancellationReason.USER)),
    (Text(), Answered("Only the beds\nin the sun")),
    *((Boolean(), Cancelled(reason)) for reason in list(CancellationReason)[1:]),
    (Text(), Cancelled(UnknownReason("the_tool_left"))),
    (Boolean(), None),
)


def make_events_json(events: int) -> bytes:
    """Return an ``events.json`` of so many events."""
    texts = []
    for number, kind in zip(range(events), _kinds(), strict=False):
        stamp = timestamps.format_timestamp(BEGIN + timedelta(milliseconds=700 * number))
        texts.append(wire.write_element(ConversationEvent(stamp, kind)).raw)
    return wire.join_array(texts).encode()


def make_events_file(events: int) -> bytes:
    """Return an ``events.json`` of so many elements, of every kind that there is."""
    return wire.join_array(_texts(events)).encode()


def import_conversation(workspace: Workspace, events: int) -> Conversation:
    """Write ``make_events_file`` into the journal of a new conversation, as a mirror does."""
    elements = [wire.read_element(text) for text in _texts(events)]
    outline = build_outline(elements)
    conversation = Conversation(
        workspace=workspace,
        jp_id=NUMBER + events,
        origin=Origin.MIRRORED,
        title=f"{events} events",
        last_activity=BEGIN,
    )
    conversation.save()
    journal.replace_elements(conversation, elements, outline.anchors)
    inquiries.rebuild_rows(conversation, outline)
    conversation.save()
    return conversation


def write_workspace(root: Path, events: int) -> Path:
    """Write a JP workspace with ``make_events_file`` as its one conversation; return its root."""
    folder = root / ".jp" / "conversations" / f"{NUMBER + events}-everything"
    folder.mkdir(parents=True)
    (folder / "events.json").write_bytes(make_events_file(events))
    about = {"title": f"{events} events", "last_activated_at": timestamps.format_timestamp(BEGIN)}
    (folder / "metadata.json").write_text(json.dumps(about, indent=2) + "\n")
    return root


def make_needle(turn: int) -> str:
    """Return the word that a turn of ``make_events_file``, from 0, has to itself."""
    return f"{NEEDLE}{turn}x"


def _texts(events: int) -> list[str]:
    return [
        _written(number, kind) if not isinstance(kind, str) else kind
        for number, kind in enumerate(islice(_every(), events))
    ]


def _written(number: int, kind: EventKind) -> str:
    stamp = timestamps.format_timestamp(BEGIN + timedelta(seconds=7 * number))
    note = {"rendered_arguments": "\x1b[32m+ bed\x1b[0m"} if number % 40 == 7 else {}
    metadata = note if isinstance(kind, ToolCallRequest) else {}
    return wire.write_element(ConversationEvent(stamp, kind, metadata)).raw


def _every() -> Iterator[EventKind | str]:
    """Yield turn after turn; what is rare stands in one of the first turns too."""
    turn = 0
    while True:
        yield TurnStart()
        if turn % 5 == 0:
            yield ConfigDelta({"assistant": {"model": {"parameters": {"top_k": turn}}}})
        yield ChatRequest(
            f"Look after bed {turn}, the {make_needle(turn)}. {PROSE[:200]}", author="Ada"
        )
        yield ChatResponse("reasoning", f"Bed {turn} may be dry. {PROSE}")
        yield ChatResponse("message", f"I read bed {turn}:\n\n```python\n{CODE[:130]}\n```\n")
        yield from _reading(turn)
        yield from _changing(turn)
        yield from _odd(turn)
        yield ChatResponse("message", f"Bed {turn} is **looked after**. {PROSE}")
        turn += 1


def _reading(turn: int) -> Iterator[EventKind]:
    call, is_failed = f"toolu_{turn}_read", turn % 6 == 4
    times = _HUGE if turn % _RARE == 1 else _LARGE
    yield ToolCallRequest(call, "fs_read_file", {"path": f"beds/{turn}.py", "lines": [1, turn]})
    yield ToolCallResponse(call, "No such bed." if is_failed else CODE * times, is_error=is_failed)


def _changing(turn: int) -> Iterator[EventKind]:
    """Yield a call that asks once, and once more where the first time was no answer."""
    call, name = f"toolu_{turn}_change", "fs_modify_file"
    yield ToolCallRequest(call, name, {"path": f"beds/{turn}.py", "patch": CODE[:300]})
    kind, outcome = _ENDS[turn % len(_ENDS)]
    repeats = () if outcome is None or isinstance(outcome, Answered) else ((kind, Answered("yes")),)
    for attempt, (answer_type, end) in enumerate(((kind, outcome), *repeats), 1):
        inquiry_id = f"{call}.apply.{attempt}"
        wanted_now = answer_type if attempt == 1 else Text()
        question = InquiryQuestion(f"Apply this to bed {turn}?\n\n{CODE[:400]}", wanted_now)
        yield InquiryRequest(inquiry_id, InquirySource.for_tool(name), question)
        if end is not None:
            yield InquiryResponse(inquiry_id, end)
    yield ToolCallResponse(call, f"Bed {turn} is changed.", is_error=False)


def _odd(turn: int) -> Iterator[EventKind | str]:
    match turn % _RARE:
        case 1:
            yield _other(type="weather_report", sky="clear", turn=turn)
        case 2:
            yield _other(type="chat_request", timestamp="no time", turn=turn)
        case 3 if turn % (4 * _RARE) == 3:
            strip = {"policy": "strip", "request": True, "response": True}
            yield Compaction(0, max(turn - 2, 0), {"reasoning": "strip", "tool_calls": strip})
        case 3:
            summary = {"summary": f"Beds {turn - _RARE} to {turn - 20} were looked after."}
            yield Compaction(turn - _RARE, turn - 20, {"summary": summary})
        case 5:
            yield ChatResponse("data", {"bed": turn, "thirst": 3})
        case _:
            pass


def _other(**fields: object) -> str:
    """Return an element that is no event, as a file holds it."""
    return json.dumps(fields, indent=2).replace("\n", "\n  ")


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
                inquiry_id = f"{call}.apply_changes.1"
                yield InquiryRequest(inquiry_id, InquirySource.for_tool(name), question)
                yield InquiryResponse(inquiry_id, Answered(True))
            yield ToolCallResponse(call, CODE, is_error=False)
        yield ChatResponse("message", f"Bed {turn} is looked after. {PROSE}")
