"""A tool's formatter shows the arguments of its calls to people."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, ToolCommand, ToolConfig
from jpweb.agent.ports import Answer, CompleteToolCall, Permitted, ReplyFinished, RunPrompt
from jpweb.agent.tool_outcome import NeedsInput, Question, Success
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ToolCallRequest
from tests.agent.doubles import QueueProvider, StubTool, TurnBench, run_turn

FORMATTER = ToolCommand("show")
KEY = "canary-4711"


async def shout(arguments: Any) -> str | None:
    return str(arguments["a"]).upper() if arguments else None


def make_turn(arguments: Any, run: ApprovalMode = ApprovalMode.UNATTENDED) -> TurnBench:
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
    turn = make_turn({"a": "b"}, ApprovalMode.ASK)
    turn.prompter.decisions = [Permitted({"a": "b"})]
    await run_turn(turn.ports, "Go.", None, turn.stop, turn.setup)
    (prompt,) = turn.prompter.prompts
    assert isinstance(prompt, RunPrompt)
    assert prompt.formatted_arguments == "B"


async def test_formatted_arguments_of_a_call_show_no_secret_of_an_earlier_call():
    ask_secret = NeedsInput(Question("key", "The key?", Secret()))
    keep = StubTool("keep", lambda _, answers: Success("kept") if answers else ask_secret)
    show = StubTool("show", lambda *_: Success("ok"))
    first, second = (
        [CompleteToolCall(f"c{number}", name, {"a": "b"}), ReplyFinished()]
        for number, name in enumerate(("keep", "show"))
    )
    turn = TurnBench(QueueProvider([first, second, [ReplyFinished()]]), (keep, show), [Answer(KEY)])

    async def print_kept(_: Any) -> str:
        return f"It is {KEY}."

    tools = [
        replace(tool, run=ApprovalMode.ASK) if tool.name == "show" else tool
        for tool in turn.setup.tools
    ]
    turn.setup = replace(turn.setup, tools=tuple(tools), formatters={"show": print_kept})
    turn.prompter.decisions = [Permitted({"a": "b"})]
    await run_turn(turn.ports, "Go.", None, turn.stop, turn.setup)
    (prompt,) = (prompt for prompt in turn.prompter.prompts if isinstance(prompt, RunPrompt))
    assert prompt.formatted_arguments == "It is [redacted]."
    recorded = base64.b64decode(list_rendered(turn)[-1]["rendered_arguments"])
    assert recorded == b"It is [redacted]."


@pytest.mark.parametrize(
    ("formatter", "format_mode", "run", "first"),
    [
        (None, None, ApprovalMode.UNATTENDED, False),
        (None, ApprovalMode.UNATTENDED, ApprovalMode.UNATTENDED, False),
        (FORMATTER, None, ApprovalMode.UNATTENDED, True),
        (FORMATTER, None, ApprovalMode.ASK, False),
        (FORMATTER, ApprovalMode.UNATTENDED, ApprovalMode.ASK, True),
        (FORMATTER, ApprovalMode.ASK, ApprovalMode.UNATTENDED, False),
    ],
)
def test_formatter_runs_before_permission_only_where_configured(
    formatter: ToolCommand | None,
    format_mode: ApprovalMode | None,
    run: ApprovalMode,
    *,
    first: bool,
):
    tool = ToolConfig("t", "", {}, formatter=formatter, format=format_mode, run=run)
    assert tool.can_format_first is first
