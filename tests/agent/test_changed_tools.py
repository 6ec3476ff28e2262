"""What people permitted or answered holds for the tool as it was then (issue 14, 1.1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import Local, Mode, ToolCommand
from jpweb.agent.ports import Answer, Permitted, RunPrompt, Skipped
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryRequest
from tests.agent.doubles import Bench, OutsideStub, never, until
from tests.agent.test_rebuilding import NOTE, PERSON, WAITS, ended, event, resume, stage
from tests.builders import called

QUESTION = Question("confirm", "Overwrite?", Boolean())
CALL = called("c1", "tool")


class Shell:
    """A local tool that asks once and remembers the arguments of each run."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.tool = OutsideStub("tool", self.run)

    async def run(self, arguments: Any, answers: Any, _ask: Any) -> ToolOutcome:
        self.runs.append(dict(arguments))
        return Success("done") if "confirm" in answers else NeedsInput(QUESTION)


def changes(default: str, mode: Mode = Mode.ASK) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"target": {"type": "string", "default": default}}}
    return {"run": mode, "parameters": schema, "source": Local("tool", ToolCommand("true"))}


async def parked(mode: Mode, definition: str, permitted: Any = None) -> dict[str, Any]:
    """Return the note of the question at which a call waits that had the default "safe"."""
    shell = Shell()
    bench = Bench((shell.tool,), [never()], changes={"tool": changes("safe", mode)})
    inquirer = bench.coordinator._inquiry_runner
    bench.coordinator._definitions = {"tool": definition}
    bench.coordinator._inquiry_runner = replace(inquirer, definitions={"tool": definition})
    bench.prompter.decisions = [Permitted({"target": "safe"} if permitted is None else permitted)]
    running = asyncio.create_task(bench.run([CALL]))
    await until(lambda: bench.prompter.asked)
    running.cancel()
    await asyncio.wait([running])
    (note,) = bench.recorder.notes(InquiryRequest)
    assert isinstance(note, dict)
    return note


def rebuilt(shell: Shell, definition: str, mode: Mode, *events: Any) -> Any:
    """Return the turn that goes on with the default "rm -rf"."""
    made = stage(CALL, *events, tools=(shell.tool,), tool=changes("rm -rf", mode))
    made.setup = replace(made.setup, definitions={"tool": definition})
    return made


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.EDIT, Mode.UNATTENDED])
async def test_resumed_call_with_another_default_runs_its_old_arguments(mode):
    note = await parked(mode, "one")
    shell = Shell()
    made = rebuilt(shell, "one", mode, event(WAITS, **note), ended(Answered(answer=True), **PERSON))
    await resume(made)
    assert shell.runs == [{"target": "safe"}]
    assert made.prompter.prompts == []


async def test_resumed_call_runs_what_a_person_had_edited():
    note = await parked(Mode.EDIT, "one", {"target": "mine"})
    shell = Shell()
    done = ended(Answered(answer=True), **PERSON)
    made = rebuilt(shell, "one", Mode.EDIT, event(WAITS, **note), done)
    await resume(made)
    assert shell.runs == [{"target": "mine"}]


async def test_resumed_call_of_a_changed_tool_asks_for_everything_again():
    note = await parked(Mode.ASK, "one")
    shell = Shell()
    done = ended(Answered(answer=True), **PERSON)
    made = rebuilt(shell, "two", Mode.ASK, event(WAITS, **note), done)
    made.prompter.decisions = [Permitted({"target": "rm -rf"})]
    made.prompter.replies[:] = [Answer(value=False)]
    await resume(made)
    (prompt,) = made.prompter.prompts
    assert isinstance(prompt, RunPrompt)
    assert (prompt.arguments, prompt.definition) == ({"target": "rm -rf"}, "two")
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.confirm.2"]
    assert shell.runs == [{"target": "rm -rf"}] * 2


async def test_changed_tool_that_a_person_skips_does_not_run():
    note = await parked(Mode.ASK, "one")
    shell = Shell()
    done = ended(Answered(answer=True), **PERSON)
    made = rebuilt(shell, "two", Mode.ASK, event(WAITS, **note), done)
    made.prompter.decisions = [Skipped()]
    await resume(made)
    assert shell.runs == []


async def test_question_that_waits_for_a_changed_tool_is_closed_and_asked_again():
    note = await parked(Mode.UNATTENDED, "one")
    shell = Shell()
    made = rebuilt(shell, "two", Mode.UNATTENDED, event(WAITS, **note))
    made.prompter.replies[:] = [Answer(value=True)]
    await resume(made)
    assert made.prompter.withdrawn == [("c1.confirm.1", CancellationReason.LOST)]
    assert made.recorder.outcomes == [
        Cancelled(CancellationReason.LOST),
        Answered(answer=True),
    ]


async def test_unattended_call_that_is_gated_now_needs_permission():
    note = await parked(Mode.UNATTENDED, "one")
    shell = Shell()
    done = ended(Answered(answer=True), **PERSON)
    made = rebuilt(shell, "one", Mode.ASK, event(WAITS, **note), done)
    made.prompter.decisions = [Skipped()]
    await resume(made)
    assert (shell.runs, len(made.prompter.prompts)) == ([], 1)


@pytest.mark.parametrize(("definition", "prompts"), [("one", 0), ("two", 1)])
async def test_permission_for_the_turn_holds_for_the_tool_as_it_was(definition, prompts):
    shell = Shell()
    made = rebuilt(shell, definition, Mode.ASK)
    made.prompter.decisions = [Skipped()]
    made.prompter.replies[:] = [Answer(value=True)]
    await resume(made, permissions={("tool", "one"): True})
    assert len(made.prompter.prompts) == prompts
    assert bool(shell.runs) is (prompts == 0)


@pytest.mark.parametrize(("definition", "asked"), [("one", 0), ("two", 1)])
async def test_answer_for_the_turn_holds_for_the_tool_as_it_was(definition, asked):
    shell = Shell()
    note = NOTE | {"definition": "one", "tool_call_id": "c0"}
    earlier = [event(WAITS, **note), ended(Answered(answer=True), remember=True, **PERSON)]
    made = rebuilt(shell, definition, Mode.UNATTENDED, *earlier)
    made.prompter.replies[:] = [Answer(value=True)]
    await resume(made)
    assert len(made.prompter.asked) == asked
    assert made.recorder.results[-1][1] == "done"
