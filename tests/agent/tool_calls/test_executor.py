from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import QuestionConfig, ToolConfig
from jpweb.agent.ports import Answer
from jpweb.agent.redaction import REDACTED_TEXT, SecretAnswer
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.executor import MAX_RUNNING_CALLS, SourcedQuestion, ToolExecutor
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.turn_setup import TurnSetup, make_default_config
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.inquiry import InquirySource, SourceTag
from tests.agent.doubles import CONFIRM, OutsideStub, StubTool, make_asker, wait_forever

ASSISTANT = InquirySource(SourceTag.ASSISTANT)


def executor(*tools) -> Any:
    """Return an executor of these built-ins whose tools have nothing to ask in the middle."""
    return _Quiet(TurnSetup(tools=tuple(make_default_config(t) for t in tools), builtins=tools))


class _Quiet(ToolExecutor):
    async def execute(self, name, arguments, answers, ask=wait_forever) -> Any:
        return await super().execute(name, arguments, answers, ask)


async def test_a_tool_gets_its_arguments_and_answers():
    tool = StubTool("echo", lambda arguments, answers: Success(f"{arguments} {answers}"))
    result = await executor(tool).execute("echo", {"a": 1}, {"q": True})
    assert result == Success("{'a': 1} {'q': True}")


async def test_a_failure_is_handed_on():
    tool = StubTool("broken", lambda *_: Failed("No disk."))
    assert await executor(tool).execute("broken", {}, {}) == Failed("No disk.")


async def test_question_source_is_the_tool_unless_the_tool_names_another():
    own_tool, assistants = make_asker(CONFIRM, name="own"), make_asker(CONFIRM, name="other")
    assistants.source = ASSISTANT
    tool_executor = executor(own_tool, assistants)
    assert await tool_executor.execute("own", {}, {}) == SourcedQuestion(
        CONFIRM, InquirySource.for_tool("own")
    )
    assert await tool_executor.execute("other", {}, {}) == SourcedQuestion(CONFIRM, ASSISTANT)


async def test_question_label_does_not_change_its_source():
    tool = make_asker(CONFIRM, config=QuestionConfig(prompt_label="Assistant"))
    assert await executor(tool).execute("tool", {}, {}) == SourcedQuestion(
        CONFIRM, InquirySource.for_tool("tool")
    )


async def test_an_unknown_tool_fails():
    assert await executor().execute("gone", {}, {}) == Failed(
        model_messages.describe_unknown_tool("gone")
    )


async def test_a_tool_that_is_not_offered_fails_and_does_not_run():
    tool = make_asker(CONFIRM)
    other_config = make_default_config(make_asker(CONFIRM, name="another"))
    result = await _Quiet(TurnSetup(tools=(other_config,), builtins=(tool,))).execute(
        "tool", {}, {}
    )
    assert result == Failed(model_messages.describe_unknown_tool("tool"))
    assert tool.runs == []


@pytest.mark.parametrize("question_id", ["", ".", "a.b", "a.", "a\0b"])
async def test_question_id_that_is_empty_or_has_a_dot_or_nul_is_a_failure(question_id):
    tool = StubTool("tool", lambda *_: NeedsInput(Question(question_id, "?", Boolean())))
    result = await executor(tool).execute("tool", {}, {})
    assert result == Failed(model_messages.describe_bad_id("tool"))


async def test_executor_propagates_exceptions_of_tools():
    def fail(arguments, answers) -> Any:
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        await executor(StubTool("tool", fail)).execute("tool", {}, {})


def test_default_config_comes_from_the_tool():
    tool = make_asker(CONFIRM, config=QuestionConfig(prompt_label="Who"))
    assert make_default_config(tool) == ToolConfig(
        "tool", "A tool of the tests.", {}, {"confirm": QuestionConfig(prompt_label="Who")}
    )


def test_question_without_configuration_has_the_default():
    assert make_default_config(make_asker(CONFIRM)).get_question("confirm") == QuestionConfig()


