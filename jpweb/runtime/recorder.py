"""The journal as the agent's Recorder port, and live text of pages as its Display port."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.errors import SettlementConflict
from jpweb.agent.tool_outcome import CallBoundaries, CallProgress
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import journal, run_events
from jpweb.store.errors import AlreadySettled
from jpweb.store.run_queue import call_checkpoints
from jpweb.store.run_queue.token_usage import UsageReport
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

if TYPE_CHECKING:
    from jpweb.agent.ports import PartialVariant, TokenUsage
    from jpweb.store.jp_files.attachments import Attachment
    from jpweb.store.models import Inquiry, Run
    from jpweb.stream.events import ConversationEvent, Element

#: Seconds between two published partial texts (throttling).
DISPLAY_INTERVAL_SECONDS = 0.1

_display_tasks = BackgroundTasks()


@dataclass(frozen=True, slots=True)
class JournalRecorder:
    """Commits the events of one run and publishes the change.

    With an attachment it writes JP's files after each commit. ``opened_rows``: rows of recorded
    questions, by inquiry id, for the prompter. Raises LeaseLost once another process executes the
    run.
    """

    run: Run
    workspace_id: int
    display: SocketDisplay
    attachment: Attachment | None = None
    opened_rows: dict[str, Inquiry] = field(default_factory=dict)

    async def record(
        self,
        *events: ConversationEvent,
        is_last: bool = False,
        usage: TokenUsage | None = None,
        interrupt_ids: Sequence[int] = (),
    ) -> None:
        # A text published after its event would be on pages twice.
        await self.display.drop_pending()
        try:
            append_result = await run_in_db_thread(
                run_events.record_events,
                self.run,
                events,
                tuple(interrupt_ids),
                is_last=is_last,
                usage=None if usage is None else UsageReport(*astuple(usage)),
            )
        except AlreadySettled as error:
            raise SettlementConflict(str(error)) from error
        self.display.entry_count = append_result.entry_count
        self.opened_rows.update((row.inquiry_id, row) for row in append_result.opened_rows)
        for event in events:
            if isinstance(event.kind, InquiryResponse):  # settled without a person
                self.opened_rows.pop(event.kind.id, None)
        # Members who may answer get the signal before readers of the conversation.
        if any(isinstance(event.kind, InquiryRequest | InquiryResponse) for event in events):
            await publisher.publish_questions_changed(self.workspace_id)
            await asyncio.sleep(0)  # lets their batch begin first
        await publisher.publish_conversation_changed(self.run.conversation_id)
        if self.attachment is not None:
            await run_in_db_thread(self.attachment.write_files)

    async def load_elements(self) -> tuple[Element, ...]:
        elements = await run_in_db_thread(journal.read_elements, self.run.conversation_id)
        self.display.entry_count = len(elements)
        return elements

    async def save_progress(self, tool_call_id: str, progress: CallProgress) -> None:
        values = {
            "content": progress.content,
            "is_error": progress.is_error,
            "edited": None if progress.edited is None else dict(progress.edited),
            "delivered": progress.is_final,
            "was_cut_off": progress.was_cut_off,
            "policies": {name: dict(note) for name, note in progress.policies.items()} or None,
        }
        await run_in_db_thread(call_checkpoints.save_checkpoint, self.run, tool_call_id, values)

    async def load_progress(self) -> Mapping[str, CallProgress]:
        saved_rows = await run_in_db_thread(call_checkpoints.get_checkpoints, self.run)
        return {
            call_id: CallProgress(
                row.content,
                row.is_error,
                row.edited,
                row.delivered,
                row.was_cut_off,
                row.policies or {},
            )
            for call_id, row in saved_rows.items()
        }

    async def restart_calls(self, interrupt_ids: Sequence[int]) -> None:
        self.run.restart_position = await run_in_db_thread(
            run_events.restart_calls, self.run, tuple(interrupt_ids)
        )

    async def load_boundaries(self) -> CallBoundaries:
        return CallBoundaries(self.run.restart_position, self.run.takeover_position)


@dataclass(slots=True)
class SocketDisplay:
    """Publishes partial text of a reply, at most ten times a second.

    A text that comes sooner is published after the interval, because the model may pause after it.
    A newer text, or ``drop_pending``, takes its place. ``entry_count`` is the length of the journal
    that the text follows, None until it is known: pages that have more entries have the text.
    """

    conversation_id: int
    entry_count: int | None = None
    _last_sent_at: float = 0.0
    _pending_text: tuple[PartialVariant, str] | None = None
    _is_scheduled: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def show_partial(self, variant: PartialVariant, text: str) -> None:
        self._pending_text = (variant, text)
        delay = self._last_sent_at + DISPLAY_INTERVAL_SECONDS - time.monotonic()
        if not text or variant == "retry" or delay <= 0:
            await self._publish_pending()
        elif not self._is_scheduled:
            self._is_scheduled = True
            _display_tasks.spawn_task(self._publish_after(delay))

    async def drop_pending(self) -> None:
        """Drop the text that is not published yet, and wait until none is being published."""
        self._pending_text = None
        async with self._lock:
            pass

    async def _publish_after(self, delay: float) -> None:
        await asyncio.sleep(delay)
        self._is_scheduled = False
        await self._publish_pending()

    async def _publish_pending(self) -> None:
        """Publish the newest text, unless it was dropped; one at a time, in their order."""
        async with self._lock:
            if self._pending_text is None:
                return
            (variant, text), self._pending_text = self._pending_text, None
            self._last_sent_at = time.monotonic()
            await publisher.publish_partial_text(
                self.conversation_id, variant, text, self.entry_count
            )
