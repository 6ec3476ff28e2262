"""Applies redactions again to what a mirror pass reads from JP's file, which keeps the content."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from jpweb.store.derived_rows import from_stream
from jpweb.store.jp_files.reader import ParsedStream
from jpweb.store.models import Redaction
from jpweb.stream import anchor_ids
from jpweb.stream.outline import build_inquiry_outline
from jpweb.stream.wire.partial import read_partial


def load_texts(workspace_id: int, jp_id: int) -> dict[str, str]:
    """Return the texts that the last redactions of a conversation left, by anchor; one query.

    An element is found by its anchor, a hash of its content that survives when JP writes the file
    again with other spacing.
    """
    rows = Redaction.objects.filter(
        conversation__workspace=workspace_id, conversation__jp_id=jp_id
    ).exclude(text="")
    return {
        anchor_ids.strip_ordinal(anchor): text
        for anchor, text in rows.order_by("id").values_list("anchor", "text")
    }


def replace_texts(stream: ParsedStream, texts_by_anchor: Mapping[str, str]) -> ParsedStream:
    """Return the stream with the texts of redacted elements replaced."""
    if not texts_by_anchor:
        return stream
    entries = stream.stream_rows.entries
    anchors = [entry[2] for entry in entries]
    texts = [texts_by_anchor.get(anchor_ids.strip_ordinal(entry[2]), entry[0]) for entry in entries]
    partials = [read_partial(text) for text in texts]
    return msgspec.structs.replace(
        stream,
        stream_rows=from_stream.derive_stream_rows(partials, anchors),
        inquiries=from_stream.derive_inquiry_rows(build_inquiry_outline(partials, anchors)),
    )