def make_outside_tool(name, run) -> Any:
    async def run_async(arguments, answers, ask) -> Any:
        return run(arguments, answers)

    return OutsideStub(name, run_async)


def make_executor(builtins, tools, **options) -> Any:
    all_tools = (*builtins, *tools)
    return _Quiet(
        TurnSetup(
            tools=tuple(make_default_config(tool) for tool in all_tools),
            builtins=builtins,
            outside={tool.NAME: tool for tool in tools},
            **options,
        )
    )


async def test_a_tool_from_outside_gets_its_arguments_and_answers():
    tool = make_outside_tool("echo", lambda arguments, answers: Success(f"{arguments} {answers}"))
    result = await make_executor((), (tool,)).execute("echo", {"a": 1}, {"q": True})
    assert result == Success("{'a': 1} {'q': True}")


async def test_a_tool_from_outside_shadows_the_builtin_of_its_name():
    builtin, tool = make_asker(CONFIRM), make_outside_tool("tool", lambda *_: Success("outside"))
    assert await make_executor((builtin,), (tool,)).execute("tool", {}, {}) == Success("outside")
    assert builtin.runs == []


async def test_source_of_an_external_tool_ignores_a_builtin_of_its_name():
    builtin, tool = make_asker(CONFIRM), make_outside_tool("tool", lambda *_: NeedsInput(CONFIRM))
    builtin.source = ASSISTANT
    result = await make_executor((builtin,), (tool,)).execute("tool", {}, {})
    assert result == SourcedQuestion(CONFIRM, InquirySource.for_tool("tool"))


def test_a_tool_that_cannot_be_used_now_says_why():
    executing = make_executor(
        (make_asker(CONFIRM),), (), unavailable={"gone": "Its server is down."}
    )
    assert executing.explain_missing("tool") is None
    assert executing.explain_missing("gone") == model_messages.describe_unavailable(
        "gone", "Its server is down."
    )
    assert executing.explain_missing("other") == model_messages.describe_unknown_tool("other")


SECRET = SecretAnswer("hunter2")


async def test_builtins_get_secrets_plain_and_tools_from_outside_get_them_marked():
    builtin = make_asker(CONFIRM)
    tool = make_outside_tool("outside", lambda _, answers: Success(repr(answers)))
    executing = make_executor((builtin,), (tool,))
    await executing.execute("tool", {}, {"key": SECRET, "name": "x"})
    result = await executing.execute("outside", {}, {"key": SECRET, "name": "x"})
    assert builtin.runs == [{"key": "hunter2", "name": "x"}]
    assert result == Success(repr({"key": SECRET, "name": "x"}))


ABOUT = Question("again", "hunter2 is wrong.", Text(), "hunter2", "Tried hunter2.")
FREED = Question(
    "again", f"{REDACTED_TEXT} is wrong.", Text(), REDACTED_TEXT, f"Tried {REDACTED_TEXT}."
)


@pytest.mark.parametrize(
    ("outcome", "freed"),
    [
        (Success("Opened with hunter2."), Success(f"Opened with {REDACTED_TEXT}.")),
        (Failed("hunter2 is wrong."), Failed(f"{REDACTED_TEXT} is wrong.")),
        (NeedsInput(ABOUT), SourcedQuestion(FREED, InquirySource.for_tool("tool"))),
        (NeedsInput(CONFIRM), SourcedQuestion(CONFIRM, InquirySource.for_tool("tool"))),
    ],
)
@pytest.mark.parametrize("make", [StubTool, make_outside_tool])
async def test_executor_redacts_secrets_in_tool_output(make, outcome, freed):
    tool = make("tool", lambda *_: outcome)
    builtins, tools = ((tool,), ()) if make is StubTool else ((), (tool,))
    result = await make_executor(builtins, tools).execute(
        "tool", {}, {"key": SECRET, "name": "hunter"}
    )
    assert result == freed


