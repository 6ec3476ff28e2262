"""Applies redactions again to elements that a mirror pass reads: JP's file keeps the content."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import msgspec

from jpweb.store.derived_rows import from_stream
from jpweb.store.jp_files.reader import ParsedStream
from jpweb.store.models import JournalEntry, Redaction
from jpweb.store.models.conversations import CHANGED_REDACTIONS
from jpweb.stream import anchor_ids, wire
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.outline import build_inquiry_outline
from jpweb.stream.wire.partial import read_partial

#: What an edit of an event's text leaves: its kind, its time, and the id of its call or question.
_Identity: TypeAlias = tuple[str, str, str]
#: Positions that a problem names.
_MAX_NAMED = 10


class RedactedTexts(NamedTuple):
    """The texts that the last redactions of a conversation left, by anchor.

    ``texts_by_content`` have anchors without the number that tells equal elements apart.
    ``journal_anchors`` are those of the journal, in its order; empty without redactions.
    """

    texts_by_anchor: dict[str, str]
    texts_by_content: dict[str, str]
    journal_anchors: tuple[str, ...]

    def get_text(self, anchor: str, text: str) -> str:
        """Return the text that a redaction of the element, or else of an equal one, left."""
        equal_text = self.texts_by_content.get(anchor_ids.strip_ordinal(anchor), text)
        return self.texts_by_anchor.get(anchor, equal_text)

    def has_text(self, anchor: str) -> bool:
        return anchor_ids.strip_ordinal(anchor) in self.texts_by_content


#: Those of a conversation without redactions.
NO_TEXTS = RedactedTexts({}, {}, ())


class RedactedStream(NamedTuple):
    """A stream of a file, and the same with these texts in place of redacted elements.

    ``problem`` says which of these elements the file has with another content.
    """

    file_stream: ParsedStream
    redacted_texts: RedactedTexts
    stream: ParsedStream
    problem: str


def load_texts(workspace_id: int, jp_id: int) -> RedactedTexts:
    """Return the texts that the last redactions of a conversation left; two queries at most.

    An element is found by its anchor, a hash of its content that survives when JP writes the file
    again with other spacing. Equal elements may differ in their metadata, so each has its own text.
    """
    rows = Redaction.objects.filter(
        conversation__workspace=workspace_id, conversation__jp_id=jp_id
    ).exclude(text="")
    texts = dict(rows.order_by("id").values_list("anchor", "text"))
    if not texts:
        return NO_TEXTS
    entries = JournalEntry.objects.filter(
        conversation__workspace=workspace_id, conversation__jp_id=jp_id
    )
    return RedactedTexts(
        texts,
        {anchor_ids.strip_ordinal(anchor): text for anchor, text in texts.items()},
        tuple(entries.order_by("position").values_list("anchor", flat=True)),
    )


def redact_stream(stream: ParsedStream, redacted_texts: RedactedTexts) -> RedactedStream:
    """Return a stream with the texts of redacted elements replaced.

    An element whose content was changed in the file after its redaction has another anchor there.
    It keeps its old one, and the text that the redaction left: the new content may repeat the
    redacted one.
    """
    if redacted_texts == NO_TEXTS:
        return RedactedStream(stream, redacted_texts, stream, "")
    entries = stream.stream_rows.entries
    changed_anchors = _ChangedElements(entries, redacted_texts).find_anchors()
    anchors = [changed_anchors.get(place, entry[2]) for place, entry in enumerate(entries)]
    partials = [
        read_partial(redacted_texts.get_text(anchor, entry[0]))
        for anchor, entry in zip(anchors, entries, strict=True)
    ]
    redacted_stream = msgspec.structs.replace(
        stream,
        stream_rows=from_stream.derive_stream_rows(partials, anchors),
        inquiries=from_stream.derive_inquiry_rows(build_inquiry_outline(partials, anchors)),
    )
    problem = _describe_changed(sorted(changed_anchors))
    return RedactedStream(stream, redacted_texts, redacted_stream, problem)


def _describe_changed(positions: Sequence[int]) -> str:
    """Return the problem of a conversation whose file changed these redacted elements."""
    if not positions:
        return ""
    places = ", ".join(f"event {position}" for position in positions[:_MAX_NAMED])
    others = len(positions) - _MAX_NAMED
    return f"{CHANGED_REDACTIONS}: {places}" + (f" and {others} more" if others > 0 else "")


class _ChangedElements:
    """Finds the elements of a file that were redacted, and changed there since."""

    def __init__(
        self, entries: Sequence[from_stream.EntryColumns], redacted_texts: RedactedTexts
    ) -> None:
        self._entries, self._texts = entries, redacted_texts
        self._journal = redacted_texts.journal_anchors
        #: Places in the file, of changed elements by the anchor that they had.
        self._places = {entry[2]: place for place, entry in enumerate(entries)}
        self._anchors_by_place: dict[int, str] = {}

    def find_anchors(self) -> dict[int, str]:
        """Return the anchors of redacted elements by the place of the changed one in the file."""
        missing_anchors = [
            anchor for anchor in self._texts.texts_by_anchor if anchor not in self._places
        ]
        if not missing_anchors:
            return {}
        known_anchors = set(self._journal)
        new_elements = {
            place: wire.read_element(entry[0])
            for place, entry in enumerate(self._entries)
            if entry[2] not in known_anchors and not self._texts.has_text(entry[2])
        }
        self._match_identities(missing_anchors, new_elements)
        self._match_neighbors(missing_anchors, new_elements)
        return self._anchors_by_place

    def _match_identities(self, anchors: Sequence[str], new_elements: dict[int, Element]) -> None:
        """Match elements of the same kind, time and id."""
        places: dict[_Identity, deque[int]] = defaultdict(deque)
        for place, element in new_elements.items():
            if identity := _get_identity(element):
                places[identity].append(place)
        for anchor in anchors:
            identity = _get_identity(self._read_redacted(anchor))
            if identity and places[identity]:
                self._match(anchor, places[identity].popleft())

    def _match_neighbors(self, anchors: Sequence[str], new_elements: dict[int, Element]) -> None:
        """Match elements of the same kind between the same neighbors as in the journal.

        Among the last elements only those without a time: others may follow a deleted one.
        """
        positions = {anchor: position for position, anchor in enumerate(self._journal)}
        remaining_anchors = [anchor for anchor in anchors if anchor not in self._places]
        known_anchors = filter(positions.__contains__, remaining_anchors)
        for anchor in sorted(known_anchors, key=positions.__getitem__):
            redacted_element = self._read_redacted(anchor)
            first_place, expected_place, end_place = self._find_gap(positions[anchor])
            if end_place is None and _get_identity(redacted_element):
                continue
            free_places = [
                place
                for place in range(
                    first_place, len(self._entries) if end_place is None else end_place
                )
                if place in new_elements and place not in self._anchors_by_place
            ]
            for place in _order_places(free_places, expected_place):
                is_event = isinstance(redacted_element.body, ConversationEvent)
                if new_elements[place].tag == redacted_element.tag or (
                    place == expected_place and not is_event
                ):
                    self._match(anchor, place)
                    break

    def _find_gap(self, position: int) -> tuple[int, int, int | None]:
        """Return where the file has what follows and precedes the neighbors of a journal's element.

        That is the first place, that of an element at the same distance, and the end; None where
        the file has no later element of the journal.
        """
        previous_position = position - 1
        while previous_position >= 0 and self._journal[previous_position] not in self._places:
            previous_position -= 1
        first_place = (
            self._places[self._journal[previous_position]] + 1 if previous_position >= 0 else 0
        )
        later_places = (
            self._places[anchor]
            for anchor in islice(self._journal, position + 1, None)
            if anchor in self._places
        )
        return first_place, first_place + position - previous_position - 1, next(later_places, None)

    def _match(self, anchor: str, place: int) -> None:
        self._places[anchor] = place
        self._anchors_by_place[place] = anchor

    def _read_redacted(self, anchor: str) -> Element:
        return wire.read_element(self._texts.texts_by_anchor[anchor])


def _order_places(places: Sequence[int], expected: int) -> Iterator[int]:
    """Yield places, the expected one first."""
    if expected in places:
        yield expected
    yield from (place for place in places if place != expected)


def _get_identity(element: Element) -> _Identity | None:
    """Return the identity of an element; None for one without a time."""
    event = next(iter(element.events), None)
    time = anchor_ids.normalize_timestamp(event.timestamp) if event else None
    if event is None or time is None:
        return None
    return element.tag, time, getattr(event.kind, "id", "")
