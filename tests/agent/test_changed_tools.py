"""What people permitted or answered holds for the tool as it was then (issue 14, 1.1).

An answer also holds for its question alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, LocalSource, QuestionConfig, ToolCommand
from jpweb.agent.ports import Answer, Permitted, RunPrompt, Skipped
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.stream.answer_type import Boolean, Text
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)
from tests.agent.doubles import OutsideStub, ToolBench, make_asker, wait_forever, wait_until
from tests.agent.resuming.journals import NOTE, WAITS, event, make_turn
from tests.agent.resuming.test_parked_turns import PERSON, resume_to_notes, settle
from tests.builders import make_call

QUESTION = Question("confirm", "Overwrite?", Boolean())
CALL = make_call("c1", "tool")


class Shell:
    """A local tool that asks once and remembers the arguments of each run."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.tool = OutsideStub("tool", self.run)

    async def run(self, arguments: Any, answers: Any, _ask: Any) -> ToolOutcome:
        self.runs.append(dict(arguments))
        return Success("done") if "confirm" in answers else NeedsInput(QUESTION)


def changes(default: str, mode: ApprovalMode = ApprovalMode.ASK) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"target": {"type": "string", "default": default}}}
    return {"run": mode, "parameters": schema, "source": LocalSource("tool", ToolCommand("true"))}


async def make_parked_note(
    mode: ApprovalMode, definition: str, permitted: Any = None
) -> dict[str, Any]:
    """Return the note of the question at which a call waits that had the default "safe"."""
    shell = Shell()
    bench = ToolBench((shell.tool,), [wait_forever()], changes={"tool": changes("safe", mode)})
    inquirer = bench.coordinator._inquiry_runner
    bench.coordinator._definitions = {"tool": definition}
    bench.coordinator._inquiry_runner = replace(inquirer, definitions={"tool": definition})
    bench.prompter.decisions = [Permitted({"target": "safe"} if permitted is None else permitted)]
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    task.cancel()
    await asyncio.wait([task])
    (note,) = bench.recorder.notes(InquiryRequest)
    assert isinstance(note, dict)
    return note


def make_changed_turn(shell: Shell, definition: str, mode: ApprovalMode, *events: Any) -> Any:
    """Return the turn that goes on with the default "rm -rf"."""
    turn = make_turn(CALL, *events, tools=(shell.tool,), tool=changes("rm -rf", mode))
    turn.setup = replace(turn.setup, definitions={"tool": definition})
    return turn


@pytest.mark.parametrize("mode", [ApprovalMode.ASK, ApprovalMode.EDIT, ApprovalMode.UNATTENDED])
async def test_resumed_call_with_another_default_runs_its_old_arguments(mode):
    note = await make_parked_note(mode, "one")
    shell = Shell()
    turn = make_changed_turn(
        shell, "one", mode, event(WAITS, **note), settle(Answered(answer=True), **PERSON)
    )
    await resume_to_notes(turn)
    assert shell.runs == [{"target": "safe"}]
    assert turn.prompter.prompts == []


async def test_resumed_call_runs_what_a_person_had_edited():
    note = await make_parked_note(ApprovalMode.EDIT, "one", {"target": "mine"})
    shell = Shell()
    response = settle(Answered(answer=True), **PERSON)
    turn = make_changed_turn(shell, "one", ApprovalMode.EDIT, event(WAITS, **note), response)
    await resume_to_notes(turn)
    assert shell.runs == [{"target": "mine"}]


async def test_resumed_call_of_a_changed_tool_asks_for_everything_again():
    note = await make_parked_note(ApprovalMode.ASK, "one")
    shell = Shell()
    response = settle(Answered(answer=True), **PERSON)
    turn = make_changed_turn(shell, "two", ApprovalMode.ASK, event(WAITS, **note), response)
    turn.prompter.decisions = [Permitted({"target": "rm -rf"})]
    turn.prompter.replies[:] = [Answer(value=False)]
    await resume_to_notes(turn)
    (prompt,) = turn.prompter.prompts
    assert isinstance(prompt, RunPrompt)
    assert (prompt.arguments, prompt.definition) == ({"target": "rm -rf"}, "two")
    assert [question.inquiry_id for question in turn.prompter.questions] == ["c1.confirm.2"]
    assert shell.runs == [{"target": "rm -rf"}] * 2


