"""The desk as the agent's Prompter: the browser is the terminal."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jpweb.agent.ports import (
    Answer,
    Declined,
    Delivered,
    DeliverPrompt,
    Permitted,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.agent.resting import Resting
from jpweb.runtime import desk, presence, prompts
from jpweb.runtime.crossing import in_store
from jpweb.store import inquiries
from jpweb.store import prompts as rows
from jpweb.store.errors import AlreadyDecided, AlreadySettled, UnknownPrompt
from jpweb.store.inquiries import Ended
from jpweb.store.terms import PromptKind
from jpweb.stream.inquiry import CancellationReason, Cancelled, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jpweb.agent.ports import Asked
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Inquiry, Prompt, Run


#: What colours a terminal; the page shows the words.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


@dataclass(slots=True)
class Waits:
    """The rows that the calls of a run wait for: of questions, and of prompts."""

    questions: set[int] = field(default_factory=set)
    decisions: set[int] = field(default_factory=set)

    @contextmanager
    def question(self, key: int) -> Iterator[None]:
        """Wait for a question as long as the block lasts."""
        self.questions.add(key)
        try:
            yield
        finally:
            self.questions.discard(key)

    @contextmanager
    def decision(self, key: int) -> Iterator[None]:
        """Wait for a prompt's decision as long as the block lasts."""
        self.decisions.add(key)
        try:
            yield
        finally:
            self.decisions.discard(key)


@dataclass(frozen=True, slots=True)
class BrowserPrompter:
    """Puts the questions of one conversation on the desk.

    ``withdrawn_by`` names who or what ends the questions of a run that is stopped. ``run`` is that
    run as this process holds it. Raises NotHolder once another does.
    """

    conversation_id: int
    workspace_id: int
    withdrawn_by: Callable[[], Decider]
    waits: Waits = field(default_factory=Waits)
    resting: Resting = field(default_factory=Resting)
    run: Run | None = None

    async def reachable(self) -> bool:
        """Tell whether somebody who may answer has a page open."""
        return await presence.reachable(self.workspace_id)

    async def ask(self, asked: Asked) -> Answer | Declined:
        with self.resting.holding():  # put down now, an answer to it would bring nothing back
            row = await self._row(asked)
        with self.waits.question(row.pk):
            if asked.question.answer_type.KEEP:
                return _reply(await desk.ended(row))
            given = await desk.wait_for_secret(row, self.resting.holding)
            return Answer(given) if isinstance(given, str) else _reply(Ended(given, False))

    async def withdraw(self, asked: Asked, reason: CancellationReason) -> None:
        row = await self._row(asked)
        try:
            await desk.settle(row, Cancelled(reason), self.withdrawn_by(), self.run, withdrawn=True)
        except AlreadySettled:
            return  # it ended a moment earlier, and that stands

    async def permit(self, prompt: RunPrompt) -> Permitted | Skipped:
        shown = {
            "described": prompt.described,
            "arguments": dict(prompt.arguments),
            "edit": prompt.edit,
            "text": None if prompt.shown is None else _ESCAPES.sub("", prompt.shown),
            "definition": prompt.definition,
        }
        row = await self._prompt(PromptKind.RUN, prompt, shown)
        return Skipped() if row is None else _permission(await self._decided(row), prompt)

    async def deliver(self, prompt: DeliverPrompt) -> Delivered | Withheld:
        shown = {"content": prompt.content, "is_error": prompt.is_error, "edit": prompt.edit}
        row = await self._prompt(PromptKind.DELIVER, prompt, shown)
        return Withheld() if row is None else _delivery(await self._decided(row))

    async def put_away(self, prompt: RunPrompt | DeliverPrompt) -> None:
        kind = PromptKind.RUN if isinstance(prompt, RunPrompt) else PromptKind.DELIVER
        row = await in_store(rows.of_call, self.conversation_id, kind, prompt.tool_call_id)
        if row is None:
            return
        try:
            row = await in_store(rows.withdraw, row.pk)
        except AlreadyDecided:
            return  # it was decided a moment earlier, and that stands
        await prompts.tell(row)

    async def _decided(self, row: Prompt) -> Prompt:
        with self.waits.decision(row.pk):
            settled = await prompts.wait(row)
            await in_store(rows.spend, row.pk)
        return settled

    async def _prompt(
        self, kind: PromptKind, prompt: RunPrompt | DeliverPrompt, shown: dict[str, Any]
    ) -> Prompt | None:
        """Put a prompt before people; None where its run is over."""
        asking = (self.conversation_id, kind, prompt.tool_call_id, prompt.tool_name, shown)
        try:
            with self.resting.holding():  # put down now, nobody would see it
                row = await in_store(rows.ask, *asking, held=self.run)
        except UnknownPrompt:
            return None
        await prompts.tell(row)
        return row

    async def _row(self, asked: Asked) -> Inquiry:
        return await in_store(inquiries.by_stream_id, self.conversation_id, asked.inquiry_id)


def _reply(ended: Ended) -> Answer | Declined:
    row = ended.row
    if row.state == "answered":
        return Answer(row.answer, ended.remembered)
    why = reason(row.reason)
    known = why if isinstance(why, CancellationReason) else CancellationReason.USER
    return Declined(known, row.note)


def _permission(row: Prompt, prompt: RunPrompt) -> Permitted | Skipped:
    """Read a settled row; what was withdrawn may not run."""
    decision = row.decision or {}
    remember = decision.get("remember") is True
    if decision.get("allow") is True:
        return Permitted(decision.get("arguments", prompt.arguments), remember)
    return Skipped(decision.get("reason", ""), remember)


def _delivery(row: Prompt) -> Delivered | Withheld:
    decision = row.decision or {}
    return Delivered(decision.get("content")) if decision.get("allow") is True else Withheld()
