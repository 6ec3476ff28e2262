"""A run that this process executes, as long as it does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.resting import Resting
from jpweb.agent.stopping import Interrupts, Respond, Restart, Stop
from jpweb.runtime.prompter import Waits
from jpweb.store.inquiries import Decider
from jpweb.store.terms import InterruptKind

if TYPE_CHECKING:
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Conversation, Interruption, Run


@dataclass(slots=True)
class Active:
    """A run in this process's hands.

    ``stopped_by``: who interrupted it last. ``over``: its turn has ended. ``gone``: it is nobody's,
    or somebody else's, by now, so that nothing of it may be written here any more. ``words``: the
    interruptions whose text the turn has yet to act on.
    """

    run: Run
    conversation: Conversation
    attachment: Attachment | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    resting: Resting = field(default_factory=Resting)
    waits: Waits = field(default_factory=Waits)
    stopped_by: Decider = field(default_factory=lambda: Decider("system"))
    task: asyncio.Task[None] | None = None
    over: bool = False
    gone: bool = False
    words: list[int] = field(default_factory=list)
    _told: set[int] = field(default_factory=set)

    def tell(self, said: Interruption) -> bool:
        """Interrupt the turn, once for each interruption; tells whether it is news to it."""
        if said.pk in self._told or self.over:
            return False
        self._told.add(said.pk)
        self.stopped_by = Decider("person", said.person_name, said.person_id)
        match said.kind:
            case InterruptKind.RESTART:
                self.interrupts.say(Restart())
            case InterruptKind.RESPOND:
                self.words.append(said.pk)
                self.interrupts.say(Respond(said.text, said.person_name or None))
            case _:
                self.interrupts.say(Stop())
        return True

    def give_up(self) -> None:
        """Stop executing it, and write nothing more: it is not this process's."""
        self.gone = True
        if self.task is not None:
            self.task.cancel()
