"""Conversations as files to take away, in pieces: each is one short unit of work in the database.

Between two pieces nothing is held open: no cursor, no transaction and no connection. So a reader
may take a piece a minute, and other people's requests run between two pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from jpweb.store.errors import ExportBroken
from jpweb.store.models import Conversation, JournalEntry
from jpweb.stream import wire

#: Entries of one piece, and characters after which a piece takes no further entry.
MAX_PIECE_ENTRIES, MAX_PIECE_CHARACTERS = 1000, 1_000_000
#: Rows that are fetched at once: a piece holds at most so many beyond ``MAX_PIECE_CHARACTERS``.
FETCHED_ROWS = 16


class Piece(NamedTuple):
    """Bytes of a file; ``done`` of ``total`` rows are in this piece and those before it."""

    data: bytes
    done: int
    total: int

    @property
    def is_last(self) -> bool:
        """Whether no piece follows."""
        return self.done >= self.total


def jp(conversation: Conversation) -> Iterator[Piece]:
    """Yield ``events.json``: of a mirrored conversation the bytes that were read."""
    total = conversation.length
    for start, texts in _texts(conversation):
        part = wire.join_part(texts, start, total, conversation.framing)
        yield Piece(part.encode(), start + len(texts), total)


def jsonl(conversation: Conversation) -> Iterator[Piece]:
    """Yield an element a line."""
    for start, texts in _texts(conversation):
        lines = "".join(f"{_one_line(text)}\n" for text in texts)
        yield Piece(lines.encode(), start + len(texts), conversation.length)


def check_unchanged(conversation: Conversation) -> None:
    """Raise ExportBroken where entries were replaced since the conversation was loaded.

    It is called after the entries of a piece were read, so that no file mixes two versions.
    """
    own = Conversation.objects.filter(pk=conversation.pk)
    if own.values_list("revision", flat=True).first() != conversation.revision:
        raise ExportBroken("The conversation was rewritten while it was downloaded.")


def _texts(conversation: Conversation) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts of the entries in order, with the position of the first; at least once."""
    position = 0
    while True:
        texts = _read_texts(conversation, position)
        if position or len(texts) < conversation.length:
            check_unchanged(conversation)
        if not texts and position < conversation.length:
            raise ExportBroken("The conversation was removed while it was downloaded.")
        yield position, texts
        position += len(texts)
        if position >= conversation.length:
            return


def _read_texts(conversation: Conversation, position: int) -> list[str]:
    end = min(position + MAX_PIECE_ENTRIES, conversation.length)
    rows = JournalEntry.objects.filter(
        conversation=conversation, position__gte=position, position__lt=end
    )
    texts: list[str] = []
    characters = 0
    ordered = rows.order_by("position").values_list("text", flat=True)
    for text in ordered.iterator(chunk_size=FETCHED_ROWS):
        texts.append(text)
        characters += len(text)
        if characters >= MAX_PIECE_CHARACTERS:
            break
    return texts


def _one_line(text: str) -> str:
    """Return the JSON without its line ends; a text that is no good JSON keeps its words."""
    try:
        return msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return " ".join(text.splitlines())