async def test_changed_tool_that_a_person_skips_does_not_run():
    note = await make_parked_note(ApprovalMode.ASK, "one")
    shell = Shell()
    response = settle(Answered(answer=True), **PERSON)
    turn = make_changed_turn(shell, "two", ApprovalMode.ASK, event(WAITS, **note), response)
    turn.prompter.decisions = [Skipped()]
    await resume_to_notes(turn)
    assert shell.runs == []


async def test_question_that_waits_for_a_changed_tool_is_closed_and_asked_again():
    note = await make_parked_note(ApprovalMode.UNATTENDED, "one")
    shell = Shell()
    turn = make_changed_turn(shell, "two", ApprovalMode.UNATTENDED, event(WAITS, **note))
    turn.prompter.replies[:] = [Answer(value=True)]
    await resume_to_notes(turn)
    assert turn.prompter.withdrawn == [("c1.confirm.1", CancellationReason.LOST)]
    assert turn.recorder.outcomes == [
        Cancelled(CancellationReason.LOST),
        Answered(answer=True),
    ]


async def test_unattended_call_that_is_gated_now_needs_permission():
    note = await make_parked_note(ApprovalMode.UNATTENDED, "one")
    shell = Shell()
    response = settle(Answered(answer=True), **PERSON)
    turn = make_changed_turn(shell, "one", ApprovalMode.ASK, event(WAITS, **note), response)
    turn.prompter.decisions = [Skipped()]
    await resume_to_notes(turn)
    assert (shell.runs, len(turn.prompter.prompts)) == ([], 1)


@pytest.mark.parametrize(("definition", "prompts"), [("one", 0), ("two", 1)])
async def test_permission_for_the_turn_holds_for_the_tool_as_it_was(definition, prompts):
    shell = Shell()
    turn = make_changed_turn(shell, definition, ApprovalMode.ASK)
    turn.prompter.decisions = [Skipped()]
    turn.prompter.replies[:] = [Answer(value=True)]
    await resume_to_notes(turn, permissions={("tool", "one"): True})
    assert len(turn.prompter.prompts) == prompts
    assert bool(shell.runs) is (prompts == 0)


@pytest.mark.parametrize(("definition", "question_count"), [("one", 0), ("two", 1)])
async def test_answer_for_the_turn_holds_for_the_tool_as_it_was(definition, question_count):
    shell = Shell()
    note = NOTE | {"definition": "one", "tool_call_id": "c0"}
    earlier = [event(WAITS, **note), settle(Answered(answer=True), remember=True, **PERSON)]
    turn = make_changed_turn(shell, definition, ApprovalMode.UNATTENDED, *earlier)
    turn.prompter.replies[:] = [Answer(value=True)]
    await resume_to_notes(turn)
    assert len(turn.prompter.questions) == question_count
    assert turn.recorder.results[-1][1] == "done"


# answers hold for their question

DELETE_A = Question("confirm", "Delete a.txt?", Boolean(), exclusive=True)
DELETE_B = replace(DELETE_A, text="Delete b.txt?")
ASKED_A = replace(WAITS, question=DELETE_A.to_inquiry_question())


def make_in_call_tool(*questions: Question) -> OutsideStub:
    """Return a tool that asks these questions in the middle and says what it was told."""

    async def run(_arguments: Any, _answers: Any, ask: Any) -> ToolOutcome:
        return Success(str([(await ask(question)).value for question in questions]))

    return OutsideStub("tool", run)


