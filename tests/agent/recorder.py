"""The journal of a turn, made of lists."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from jpweb.agent.ports import TokenUsage
from jpweb.agent.tool_outcome import CallBoundaries, CallProgress
from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent, Element, EventKind, ToolCallResponse
from jpweb.stream.inquiry import InquiryOutcome, InquiryResponse

K = TypeVar("K")


@dataclass
class ListRecorder:
    """Keeps events in a list; ``record`` gives others a turn before it commits."""

    events: list[ConversationEvent] = field(default_factory=list)
    complete: bool = False
    usages: list[tuple[int, TokenUsage]] = field(default_factory=list)
    progress: dict[str, CallProgress] = field(default_factory=dict)
    boundaries: CallBoundaries = field(default_factory=CallBoundaries)
    saved_progress: list[tuple[str, CallProgress]] = field(default_factory=list)
    handled_interrupts: list[tuple[int, type[EventKind] | None]] = field(default_factory=list)

    async def record(
        self,
        *events: ConversationEvent,
        is_last: bool = False,
        usage: TokenUsage | None = None,
        interrupt_ids: Sequence[int] = (),
    ) -> None:
        await asyncio.sleep(0)
        self.events.extend(events)
        kind = type(events[0].kind) if events else None
        self.handled_interrupts.extend((key, kind) for key in interrupt_ids)
        self.complete = is_last
        if usage is not None:
            self.usages.append((len(events), usage))
        for event in events:
            if isinstance(event.kind, ToolCallResponse):
                self.progress.pop(event.kind.id, None)

    async def save_progress(self, tool_call_id: str, progress: CallProgress) -> None:
        await asyncio.sleep(0)
        self.saved_progress.append((tool_call_id, progress))
        self.progress[tool_call_id] = progress

    async def load_progress(self) -> Mapping[str, CallProgress]:
        return dict(self.progress)

    async def restart_calls(self, interrupt_ids: Sequence[int] = ()) -> None:
        self.handled_interrupts.extend((key, None) for key in interrupt_ids)
        self.progress.clear()
        self.boundaries = replace(self.boundaries, restart=len(self.events))

    def take_over_calls(self) -> None:
        """Save the boundary, as the store does where another process acquires the run."""
        self.boundaries = replace(self.boundaries, takeover=len(self.events))

    async def load_boundaries(self) -> CallBoundaries:
        return self.boundaries

    async def load_elements(self) -> tuple[Element, ...]:
        return tuple(wire.read_element(wire.write_element(event).raw) for event in self.events)

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]

    def of(self, kind: type[K]) -> list[K]:
        return [event.kind for event in self.events if isinstance(event.kind, kind)]

    def raw(self) -> str:
        return "\n".join(wire.write_element(event).raw for event in self.events)

    def notes(self, kind: type[EventKind]) -> list[Any]:
        return [e.metadata.get("jpweb") for e in self.events if isinstance(e.kind, kind)]

    @property
    def outcomes(self) -> list[InquiryOutcome]:
        return [response.outcome for response in self.of(InquiryResponse)]

    @property
    def results(self) -> list[tuple[str, str, bool]]:
        return [(r.id, r.content, r.is_error) for r in self.of(ToolCallResponse)]
