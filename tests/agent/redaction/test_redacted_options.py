"""Options that redaction makes equal: a person's choice leads to one value of the tool."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from jpweb.agent.ports import Answer
from jpweb.agent.redaction import SecretAnswer
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.executor import SourcedQuestion
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success
from jpweb.stream.answer_type import Option, Select
from tests.agent.doubles import OutsideStub, StubTool, wait_forever
from tests.agent.redaction.test_redaction_law import executor

NEW = "correct horses."
OLD = base64.b64encode(NEW.encode()).decode()
SECRETS = {"key": SecretAnswer(NEW)}


def make_question(*values: Any, default: Any = None) -> Question:
    return Question("q", "Which?", Select(tuple(map(Option, values))), default)


async def run_tool(question: Question) -> SourcedQuestion | Success | Failed:
    tool = StubTool("tool", lambda *_: NeedsInput(question))
    return await executor(tool).execute("tool", {}, SECRETS, wait_forever)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((NEW, OLD), ["[redacted]", "[redacted] 2"]),
        ((OLD, "none", NEW, NEW[::-1]), ["[redacted]", "none", "[redacted] 2", "[redacted] 3"]),
        ((NEW, OLD, "[redacted]"), ["[redacted] 2", "[redacted] 3", "[redacted]"]),
        ((NEW, OLD, "[redacted] 2"), ["[redacted]", "[redacted] 3", "[redacted] 2"]),
        (({"a": NEW}, {"a": OLD}), ['{"a": "[redacted]"}', '{"a": "[redacted]"} 2']),
    ],
    ids=["two", "three", "literal", "number", "objects"],
)
async def test_options_that_redaction_makes_equal_are_numbered(values: Any, labels: list[str]):
    result = await run_tool(make_question(*values))
    assert isinstance(result, SourcedQuestion)
    kind = result.question.answer_type
    assert isinstance(kind, Select)
    assert [option.label for option in kind.options] == labels
    chosen_values = [result.convert_for_tool(kind.parse_input(label)) for label in labels]
    assert chosen_values == list(values)


async def test_default_stays_the_default_where_its_option_is_numbered():
    result = await run_tool(make_question(NEW, OLD, default=OLD))
    assert isinstance(result, SourcedQuestion)
    assert result.question.default == "[redacted] 2"


async def test_option_chosen_during_a_call_is_the_value_of_the_tool():
    chosen_values: list[Any] = []

    async def run(_arguments: Any, _answers: Any, ask: Any) -> Success:
        reply = await ask(make_question(NEW, OLD))
        chosen_values.append(reply.value)
        return Success("done")

    async def choose_second(question: Question) -> Answer:
        assert isinstance(question.answer_type, Select)
        return Answer(question.answer_type.options[1].value)

    await executor(OutsideStub("tool", run)).execute("tool", {}, SECRETS, choose_second)
    assert chosen_values == [OLD]


@pytest.mark.parametrize("values", [("1", 1), ("a\nb", "a\r\nb")], ids=["types", "line ends"])
async def test_question_whose_options_look_the_same_fails_the_call(values: Any):
    assert await run_tool(make_question(*values)) == Failed(
        model_messages.describe_ambiguous_options("tool")
    )
