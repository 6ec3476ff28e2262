"""State of a run that this process executes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.interrupts import Interrupts, Respond, Restart, Stop
from jpweb.runtime.inquiries.prompter import AwaitedRows
from jpweb.store.choices import InterruptKind
from jpweb.store.inquiries import Decider

if TYPE_CHECKING:
    from jpweb.store.jp_files.attachments import Attachment
    from jpweb.store.models import Conversation, Run, RunInterrupt


@dataclass(slots=True)
class ActiveRun:
    """A run that this process executes.

    ``attachment``: the conversation's files of JP, locked; None where jpweb writes none.
    ``stops``: the stops among the ``interrupts``, for work that nothing else may cut off.
    ``interrupted_by``: the author of the last interrupt, of the first stop once there is one.
    ``is_over``: the turn has ended.
    ``is_abandoned``: the lease is lost, so this process may write nothing more of the run.
    """

    run: Run
    conversation: Conversation
    attachment: Attachment | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    stops: Interrupts = field(default_factory=Interrupts)
    idle_tracker: IdleTracker = field(default_factory=IdleTracker)
    awaited_rows: AwaitedRows = field(default_factory=AwaitedRows)
    interrupted_by: Decider = field(default_factory=lambda: Decider("system"))
    task: asyncio.Task[None] | None = None
    is_over: bool = False
    is_abandoned: bool = False
    _delivered_ids: set[int] = field(default_factory=set)

    def deliver_interrupt(self, interrupt: RunInterrupt) -> None:
        """Interrupt the turn, once for each interrupt, unless it is over or abandoned."""
        if interrupt.pk in self._delivered_ids or self.is_over or self.is_abandoned:
            return
        self._delivered_ids.add(interrupt.pk)
        if not self.stops.is_set():
            self.interrupted_by = Decider("person", interrupt.person_name, interrupt.person_id)
        match interrupt.kind:
            case InterruptKind.RESTART:
                self.interrupts.interrupt(Restart((interrupt.pk,)))
            case InterruptKind.RESPOND:
                author = interrupt.person_name or None
                self.interrupts.interrupt(Respond(interrupt.text, author, (interrupt.pk,)))
            case _:
                self.interrupts.interrupt(Stop())
                self.stops.interrupt(Stop())

    def get_reply(self) -> str:
        """Return the text that a person sent the model in place of the running work, or ""."""
        pending_interrupt = self.interrupts.pending
        return pending_interrupt.text if isinstance(pending_interrupt, Respond) else ""

    def abandon_run(self) -> None:
        """Cancel the execution without another write: the lease is lost."""
        self.is_abandoned = True
        if self.task is not None:
            self.task.cancel()
