"""The journal as the agent's Recorder, and the sockets as its Display."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import journal
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

    Where the workspace is attached its files follow.
    """

    run: Run
    workspace_id: int
    attachment: Attachment | None = None

    async def record(self, *events: ConversationEvent) -> None:
        await in_store(journal.append, self.run.conversation_id, events, self.run)
        await announce.conversation(self.run.conversation_id)
        if any(isinstance(event.kind, InquiryRequest | InquiryResponse) for event in events):
            await announce.questions(self.workspace_id)
        if self.attachment is not None:
            await in_store(self.attachment.write)

    async def elements(self) -> tuple[Element, ...]:
        return await in_store(journal.elements, self.run.conversation_id)


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