async def test_option_with_a_secret_is_redacted_and_answered_by_its_value():
    question = Question("which", "?", Select((Option("other"), Option("hunter2", "is hunter2"))))
    tool = StubTool("tool", lambda *_: NeedsInput(question))
    result = await executor(tool).execute("tool", {}, {"key": SECRET})
    assert isinstance(result, SourcedQuestion)
    kind = Select((Option("other"), Option(REDACTED_TEXT, f"is {REDACTED_TEXT}")))
    assert result.question == Question("which", "?", kind)
    assert result.convert_for_tool(REDACTED_TEXT) == "hunter2"
    assert result.convert_for_tool("other") == "other"
    assert "hunter2" not in repr(result)


async def test_option_asked_in_the_middle_is_answered_by_its_own_value():
    question = Question("which", "?", Select((Option("hunter2"),)))
    replies: list[Any] = []

    async def run(arguments, answers, ask) -> Any:
        replies.append(await ask(question))
        return Success("done")

    async def ask(question) -> Any:
        (option,) = question.answer_type.options
        return Answer(option.value)

    tool = OutsideStub("tool", run)
    await make_executor((), (tool,)).execute("tool", {}, {"key": SECRET}, ask)
    assert replies == [Answer("hunter2")]


LONG = SecretAnswer("correct horse")
PASSPHRASE = Question("key", "Passphrase?", Secret())


async def test_secret_asked_in_call_is_redacted_in_calls_that_run_meanwhile():
    answer_event = asyncio.Event()

    async def ask_for_secret(arguments, answers, ask) -> Any:
        await ask(PASSPHRASE)
        answer_event.set()
        return Success("done")

    async def read_file(arguments, answers, ask) -> Any:
        await answer_event.wait()
        return Success(f"It says {LONG.value}.")

    async def ask(question) -> Any:
        return Answer(LONG.value)

    tools = OutsideStub("vault", ask_for_secret), OutsideStub("cat", read_file)
    executing = make_executor((), tools)
    _, outcome = await asyncio.gather(
        executing.execute("vault", {}, {}, ask), executing.execute("cat", {}, {})
    )
    assert outcome == Success(f"It says {REDACTED_TEXT}.")


async def test_short_secret_stays_in_the_output_of_other_calls():
    tool = StubTool("tool", lambda *_: Success("It is over."))
    executing = executor(tool)
    result = await executing.execute("tool", {}, {"key": SecretAnswer("over")})
    assert result == Success(f"It is {REDACTED_TEXT}.")
    assert await executing.execute("tool", {}, {}) == Success("It is over.")


async def test_executor_runs_a_bounded_number_of_tools_at_once():
    running: set[int] = set()
    peaks: list[int] = []

    async def run(arguments, _answers, _ask) -> Success:
        running.add(arguments["number"])
        peaks.append(len(running))
        for _ in range(5):
            await asyncio.sleep(0)
        running.discard(arguments["number"])
        return Success("done")

    tool_executor = make_executor((), (OutsideStub("slow", run),))
    calls = (tool_executor.execute("slow", {"number": n}, {}, wait_forever) for n in range(30))
    assert await asyncio.gather(*calls) == [Success("done")] * 30
    assert max(peaks) == MAX_RUNNING_CALLS


async def test_tool_that_waits_for_an_answer_lets_another_run():
    is_answered = asyncio.Event()

    async def ask(_question) -> Answer:
        await is_answered.wait()
        return Answer(True)

    async def run(arguments, _answers, ask_person) -> Success:
        if arguments["asks"]:
            await ask_person(CONFIRM)
        return Success("done")

    tool_executor = make_executor((), (OutsideStub("asker", run),))
    askers = [
        asyncio.create_task(tool_executor.execute("asker", {"asks": True}, {}, ask))
        for _ in range(MAX_RUNNING_CALLS)
    ]
    assert await tool_executor.execute("asker", {"asks": False}, {}, ask) == Success("done")
    assert not any(task.done() for task in askers)
    is_answered.set()
    assert await asyncio.gather(*askers) == [Success("done")] * MAX_RUNNING_CALLS
