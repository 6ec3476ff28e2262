"""A tool's formatter shows the arguments of its calls to people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import Mode, ToolCommand, ToolConfig
from jpweb.agent.ports import CompleteToolCall, Permitted, ReplyFinished, RunPrompt
from jpweb.agent.tool_outcome import Success
from jpweb.stream.events import ToolCallRequest
from tests.agent.doubles import QueueProvider, StubTool, TurnBench, run_turn

FORMATTER = ToolCommand("show")


async def shout(arguments: Any) -> str | None:
    return str(arguments["a"]).upper() if arguments else None


def make_turn(arguments: Any, run: Mode = Mode.UNATTENDED) -> TurnBench:
    provider = QueueProvider(
        [[CompleteToolCall("c1", "tool", arguments), ReplyFinished()], [ReplyFinished()]]
    )
    turn = TurnBench(provider, (StubTool("tool", lambda *_: Success("ok")),))
    tools = tuple(replace(tool, run=run) for tool in turn.setup.tools)
    turn.setup = replace(turn.setup, tools=tools, formatters={"tool": shout})
    return turn


def list_rendered(turn: TurnBench) -> list[Any]:
    events = turn.recorder.events
    return [e.metadata for e in events if isinstance(e.kind, ToolCallRequest)]


async def test_formatted_arguments_are_recorded_with_the_call():
    turn = make_turn({"a": "b"})
    await run_turn(turn.ports, "Go.", None, turn.stop, turn.setup)
    assert list_rendered(turn) == [{"rendered_arguments": "Qg=="}]


async def test_a_formatter_that_gives_nothing_leaves_the_call_as_it_is():
    turn = make_turn({})
    await run_turn(turn.ports, "Go.", None, turn.stop, turn.setup)
    assert list_rendered(turn) == [{}]


async def test_approval_prompt_shows_formatted_arguments():
    turn = make_turn({"a": "b"}, Mode.ASK)
    turn.prompter.decisions = [Permitted({"a": "b"})]
    await run_turn(turn.ports, "Go.", None, turn.stop, turn.setup)
    (prompt,) = turn.prompter.prompts
    assert isinstance(prompt, RunPrompt)
    assert prompt.formatted_arguments == "B"


@pytest.mark.parametrize(
    ("formatter", "format_mode", "run", "first"),
    [
        (None, None, Mode.UNATTENDED, False),
        (None, Mode.UNATTENDED, Mode.UNATTENDED, False),
        (FORMATTER, None, Mode.UNATTENDED, True),
        (FORMATTER, None, Mode.ASK, False),
        (FORMATTER, Mode.UNATTENDED, Mode.ASK, True),
        (FORMATTER, Mode.ASK, Mode.UNATTENDED, False),
    ],
)
def test_formatter_runs_before_permission_only_where_configured(
    formatter: ToolCommand | None, format_mode: Mode | None, run: Mode, *, first: bool
):
    tool = ToolConfig("t", "", {}, formatter=formatter, format=format_mode, run=run)
    assert tool.can_format_first is first
