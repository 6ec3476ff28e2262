"""Masks the rows that are derived from a stream again, before they are written.

What the scanner masked in titles and questions is derived from the unmasked text each time that a
conversation grows, and the scanner searches only its new entries.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter

from jpweb.store.derived_rows import from_stream
from jpweb.store.derived_rows.from_stream import INQUIRY_COLUMNS, InquiryColumns, StreamRows
from jpweb.store.masking import copied_text, derived_columns, masks
from jpweb.store.models import Conversation
from jpweb.store.suspected_secrets import copies
from jpweb.stream import wire

#: Columns of an inquiry that repeat an event; those of ``_JSON_COLUMNS`` are JSON text.
_MASKED_COLUMNS, _JSON_COLUMNS = ("question", "label", "answer", "note"), ("question", "answer")
_MAX_CHARS_BY_COLUMN = {"label": 200, "note": from_stream.MAX_NOTE_CHARS}
_get_positions = itemgetter(
    INQUIRY_COLUMNS.index("position"), INQUIRY_COLUMNS.index("response_position")
)


def mask_rows(
    conversation: Conversation,
    stream_rows: StreamRows,
    inquiry_rows: Sequence[InquiryColumns] = (),
) -> tuple[StreamRows, list[InquiryColumns]]:
    """Return rows with the open suspicions of their conversation masked; the journal's stay.

    The title of the conversation is masked too; the caller saves it. One query without suspicions.
    """
    rows_by_anchor = masks.load_open_rows(conversation.pk)
    if not rows_by_anchor:
        return stream_rows, list(inquiry_rows)
    turns = list(stream_rows.turns)
    positions: set[int] = set()
    markers: dict[str, str] = {}
    for position, (text, _, anchor, *_) in enumerate(stream_rows.entries):
        if anchor in rows_by_anchor:
            element = wire.read_element(text)
            event_markers = masks.read_secrets(element, rows_by_anchor[anchor])
            number = bisect_right(turns, position, key=itemgetter(0)) - 1
            start, title = turns[number] if number >= 0 else (0, "")
            if derived_columns.is_title_source(title, element):
                masked_element = masks.mask_element(element, event_markers)
                turns[number] = (
                    start,
                    derived_columns.derive_turn_title(title, element, masked_element),
                )
            positions.add(position)
            markers |= event_markers
    conversation.title = copied_text.mask_title(conversation.title, markers)
    return StreamRows(stream_rows.entries, turns), [
        _mask_inquiry(row, markers) if positions.intersection(_get_positions(row)) else row
        for row in inquiry_rows
    ]


def mask_title(conversation: Conversation) -> None:
    """Mask the title where it repeats an event of the journal. The caller saves it."""
    conversation.title = copied_text.mask_title(conversation.title, _read_markers(conversation))


def unmask_title(conversation: Conversation) -> str:
    """Return the title with the secrets that its masks replace, as JP's files have it."""
    secrets = copies.read_open_secrets(conversation.pk)
    title: str = copied_text.unmask(conversation.title, secrets)
    return title


def _read_markers(conversation: Conversation) -> dict[str, str]:
    """Return the open suspicions of a conversation as secrets with their markers."""
    rows_by_anchor = masks.load_open_rows(conversation.pk)
    rows = [row for event_rows in rows_by_anchor.values() for row in event_rows]
    return copies.read_markers(conversation.pk, rows) if rows else {}


def _mask_inquiry(row: InquiryColumns, markers: Mapping[str, str]) -> InquiryColumns:
    values = dict(zip(INQUIRY_COLUMNS, row, strict=True))
    for column in _MASKED_COLUMNS:
        if values[column] is None:
            continue
        is_json = column in _JSON_COLUMNS
        value = json.loads(values[column]) if is_json else values[column]
        replaced_value = copies.replace_column(column, value, values["state"], markers)
        if replaced_value != value:
            values[column] = (
                from_stream.encode_json(replaced_value)
                if is_json
                else replaced_value[: _MAX_CHARS_BY_COLUMN[column]]
            )
    return tuple(values.values())
