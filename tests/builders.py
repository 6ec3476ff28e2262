"""Small streams for tests, made by the same writer that makes real ones."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from jpweb.stream import wire
from jpweb.stream.answer_type import AnswerType, Boolean
from jpweb.stream.events import (
    ConversationEvent,
    Element,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import (
    Answered,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)
from jpweb.stream.outline import Outline
from jpweb.stream.transcript.items import PlacedElement

AT = "2026-01-02 03:04:05.0"


def make_element(
    kind: EventKind, *, at: str = AT, metadata: dict[str, Any] | None = None
) -> Element:
    """Return the element of an event as it would be written and read again."""
    return wire.read_element(wire.write_element(ConversationEvent(at, kind, metadata or {})).raw)


def raw(value: Any) -> Element:
    """Return the element of any JSON value, however odd."""
    return wire.read_element(json.dumps(value))


def stream(*kinds: EventKind | Element) -> list[Element]:
    """Return a stream, one event a second; ready-made elements are taken as they are."""
    return [
        kind if isinstance(kind, Element) else make_element(kind, at=_at(second))
        for second, kind in enumerate(kinds)
    ]


def _at(second: int) -> str:
    """Return a moment so many seconds after three o'clock, as jp writes it."""
    moment = datetime(2026, 1, 2, 3) + timedelta(seconds=second)
    return f"{moment:%Y-%m-%d %H:%M:%S}.0"


def make_call(id: str, name: str = "fs_modify_file", **arguments: Any) -> ToolCallRequest:  # noqa: A002  JP calls it id
    """Return a tool call."""
    return ToolCallRequest(id, name, arguments)


def make_result(id: str, content: str = "Done.", *, is_error: bool = False) -> ToolCallResponse:  # noqa: A002  JP calls it id
    """Return the result of a tool call."""
    return ToolCallResponse(id, content, is_error)


def make_inquiry(
    id: str,  # noqa: A002  JP calls it id
    text: str = "Apply the changes?",
    *,
    type: AnswerType | None = None,  # noqa: A002  JP calls it id
    source: InquirySource | None = None,
) -> InquiryRequest:
    """Return a question: of a tool, yes or no, unless told otherwise."""
    return InquiryRequest(
        id,
        source or InquirySource.for_tool("fs_modify_file"),
        InquiryQuestion(text, type or Boolean()),
    )


def make_answer(id: str, answer: Any = True) -> InquiryResponse:  # noqa: A002  JP calls it id
    """Return an answer."""
    return InquiryResponse(id, Answered(answer))


def list_placed(outline: Outline) -> list[PlacedElement]:
    """Return everything that has a place in an outline, in its order."""
    return [element for turn in outline.turns for item in turn.items for element in item.elements]
