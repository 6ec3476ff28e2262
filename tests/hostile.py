"""Documents that try to run, to mislead or to take for ever; each names the place that it is in.

A text is a list of pieces; ``[piece, times]`` stands for one that is repeated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from jpweb.stream import base64_fields, wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Element,
    EventKind,
    ToolCallRequest,
    TurnStart,
)
from tests.builders import asked, called, element, returned, stream

__all__ = ["Document", "conversation", "documents", "elements", "stream"]

SAMPLES = Path(__file__).parent / "samples" / "hostile"


class Document(NamedTuple):
    name: str
    place: str
    text: str


def documents() -> list[Document]:
    found = [(path.stem, json.loads(path.read_text())) for path in sorted(SAMPLES.glob("*.json"))]
    return [Document(name, made["as"], _text(made["text"])) for name, made in found]


def conversation() -> list[Element]:
    """Return one conversation that holds them all."""
    parts = [part for document in documents() for part in elements(document)]
    return stream(TurnStart(), *parts)


def elements(document: Document) -> list[EventKind | Element]:
    name, place, text = document
    if place == "raw":
        return [wire.read_element(text)]
    kept = {"rendered_arguments": base64_fields.encode_text(text)}
    given = json.loads(text) if place == "arguments" else {}
    made: dict[str, list[EventKind | Element]] = {
        "message": [ChatResponse("message", text), ChatResponse("reasoning", text)],
        "person": [ChatRequest(text, author=text[:50])],
        "result": [called(name, "read"), returned(name, text)],
        "arguments": [called(name, "write", **given), returned(name)],
        "formatted": [element(called(name, text="x"), metadata=kept), returned(name, text)],
        "question": [called(name, "ask"), asked(f"{name}.q.1", text)],
        "call": [ToolCallRequest(name, text, {text: text}), returned(name)],
    }
    return made[place]


def _text(pieces: list[Any]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces)
