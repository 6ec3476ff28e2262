"""Exports of conversations in chunks: each chunk is one short unit of work in the database.

Between two chunks no cursor, transaction or connection is open. So a slow client, with one
chunk a minute, holds none, and requests of other people run between two chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from django.db.models import QuerySet

from jpweb.evidence import ledger_verifier
from jpweb.store.errors import ExportBroken
from jpweb.store.masking import masks
from jpweb.store.models import Conversation, JournalEntry, Membership
from jpweb.stream import wire

#: Entries of one chunk at most, and characters after which a chunk takes no further entry.
MAX_CHUNK_ENTRIES, MAX_CHUNK_CHARS = 1000, 1_000_000
#: Rows of one fetch: a chunk has at most so many beyond ``MAX_CHUNK_CHARS``.
FETCH_ROWS = 16


class ExportChunk(NamedTuple):
    """Bytes of an export; ``done_rows`` of ``total_rows`` are in this chunk and earlier ones."""

    data: bytes
    done_rows: int
    total_rows: int

    @property
    def is_last(self) -> bool:
        """Whether no chunk follows."""
        return self.done_rows >= self.total_rows


def export_jp_json(conversation: Conversation) -> Iterator[ExportChunk]:
    """Yield ``events.json``; for a mirrored conversation, the same bytes as JP's file."""
    total = conversation.entry_count
    for start, texts in _iterate_texts(conversation):
        chunk_text = wire.join_array_part(texts, start, total, conversation.framing)
        yield ExportChunk(chunk_text.encode(), start + len(texts), total)


def export_json_lines(conversation: Conversation) -> Iterator[ExportChunk]:
    """Yield one element per line."""
    for start, texts in _iterate_texts(conversation):
        lines = "".join(f"{_format_one_line(text)}\n" for text in texts)
        yield ExportChunk(lines.encode(), start + len(texts), conversation.entry_count)


def export_event_lines(conversation: Conversation) -> Iterator[ExportChunk]:
    """Yield one line per element, with its text as it is on record, its position and anchor."""
    for start, rows in _iterate_rows(conversation):
        values = enumerate(rows, start)
        lines = "".join(
            ledger_verifier.encode_canonical({"position": position, "anchor": anchor, "text": text})
            + "\n"
            for position, (text, anchor) in values
        )
        yield ExportChunk(lines.encode(), start + len(rows), conversation.entry_count)


def check_unchanged(conversation: Conversation) -> None:
    """Raise ExportBroken where entries were replaced since the conversation was loaded.

    It is called after the entries of a chunk were read, so that no file mixes two versions.
    """
    matching_rows = Conversation.objects.filter(pk=conversation.pk)
    if matching_rows.values_list("revision", flat=True).first() != conversation.revision:
        raise ExportBroken("The conversation was rewritten while it was downloaded.")


def list_workspace_ids(memberships: QuerySet[Membership]) -> frozenset[int]:
    """Return the keys of the workspaces whose rows an export takes."""
    return frozenset(memberships.values_list("workspace_id", flat=True))


def check_memberships(memberships: QuerySet[Membership], workspace_ids: frozenset[int]) -> None:
    """Raise ExportBroken where a person's roles let an export take rows of other workspaces.

    It is called after the rows of a chunk were read: where a role ends, they are fewer, and the
    file would look complete.
    """
    if list_workspace_ids(memberships) != workspace_ids:
        raise ExportBroken("The person's roles were changed while this was downloaded.")


def _iterate_texts(conversation: Conversation) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts of the entries in order, masked, with the first's position; at least once."""
    for position, rows in _iterate_rows(conversation):
        event_masks = masks.load_masks(conversation.pk, [anchor for _, anchor in rows])
        yield position, [event_masks.mask_text(anchor, text) for text, anchor in rows]


def _iterate_rows(conversation: Conversation) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield the texts and anchors of the entries as ``_iterate_texts`` does."""
    position = 0
    while True:
        rows = _read_rows(conversation, position)
        if position or len(rows) < conversation.entry_count:
            check_unchanged(conversation)
        if not rows and position < conversation.entry_count:
            raise ExportBroken("The conversation was removed while it was downloaded.")
        yield position, rows
        position += len(rows)
        if position >= conversation.entry_count:
            return


def _read_rows(conversation: Conversation, position: int) -> list[tuple[str, str]]:
    end = min(position + MAX_CHUNK_ENTRIES, conversation.entry_count)
    matching_rows = JournalEntry.objects.filter(
        conversation=conversation, position__gte=position, position__lt=end
    )
    rows: list[tuple[str, str]] = []
    characters = 0
    ordered_rows = matching_rows.order_by("position").values_list("text", "anchor")
    for text, anchor in ordered_rows.iterator(chunk_size=FETCH_ROWS):
        rows.append((text, anchor))
        characters += len(text)
        if characters >= MAX_CHUNK_CHARS:
            break
    return rows


def _format_one_line(text: str) -> str:
    """Return the JSON on one line; of invalid JSON, only the line ends are replaced."""
    try:
        return msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return " ".join(text.splitlines())
