"""Applies redactions again to elements that a mirror pass reads: JP's file keeps the content."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from jpweb.store.derived_rows import from_stream
from jpweb.store.jp_files.reader import ParsedStream
from jpweb.store.models import Redaction
from jpweb.stream import anchor_ids
from jpweb.stream.outline import build_inquiry_outline
from jpweb.stream.wire.partial import read_partial


class RedactedTexts(NamedTuple):
    """The texts that the last redactions of a conversation left, by anchor.

    ``texts_by_content`` have anchors without the number that tells equal elements apart.
    """

    texts_by_anchor: dict[str, str]
    texts_by_content: dict[str, str]

    def get_text(self, anchor: str, text: str) -> str:
        """Return the text that a redaction of the element, or else of an equal one, left."""
        equal_text = self.texts_by_content.get(anchor_ids.strip_ordinal(anchor), text)
        return self.texts_by_anchor.get(anchor, equal_text)


#: Those of a conversation without redactions.
NO_TEXTS = RedactedTexts({}, {})


def load_texts(workspace_id: int, jp_id: int) -> RedactedTexts:
    """Return the texts that the last redactions of a conversation left; one query.

    An element is found by its anchor, a hash of its content that survives when JP writes the file
    again with other spacing. Equal elements may differ in their metadata, so each has its own text.
    """
    rows = Redaction.objects.filter(
        conversation__workspace=workspace_id, conversation__jp_id=jp_id
    ).exclude(text="")
    texts = dict(rows.order_by("id").values_list("anchor", "text"))
    return RedactedTexts(
        texts, {anchor_ids.strip_ordinal(anchor): text for anchor, text in texts.items()}
    )


def replace_texts(stream: ParsedStream, redacted_texts: RedactedTexts) -> ParsedStream:
    """Return the stream with the texts of redacted elements replaced."""
    if redacted_texts == NO_TEXTS:
        return stream
    entries = stream.stream_rows.entries
    anchors = [entry[2] for entry in entries]
    partials = [read_partial(redacted_texts.get_text(entry[2], entry[0])) for entry in entries]
    return msgspec.structs.replace(
        stream,
        stream_rows=from_stream.derive_stream_rows(partials, anchors),
        inquiries=from_stream.derive_inquiry_rows(build_inquiry_outline(partials, anchors)),
    )