@pytest.mark.parametrize(
    "question",
    [
        DELETE_B,
        replace(DELETE_A, answer_type=Text()),
        replace(DELETE_A, default=True),
        replace(DELETE_A, context="In /etc."),
    ],
    ids=["text", "type", "default", "context"],
)
async def test_answer_on_record_is_not_given_to_another_question_of_its_id(question):
    """A server that is called again asks what is left to ask, and its ids start anew."""
    still_open = replace(ASKED_A, id="c1.confirm_2.1", question=question.to_inquiry_question())
    turn = make_turn(
        *(CALL, event(ASKED_A, **NOTE), settle(Answered(answer=True), **PERSON)),
        event(still_open, **NOTE | {"question_id": "confirm_2"}),
        tools=(make_in_call_tool(question),),
        replies=[Answer("its own answer")],
    )
    await resume_to_notes(turn, has_crashed=True)
    assert [(p.inquiry_id, p.question) for p in turn.prompter.questions] == [
        ("c1.confirm.2", question)
    ]
    assert turn.recorder.results == [("c1", "['its own answer']", False)]


async def test_answer_on_record_is_not_given_to_the_question_of_another_source():
    request = replace(ASKED_A, source=InquirySource.for_tool("other"))
    turn = make_turn(
        *(CALL, event(request, **NOTE), settle(Answered(answer=True), **PERSON)),
        tools=(make_in_call_tool(DELETE_A),),
        replies=[Answer(value=False)],
    )
    await resume_to_notes(turn, has_crashed=True)
    assert turn.recorder.results == [("c1", "[False]", False)]


@pytest.mark.parametrize("tool", [make_in_call_tool(DELETE_B), make_asker(DELETE_B)])
async def test_decline_on_record_does_not_close_another_question_of_its_id(tool):
    decline = settle(Cancelled(CancellationReason.USER), **PERSON)
    turn = make_turn(
        CALL, event(ASKED_A, **NOTE), decline, tools=(tool,), replies=[Answer(value=True)]
    )
    await resume_to_notes(turn)
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.2"]


async def test_resumed_call_gets_answers_of_all_questions_of_one_id():
    """A form asks for an unreadable answer once more, and says why."""
    retry = replace(DELETE_A, context="Give yes or no.")
    second = replace(ASKED_A, id="c1.confirm.2", question=retry.to_inquiry_question())
    answers = [InquiryResponse(f"c1.confirm.{n}", Answered(value)) for n, value in ((1, 7), (2, 8))]
    turn = make_turn(
        *(CALL, event(ASKED_A, **NOTE), event(answers[0], **PERSON)),
        *(event(second, **NOTE | {"attempt": 2}), event(answers[1], **PERSON)),
        tools=(make_in_call_tool(DELETE_A, retry),),
    )
    await resume_to_notes(turn, has_crashed=True)
    assert turn.recorder.results == [("c1", "[7, 8]", False)]


async def test_resumed_call_uses_the_last_answer_and_asks_the_next_question():
    """A person may have restarted the call and decided differently."""
    second = replace(ASKED_A, id="c1.confirm.2")
    answers = [InquiryResponse(f"c1.confirm.{n}", Answered(n == 1)) for n in (1, 2)]
    turn = make_turn(
        *(CALL, event(ASKED_A, **NOTE), event(answers[0], **PERSON)),
        *(event(second, **NOTE | {"attempt": 2}), event(answers[1], **PERSON)),
        tools=(make_in_call_tool(DELETE_A, DELETE_A),),
        replies=[Answer("new")],
    )
    await resume_to_notes(turn, has_crashed=True)
    assert turn.recorder.results == [("c1", "[False, 'new']", False)]


@pytest.mark.parametrize("tool", [make_in_call_tool, make_asker], ids=["in call", "between runs"])
async def test_question_that_configuration_makes_exclusive_keeps_its_answer(tool):
    question = replace(DELETE_A, exclusive=False)
    turn = make_turn(
        *(CALL, event(ASKED_A, **NOTE), settle(Answered(answer=True), **PERSON)),
        tools=(tool(question),),
        tool={"questions": {"confirm": QuestionConfig(exclusive=True)}},
    )
    await resume_to_notes(turn, has_crashed=True)
    assert turn.prompter.questions == []
