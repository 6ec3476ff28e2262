"""A conversation's files as what goes into rows: all of a mirror's work that needs no database.

It knows no Django, so that a process that does nothing else is there at once.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from jpweb.store import plain
from jpweb.store.disk import directory, workspace
from jpweb.store.disk.workspace import FoundConversation, Metadata
from jpweb.store.rows import derived
from jpweb.stream import identity, timestamps, wire
from jpweb.stream.errors import NotAStream
from jpweb.stream.events import BrokenEvent, ConversationEvent, UnknownEvent
from jpweb.stream.outline import asked
from jpweb.stream.wire.glances import Glance, glance

#: Elements of one file.
MAX_ELEMENTS = 250_000
_NUL = b"\0"


class Stream(msgspec.Struct, array_like=True, frozen=True):
    """What stands in a stream's file; ``last`` is the time of the last element that has one."""

    framing: str
    last: datetime | None
    laid: derived.Laid
    inquiries: list[derived.Asked]
    unknown: int
    broken: int


class Reading(msgspec.Struct, array_like=True, frozen=True):
    """What was read of a conversation; no stream where its file cannot be read.

    ``problem`` says in one line what could not be. Every text is one that databases take.
    """

    about: Metadata
    problem: str
    stream: Stream | None


def read(found: FoundConversation) -> Reading:
    """Read a conversation's files. What is wrong with them is in the reading, not raised."""
    about = workspace.metadata(found)
    about = replace(about, title=plain.text(about.title)[:500], labels=plain.deep(about.labels))
    stream, problem = _stream(found)
    return Reading(about, plain.text(problem or about.problem), stream)


def _stream(found: FoundConversation) -> tuple[Stream | None, str]:
    """Return the stream, or None and the reason."""
    name = workspace.stream_file(found.folder).name
    try:
        data = directory.read(found.folder / name, directory.MAX_STREAM_BYTES)
        if _NUL in data:  # JP reads none, and PostgreSQL keeps none
            return None, f"{name} cannot be read: it holds a NUL at byte {data.index(_NUL)}"
        if wire.has_more(data, MAX_ELEMENTS):
            return None, f"{name} has more than {MAX_ELEMENTS:,} elements. It was not read"
        texts, framing = wire.split_framed(data)
    except OSError as error:
        return None, f"{name}: {error.strerror}"
    except NotAStream as error:
        return None, f"{name} cannot be read: {error}"
    except MemoryError:
        return None, f"{name} cannot be read: there is not enough memory"
    glances = [glance(text) for text in texts]
    anchors = identity.numbers(seen.own for seen in glances)
    shown = asked(glances, anchors)
    bodies = [type(seen.made.body) for seen in glances if seen.made is not None]
    return Stream(
        framing,
        _last(glances),
        derived.laid(glances, anchors),
        derived.inquiries(shown),
        bodies.count(UnknownEvent),
        bodies.count(BrokenEvent),
    ), ""


def _last(glances: list[Glance]) -> datetime | None:
    for seen in reversed(glances):
        body = seen.element.body
        moment = timestamps.parse(body.timestamp) if isinstance(body, ConversationEvent) else None
        if moment is not None:
            return moment
    return None
