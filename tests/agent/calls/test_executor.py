from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.calls import texts
from jpweb.agent.calls.executor import Asking, Executor
from jpweb.agent.config import QuestionConfig, ToolConfig
from jpweb.agent.outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.setup import Setup, default_config
from jpweb.stream.answers import Boolean
from jpweb.stream.inquiry import InquirySource, SourceTag
from tests.agent.doubles import CONFIRM, StubTool, asks, never

ASSISTANT = InquirySource(SourceTag.ASSISTANT)


def executor(*tools) -> Any:
    """Return an executor of these built-ins whose tools have nothing to ask in the middle."""
    return _Quiet(Setup(tools=tuple(default_config(t) for t in tools), builtins=tools))


class _Quiet(Executor):
    async def execute(self, name, arguments, answers, ask=never) -> Any:
        return await super().execute(name, arguments, answers, ask)


async def test_a_tool_gets_its_arguments_and_answers():
    tool = StubTool("echo", lambda arguments, answers: Success(f"{arguments} {answers}"))
    result = await executor(tool).execute("echo", {"a": 1}, {"q": True})
    assert result == Success("{'a': 1} {'q': True}")


async def test_a_failure_is_handed_on():
    tool = StubTool("broken", lambda *_: Failed("No disk."))
    assert await executor(tool).execute("broken", {}, {}) == Failed("No disk.")


async def test_the_source_of_a_question_is_the_tool_unless_the_tool_says_otherwise():
    own, assistants = asks(CONFIRM, name="own"), asks(CONFIRM, name="other")
    assistants.source = ASSISTANT
    both = executor(own, assistants)
    assert await both.execute("own", {}, {}) == Asking(CONFIRM, InquirySource.tool("own"))
    assert await both.execute("other", {}, {}) == Asking(CONFIRM, ASSISTANT)


async def test_the_label_of_a_question_has_no_say_in_its_source():
    tool = asks(CONFIRM, config=QuestionConfig(prompt_label="Assistant"))
    assert await executor(tool).execute("tool", {}, {}) == Asking(
        CONFIRM, InquirySource.tool("tool")
    )


async def test_an_unknown_tool_fails():
    assert await executor().execute("gone", {}, {}) == Failed(texts.unknown_tool("gone"))


async def test_a_tool_that_is_not_offered_fails_and_does_not_run():
    tool = asks(CONFIRM)
    other = default_config(asks(CONFIRM, name="another"))
    result = await _Quiet(Setup(tools=(other,), builtins=(tool,))).execute("tool", {}, {})
    assert result == Failed(texts.unknown_tool("tool"))
    assert tool.runs == []


@pytest.mark.parametrize("question_id", ["", ".", "a.b", "a."])
async def test_a_question_id_that_is_empty_or_dotted_is_a_failure_of_the_tool(question_id):
    tool = StubTool("tool", lambda *_: NeedsInput(Question(question_id, "?", Boolean())))
    result = await executor(tool).execute("tool", {}, {})
    assert result == Failed(texts.bad_question_id("tool"))


async def test_what_a_tool_raises_is_not_caught():
    def fail(arguments, answers) -> Any:
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        await executor(StubTool("tool", fail)).execute("tool", {}, {})


def test_the_default_configuration_is_what_the_tool_says_of_itself():
    tool = asks(CONFIRM, config=QuestionConfig(prompt_label="Who"))
    assert default_config(tool) == ToolConfig(
        "tool", "A tool of the tests.", {}, {"confirm": QuestionConfig(prompt_label="Who")}
    )


def test_a_question_that_nobody_configured_has_the_default_configuration():
    assert default_config(asks(CONFIRM)).question("confirm") == QuestionConfig()
