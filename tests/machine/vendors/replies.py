"""What a stand-in is told to reply; the same for every vendor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning. ``signature`` is what the vendor wants back; ``redacted``: nothing else comes."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False
    id: str = "rs_1"


@dataclass(frozen=True, slots=True)
class Say:
    """Text, or structured data as JSON."""

    text: str
    signature: str | None = None
    phase: str | None = None
    id: str = "msg_1"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``raw`` are its arguments where they are not to be whole JSON."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = "call_1"
    signature: str | None = None
    raw: str | None = None

    @property
    def json(self) -> str:
        """The arguments as they are streamed."""
        return json.dumps(self.arguments) if self.raw is None else self.raw


Piece: TypeAlias = Think | Say | Call
Gate: TypeAlias = Callable[[bytes], None]


@dataclass(frozen=True, slots=True, init=False)
class Reply:
    """A streamed reply and its end.

    ``stop`` is as it should be; ``length`` and ``refusal`` are the vendor's words for these;
    ``silent`` ends the stream without a word, ``cut`` drops the connection, ``hang`` waits until
    the client leaves; a mapping is an error inside the stream, in the vendor's form. ``gate`` is
    called with each frame that was sent, and may hold the next one back.
    """

    pieces: tuple[Piece, ...]
    end: Literal["stop", "length", "refusal", "silent", "cut", "hang"] | Mapping[str, Any]
    gate: Gate

    def __init__(
        self,
        *pieces: Piece,
        end: Literal["stop", "length", "refusal", "silent", "cut", "hang"]
        | Mapping[str, Any] = "stop",
        gate: Gate = lambda _frame: None,
    ) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "gate", gate)

    @property
    def calls(self) -> bool:
        """Whether tools are called."""
        return any(isinstance(piece, Call) for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP status, a body in the vendor's form, and headers."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


#: A reply, or what makes one of the request's body.
Script: TypeAlias = Reply | Failure | Callable[[Mapping[str, Any]], Reply | Failure]


def split_text(text: str) -> Iterator[str]:
    """Yield the text in about three pieces, as models stream it."""
    size = max(1, -(-len(text) // 3))
    for start in range(0, len(text), size):
        yield text[start : start + size]
