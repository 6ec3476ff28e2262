"""Documents that try to run, to mislead or to take for ever; each names the place that it is in.

A text is a list of pieces; ``[piece, times]`` stands for one that is repeated.
"""

from __future__ import annotations

import json
import sys
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
from tests.builders import make_call, make_element, make_inquiry, make_result, stream

__all__ = ["Document", "list_documents", "make_conversation", "make_elements", "stream"]

SAMPLES = Path(__file__).parent / "samples" / "hostile"


class Document(NamedTuple):
    name: str
    place: str
    text: str


def list_documents() -> list[Document]:
    samples = [(path.stem, json.loads(path.read_text())) for path in sorted(SAMPLES.glob("*.json"))]
    return [Document(name, sample["as"], _text(sample["text"])) for name, sample in samples]


def make_conversation(max_length: int = sys.maxsize) -> list[Element]:
    """Return one conversation that holds those of at most so many characters."""
    documents = [document for document in list_documents() if len(document.text) <= max_length]
    parts = [part for document in documents for part in make_elements(document)]
    return stream(TurnStart(), *parts)


def make_elements(document: Document) -> list[EventKind | Element]:
    name, place, text = document
    if place == "raw":
        return [wire.read_element(text)]
    metadata = {"rendered_arguments": base64_fields.encode_text(text)}
    arguments = json.loads(text) if place == "arguments" else {}
    elements_by_place: dict[str, list[EventKind | Element]] = {
        "message": [ChatResponse("message", text), ChatResponse("reasoning", text)],
        "person": [ChatRequest(text, author=text[:50])],
        "result": [make_call(name, "read"), make_result(name, text)],
        "arguments": [make_call(name, "write", **arguments), make_result(name)],
        "formatted": [
            make_element(make_call(name, text="x"), metadata=metadata),
            make_result(name, text),
        ],
        "question": [make_call(name, "ask"), make_inquiry(f"{name}.q.1", text)],
        "call": [ToolCallRequest(name, text, {text: text}), make_result(name)],
    }
    return elements_by_place[place]


def _text(pieces: list[Any]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces)
