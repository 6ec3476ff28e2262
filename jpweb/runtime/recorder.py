"""The journal as the agent's Recorder, and the sockets as its Display."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from jpweb.agent.errors import Settled
from jpweb.agent.outcome import Kept
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import journal, recording
from jpweb.store.errors import AlreadySettled
from jpweb.store.running import kept as rows
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

if TYPE_CHECKING:
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Run
    from jpweb.stream.events import ConversationEvent, Element

#: Seconds between two looks at text that is being received.
GLANCE = 0.1


@dataclass(frozen=True, slots=True)
class JournalRecorder:
    """Commits the events of one run, then says that there is something to read.

    Where the workspace is attached its files follow. ``words``: interruptions whose text the turn
    is told of. Raises NotHolder once another process executes the run.
    """

    run: Run
    workspace_id: int
    attachment: Attachment | None = None
    words: list[int] = field(default_factory=list)

    async def record(self, *events: ConversationEvent, last: bool = False) -> None:
        try:
            await in_store(recording.record, self.run, events, tuple(self.words), last=last)
        except AlreadySettled as first:
            raise Settled(str(first)) from first
        # Those who are asked before those who look on.
        if any(isinstance(event.kind, InquiryRequest | InquiryResponse) for event in events):
            await announce.questions(self.workspace_id)
            await asyncio.sleep(0)  # they are looked for before this call goes on
        await announce.conversation(self.run.conversation_id)
        if self.attachment is not None:
            await in_store(self.attachment.write)

    async def elements(self) -> tuple[Element, ...]:
        return await in_store(journal.elements, self.run.conversation_id)

    async def keep(self, tool_call_id: str, kept: Kept) -> None:
        values = {
            "content": kept.content,
            "is_error": kept.is_error,
            "edited": None if kept.edited is None else dict(kept.edited),
            "delivered": kept.delivered,
            "again": kept.again,
        }
        await in_store(rows.keep, self.run, tool_call_id, values)

    async def kept(self) -> Mapping[str, Kept]:
        held = await in_store(rows.of, self.run)
        return {
            call: Kept(row.content, row.is_error, row.edited, row.delivered, row.again)
            for call, row in held.items()
        }

    async def forget(self) -> None:
        await in_store(rows.forget, self.run)


@dataclass(slots=True)
class SocketDisplay:
    """Sends text that is being received to those who look, at most ten times a second."""

    conversation_id: int
    _last: float = 0.0

    async def partial(
        self, variant: Literal["message", "reasoning", "tool_call"], text: str
    ) -> None:
        now = time.monotonic()
        if text and now - self._last < GLANCE:
            return
        self._last = now
        await announce.partial(self.conversation_id, variant, text)
