"""A tool's formatter shows the arguments of its calls to people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import Mode, ToolCommand, ToolConfig
from jpweb.agent.ports import CompleteToolCall, Permitted, ReplyFinished, RunPrompt
from jpweb.agent.tool_outcome import Success
from jpweb.stream.events import ToolCallRequest
from tests.agent.doubles import QueueProvider, Stage, StubTool, run_turn

FORMATTER = ToolCommand("show")


async def shouted(arguments: Any) -> str | None:
    return str(arguments["a"]).upper() if arguments else None


def stage(arguments: Any, run: Mode = Mode.UNATTENDED) -> Stage:
    provider = QueueProvider(
        [[CompleteToolCall("c1", "tool", arguments), ReplyFinished()], [ReplyFinished()]]
    )
    made = Stage(provider, (StubTool("tool", lambda *_: Success("ok")),))
    tools = tuple(replace(tool, run=run) for tool in made.setup.tools)
    made.setup = replace(made.setup, tools=tools, formatters={"tool": shouted})
    return made


def rendered(made: Stage) -> list[Any]:
    events = made.recorder.events
    return [e.metadata for e in events if isinstance(e.kind, ToolCallRequest)]


async def test_what_it_makes_of_the_arguments_is_recorded_with_the_call():
    made = stage({"a": "b"})
    await run_turn(made.ports, "Go.", None, made.stop, made.setup)
    assert rendered(made) == [{"rendered_arguments": "Qg=="}]


async def test_a_formatter_that_gives_nothing_leaves_the_call_as_it_is():
    made = stage({})
    await run_turn(made.ports, "Go.", None, made.stop, made.setup)
    assert rendered(made) == [{}]


async def test_who_is_asked_for_permission_sees_what_it_makes_of_the_arguments():
    made = stage({"a": "b"}, Mode.ASK)
    made.prompter.decisions = [Permitted({"a": "b"})]
    await run_turn(made.ports, "Go.", None, made.stop, made.setup)
    (prompt,) = made.prompter.prompts
    assert isinstance(prompt, RunPrompt)
    assert prompt.formatted_arguments == "B"


@pytest.mark.parametrize(
    ("formatter", "said", "run", "first"),
    [
        (None, None, Mode.UNATTENDED, False),
        (None, Mode.UNATTENDED, Mode.UNATTENDED, False),
        (FORMATTER, None, Mode.UNATTENDED, True),
        (FORMATTER, None, Mode.ASK, False),
        (FORMATTER, Mode.UNATTENDED, Mode.ASK, True),
        (FORMATTER, Mode.ASK, Mode.UNATTENDED, False),
    ],
)
def test_it_runs_before_the_permission_only_where_the_configuration_says_so(
    formatter: ToolCommand | None, said: Mode | None, run: Mode, *, first: bool
):
    tool = ToolConfig("t", "", {}, formatter=formatter, format=said, run=run)
    assert tool.can_format_first is first
