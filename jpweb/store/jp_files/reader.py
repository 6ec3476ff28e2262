"""Parses a conversation's files into rows: the part of a mirror pass without a database.

It imports no Django, so that reader processes start fast.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from jpweb.store import db_text
from jpweb.store.derived_rows import from_stream
from jpweb.store.jp_files import directory_handles, workspace
from jpweb.store.jp_files.workspace import ConversationMetadata, DiskConversation
from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.errors import MalformedStream
from jpweb.stream.events import BrokenEvent, ConversationEvent, UnknownEvent
from jpweb.stream.outline import build_inquiry_outline
from jpweb.stream.transcript.grouping import group_and_match
from jpweb.stream.wire.partial import PartialElement, read_partial

#: Elements of one file at most.
MAX_ELEMENTS = 250_000
#: Neither JP nor PostgreSQL accepts it in an element.
NUL = b"\0"


class TooManyElements(Exception):
    """A stream has more elements than its caller parses."""


class ParsedStream(msgspec.Struct, array_like=True, frozen=True):
    """The parsed stream of a file; ``last_time`` is of the last element that has a time."""

    framing: str
    last_time: datetime | None
    stream_rows: from_stream.StreamRows
    inquiries: list[from_stream.InquiryColumns]
    unknown_count: int
    broken_count: int


class ParsedConversation(msgspec.Struct, array_like=True, frozen=True):
    """A parsed conversation; without a stream where its file cannot be read.

    ``problem`` gives the reason in one line. Databases accept every text. With
    ``has_transient_error`` the next pass reads it again, although its files stay the same.
    """

    metadata: ConversationMetadata
    problem: str
    stream: ParsedStream | None
    has_transient_error: bool = False


def parse_conversation(
    disk_conversation: DiskConversation, max_elements: int = MAX_ELEMENTS
) -> ParsedConversation:
    """Parse a conversation's files. Problems are in the result, not raised.

    Raises TooManyElements for a stream of more than ``max_elements``, before its elements are
    parsed; more than ``MAX_ELEMENTS`` are a problem of the conversation.
    """
    metadata = workspace.read_metadata(disk_conversation)
    metadata = replace(
        metadata,
        title=db_text.clean_text(metadata.title)[:500],
        labels=db_text.clean_json(metadata.labels),
    )
    stream, problem, has_transient_error = _parse_stream(disk_conversation, max_elements)
    return ParsedConversation(
        metadata,
        db_text.clean_text(problem or metadata.problem),
        stream,
        has_transient_error or metadata.has_transient_error,
    )


def _parse_stream(
    disk_conversation: DiskConversation, max_elements: int
) -> tuple[ParsedStream | None, str, bool]:
    """Return the stream, or None with the reason, and whether that is a transient error.

    Raises TooManyElements.
    """
    name = workspace.find_stream_file(disk_conversation.folder).name
    try:
        data = directory_handles.read_file(
            disk_conversation.folder / name, workspace.MAX_STREAM_BYTES
        )
        if NUL in data:
            return None, f"{name} cannot be read: it holds a NUL at byte {data.index(NUL)}", False
        if wire.has_more_elements(data, MAX_ELEMENTS):
            return None, f"{name} has more than {MAX_ELEMENTS:,} elements. It was not read", False
        texts, framing = wire.split_with_framing(data)
    except OSError as error:
        _, stream_fingerprint = workspace.split_fingerprint(disk_conversation.fingerprint)
        is_transient = workspace.is_transient(error, stream_fingerprint)
        return None, f"{name}: {error.strerror}", is_transient
    except MalformedStream as error:
        return None, f"{name} cannot be read: {error}", False
    except MemoryError:
        return None, f"{name} cannot be read: there is not enough memory", True
    if len(texts) > max_elements:
        raise TooManyElements
    partial_elements = [read_partial(text) for text in texts]
    anchors = anchor_ids.number_anchors(
        partial_element.content_anchor for partial_element in partial_elements
    )
    groups, turn_matches = group_and_match(partial_elements)
    outline_inquiries = build_inquiry_outline(partial_elements, anchors, turn_matches)
    bodies = [
        type(partial_element.decoded.body)
        for partial_element in partial_elements
        if partial_element.decoded is not None
    ]
    stream = ParsedStream(
        framing,
        _find_last_time(partial_elements),
        from_stream.derive_stream_rows(partial_elements, anchors, groups),
        from_stream.derive_inquiry_rows(outline_inquiries),
        bodies.count(UnknownEvent),
        bodies.count(BrokenEvent),
    )
    return stream, "", False


def _find_last_time(partial_elements: list[PartialElement]) -> datetime | None:
    for partial_element in reversed(partial_elements):
        body = partial_element.element.body
        moment = (
            timestamps.parse_timestamp(body.timestamp)
            if isinstance(body, ConversationEvent)
            else None
        )
        if moment is not None:
            return moment
    return None
