"""Writes events with the present time to the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jpweb.agent.ports import Recorder, TokenUsage
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, EventKind


def get_utc_now() -> datetime:
    """Return the present time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class EventWriter:
    """The recorder and the clock of a turn; events get the clock's time."""

    recorder: Recorder
    clock: Callable[[], datetime] = get_utc_now

    async def write_events(
        self,
        *kinds: EventKind,
        note: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        is_last: bool = False,
        interrupt_ids: Sequence[int] = (),
    ) -> None:
        """Commit events with the present time, all or none; ``is_last``: the turn is complete.

        ``note`` is jpweb's note in the metadata of each event, ``metadata`` the provider's.
        ``interrupt_ids`` are the interrupts that are handled with the commit.
        """
        event_metadata = dict(metadata or {}) | ({} if note is None else {"jpweb": dict(note)})
        await self.write_each(
            ((kind, event_metadata) for kind in kinds),
            is_last=is_last,
            interrupt_ids=interrupt_ids,
        )

    async def write_each(
        self,
        kinds: Iterable[tuple[EventKind, Mapping[str, Any]]],
        *,
        is_last: bool = False,
        usage: TokenUsage | None = None,
        interrupt_ids: Sequence[int] = (),
    ) -> None:
        """Commit events with the present time, each with its metadata, all or none."""
        stamp = timestamps.format_timestamp(self.clock())
        events = [ConversationEvent(stamp, kind, dict(metadata)) for kind, metadata in kinds]
        await self.recorder.record(
            *events, is_last=is_last, usage=usage, interrupt_ids=interrupt_ids
        )
