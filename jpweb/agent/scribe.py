"""Writes events of now to the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jpweb.agent.ports import Recorder
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, EventKind


def now() -> datetime:
    """Return the time of day, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Scribe:
    """The recorder and the clock: together they make events of what happens."""

    recorder: Recorder
    clock: Callable[[], datetime] = now

    async def record(
        self,
        *kinds: EventKind,
        note: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        last: bool = False,
    ) -> None:
        """Commit events of now, all or none; ``last``: and that the turn is complete.

        ``note`` is what jpweb says beside each of them, ``metadata`` what a provider does.
        """
        beside = dict(metadata or {}) | ({} if note is None else {"jpweb": dict(note)})
        await self.record_each(((kind, beside) for kind in kinds), last=last)

    async def record_each(
        self, kinds: Iterable[tuple[EventKind, Mapping[str, Any]]], *, last: bool = False
    ) -> None:
        """Commit events of now, each with its metadata, all or none."""
        stamp = timestamps.written(self.clock())
        events = [ConversationEvent(stamp, kind, dict(beside)) for kind, beside in kinds]
        await self.recorder.record(*events, last=last)
