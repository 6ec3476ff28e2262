"""The conversations that are journeyed through, and words that lead into each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from tests.load.synthetic import make_needle
from tests.machine.serving import ROOT

#: The real conversations of JP's own repository, where they are.
REAL = sorted((ROOT.parent / "shared" / "workspace" / ".jp" / "conversations").glob("[0-9]*"))
#: Three words that no markup interrupts.
_PLAIN = re.compile(r"(?<![\w`*_\[(/.-])(?:[A-Za-z]{3,} ){2}[A-Za-z]{3,}(?![\w`*_\])/.-])")


@dataclass(frozen=True)
class Book:
    """A conversation: its title, and words of one event in its middle and of one far from there.

    ``has_questions`` tells whether a question stands after the far one.
    """

    title: str
    middle: str
    far: str
    asks: bool

    @classmethod
    def long(cls, length: int) -> Self:
        """Return the generated conversation of so many events."""
        return cls(f"{length} events", make_needle(middle_turn(length)), make_needle(78), asks=True)

    @classmethod
    def real(cls, folder: Path) -> Self:
        """Return a conversation as JP keeps it."""
        title = json.loads((folder / "metadata.json").read_text())["title"]
        file = folder / "events.json"
        events = json.loads(file.read_text())
        phrases = _phrases(events, file.read_text().lower())
        has_questions = any(event["type"] == "inquiry_request" for event in events)
        return cls(title, phrases[len(phrases) // 2], phrases[0], has_questions)


def middle_turn(length: int) -> int:
    """Return a turn near the middle of the generated conversation; the next has a huge result."""
    return length // 2_500 * 100


def list_books(length: int) -> list[Any]:
    """Return conversations as parameters; what is not here is skipped, with the reason.

    The real ones are read under proof.
    """
    if not REAL:
        skip_mark = pytest.mark.skip(
            reason=f"the workspace of JP itself is not in {ROOT.parent}/shared"
        )
        params = [pytest.param(None, id="real", marks=skip_mark)]
    else:
        by_size = sorted(REAL, key=lambda folder: (folder / "events.json").stat().st_size)
        params = [
            pytest.param(
                Book.real(source), id=source.name.partition("-")[2], marks=pytest.mark.proof
            )
            for source in by_size
        ]
    return [*params, pytest.param(Book.long(length), id=f"{length}-events")]


def _phrases(events: list[dict[str, Any]], raw: str) -> list[str]:
    """Return a phrase of each thing said that has one to itself, in order."""
    phrases = []
    for event in events:
        key = {"chat_request": "content", "chat_response": "message"}.get(event["type"], "")
        matches = _PLAIN.finditer(event.get(key, ""))
        phrase = next((match[0] for match in matches if raw.count(match[0].lower()) == 1), "")
        phrases += [phrase] if phrase else []
    return phrases
