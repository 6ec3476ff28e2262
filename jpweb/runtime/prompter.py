"""The desk as the agent's Prompter: the browser is the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jpweb.agent.ports import Answer, Declined
from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.store import inquiries
from jpweb.store.errors import AlreadySettled
from jpweb.stream.inquiry import CancellationReason, Cancelled, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from jpweb.agent.ports import Asked
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Inquiry


@dataclass(frozen=True, slots=True)
class BrowserPrompter:
    """Puts the questions of one conversation on the desk.

    ``withdrawn_by`` names who or what ends the questions of a run that is stopped.
    """

    conversation_id: int
    withdrawn_by: Callable[[], Decider]

    async def reachable(self) -> bool:
        """Say yes: a run that a person started in the browser waits (policy ``wait``)."""
        return True

    async def ask(self, asked: Asked) -> Answer | Declined:
        row = await self._row(asked)
        if asked.question.answer_type.KEEP:
            return _reply(await desk.wait(row))
        given = await desk.wait_for_secret(row)
        return Answer(given) if isinstance(given, str) else _reply(given)

    async def withdraw(self, asked: Asked, reason: CancellationReason) -> None:
        row = await self._row(asked)
        try:
            await desk.settle(row, Cancelled(reason), self.withdrawn_by())
        except AlreadySettled:
            return  # it ended a moment earlier, and that stands

    async def _row(self, asked: Asked) -> Inquiry:
        return await in_store(inquiries.by_stream_id, self.conversation_id, asked.inquiry_id)


def _reply(row: Inquiry) -> Answer | Declined:
    if row.state == "answered":
        return Answer(row.answer)
    why = reason(row.reason)
    return Declined(why if isinstance(why, CancellationReason) else CancellationReason.USER)
