from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

from jpweb.agent.config import UNSET_MODEL, ProviderConfig
from jpweb.agent.ports import (
    Answer,
    CompleteToolCall,
    Declined,
    ProviderRequest,
    ReplyFinished,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.provider_info import SELECTABLE_PROVIDERS
from jpweb.agent.providers import PROVIDERS
from jpweb.agent.providers.scripted import ScriptedProvider
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.inquiry_backend import make_inquiry_schema
from jpweb.agent.tool_outcome import Failed
from jpweb.agent.tools import BUILTINS
from jpweb.agent.turn import TurnEnd
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.events import (
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquirySource, Redacted
from jpweb.stream.thread import ThreadParts
from tests.agent.doubles import AT, CONFIRM, StubTool, TurnBench, make_asker, run_turn

DECLINED = Declined(CancellationReason.USER)
SECRET = "canary-7f3a"


async def play_turn(*replies, tools=BUILTINS) -> Any:
    stage = TurnBench(ScriptedProvider(pace=0), tools, list(replies))
    assert await run_turn(stage.ports, "Hello", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    return stage


def make_event(kind) -> ConversationEvent:
    return ConversationEvent(AT, kind)


def exchange(content) -> tuple[ToolCallRequest, ToolCallResponse]:
    return ToolCallRequest("c", "ask_user", {}), ToolCallResponse("c", content, is_error=False)


def closing(stage) -> Any:
    return stage.recorder.of(ChatResponse)[-1].content


async def test_scripted_provider_is_registered_by_its_name():
    provider = PROVIDERS["scripted"](UNSET_MODEL, ProviderConfig(), None)
    assert isinstance(provider, ScriptedProvider)
    assert provider.NAME == "scripted"
    assert sorted(PROVIDERS) == list(SELECTABLE_PROVIDERS)


async def test_scripted_provider_states_that_it_is_no_model():
    stage = await play_turn(Answer(value=True), Answer("not at all"), Answer("x"), Answer(SECRET))
    reasoning, opening, _ = stage.recorder.of(ChatResponse)
    assert reasoning.variant == "reasoning"
    assert "I am a script, not a model" in opening.content


async def test_scripted_provider_asks_one_question_of_each_type():
    stage = await play_turn(Answer(value=True), Answer("not at all"), Answer("x"), Answer(SECRET))
    yes_no, one_of, text, secret = (prompt.question for prompt in stage.prompter.questions)
    assert isinstance(yes_no.answer_type, Boolean)
    assert isinstance(one_of.answer_type, Select)
    assert len(one_of.answer_type.options) == 3
    assert one_of.context
    assert (type(text.answer_type), text.default) == (Text, "report.md")
    assert isinstance(secret.answer_type, Secret)
    assert [prompt.label for prompt in stage.prompter.questions] == ["Assistant"] * 3 + [None]
    assert stage.prompter.questions[3].source == InquirySource.for_tool("demo_vault")


async def test_scripted_provider_reports_answers_without_the_secret():
    stage = await play_turn(
        Answer(value=True), Answer("with a backup"), Answer("true"), Answer(SECRET)
    )
    assert closing(stage).splitlines() == [
        "That was the script. This is what I received:",
        "",
        "- **yes or no**: `true` (boolean)",
        '- **one of three**: `"with a backup"` (string)',
        '- **free text**: `"true"` (string)',
        "- **secret**: received, not shown",
    ]
    assert stage.recorder.outcomes[-1] == Redacted()


async def test_the_secret_occurs_in_no_event_no_request_and_on_no_screen():
    requests = []

    class RecordingProvider(ScriptedProvider):
        def stream(self, request) -> Any:
            requests.append(request)
            return super().stream(request)

    replies = [Answer(value=True), Answer("with a backup"), Answer("x"), Answer(SECRET)]
    stage = TurnBench(RecordingProvider(pace=0), BUILTINS, replies)
    await run_turn(stage.ports, "Hello", None, stage.stop, stage.setup)
    assert stage.recorder.outcomes[-1] == Redacted()
    assert len(requests) == 5
    outputs = (stage.recorder.events, requests, stage.display.partials, stage.prompter.questions)
    assert SECRET not in repr(outputs)
    assert SECRET not in stage.recorder.raw()


@pytest.mark.parametrize("number", range(4))
async def test_scripted_provider_reports_a_declined_question_and_continues(number):
    replies: list[Any] = [Answer(value=False), Answer("not at all"), Answer("x"), Answer(SECRET)]
    replies[number] = DECLINED
    stage = await play_turn(*replies)
    lines = [line for line in closing(stage).splitlines() if line.startswith("- ")]
    assert [line.endswith(": declined") for line in lines] == [n == number for n in range(4)]
    assert stage.recorder.outcomes[number] == Cancelled(CancellationReason.USER)


@pytest.mark.parametrize("number", range(4))
async def test_scripted_decline_with_a_note_quotes_the_note(number):
    replies: list[Any] = [Answer(value=False), Answer("not at all"), Answer("x"), Answer(SECRET)]
    replies[number] = Declined(CancellationReason.USER, "Ask\nlater.")
    stage = await play_turn(*replies)
    lines = [line for line in closing(stage).splitlines() if line.startswith("- ")]
    assert ["Ask later." in line for line in lines] == [n == number for n in range(4)]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    "content",
    [
        model_messages.describe_response("Go on."),
        model_messages.STOPPED,
        "[]",
        '{"answer": null}',
        "9" * 5000,
        "[" * 5000,
    ],
    ids=["words", "interrupted", "list", "null", "number", "deep"],
)
async def test_scripted_results_of_any_text_end_the_script(number, content):
    results = ['{"answer": true}', '{"answer": "no"}', '{"answer": "x"}', "no answer"]
    results[number] = content
    parts = ThreadParts((), tuple(make_event(kind) for kind in chain(*map(exchange, results))))
    events = [event async for event in ScriptedProvider(0).stream(make_request(parts))]
    assert isinstance(events[-1], ReplyFinished)
    reported = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "no answer; the result was `" in reported


async def test_scripted_provider_without_tools_reports_failed_calls():
    stage = await play_turn(tools=(make_asker(),))
    assert closing(stage).count("no answer: the tool call failed") == 4


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", '`"plain"`'),
        ("a ` b", '``"a ` b"``'),
        ("``", '```"``"```'),
        ("two\nlines", '`"two\\nlines"`'),
    ],
)
async def test_scripted_provider_escapes_answers_in_code_spans(text, span):
    stage = await play_turn(Answer(value=True), Answer("not at all"), Answer(text), Answer(SECRET))
    assert f"- **free text**: {span} (string)" in closing(stage)
    assert stage.recorder.outcomes[2] == Answered(text)


async def test_ids_of_calls_are_new_each_time():
    provider = ScriptedProvider(pace=0)
    empty = ThreadParts((), ())
    ids = [
        event.id
        for _ in range(3)
        async for event in provider.stream(make_request(empty))
        if isinstance(event, CompleteToolCall)
    ]
    ids += [
        e.id
        async for e in ScriptedProvider(0).stream(make_request(empty))
        if isinstance(e, CompleteToolCall)
    ]
    assert len(set(ids)) == 4


def make_request(parts) -> Any:
    return ProviderRequest(parts, ())


async def test_scripted_provider_restarts_its_script_in_every_turn():
    stage = await play_turn(Answer(value=True), Answer("not at all"), Answer("x"), Answer(SECRET))
    stage.prompter.replies += [DECLINED] * 4
    await run_turn(stage.ports, "Again", None, stage.stop, stage.setup)
    assert len(stage.recorder.of(ToolCallRequest)) == 8
    assert closing(stage).count("declined") == 4


async def test_scripted_provider_streams_with_pauses_and_finishes(monkeypatch):
    pauses = []

    async def sleep(seconds) -> Any:
        pauses.append(seconds)

    monkeypatch.setattr("jpweb.agent.providers.scripted.asyncio.sleep", sleep)
    events = [
        event
        async for event in ScriptedProvider(pace=0.5).stream(make_request(ThreadParts((), ())))
    ]
    pieces = [event for event in events if isinstance(event, TextDelta | CompleteToolCall)]
    assert pauses == [0.5] * len(pieces)
    assert [type(event) for event in events[-2:]] == [CompleteToolCall, ReplyFinished]


def test_scripted_provider_parameters_are_json():
    assert json.dumps([step.PARAMETERS for step in BUILTINS])


async def test_scripted_model_calls_the_tools_of_call_lines_and_quotes_results():
    two = (make_asker(CONFIRM, name="one"), make_asker(name="two"))
    stage = TurnBench(ScriptedProvider(pace=0), two, [Answer(value=True)])
    text = 'Please:\n/call one {"a": 1}\n/call two some words\nand say so.'
    assert await run_turn(stage.ports, text, None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    calls = stage.recorder.of(ToolCallRequest)
    assert [(call.name, call.arguments) for call in calls] == [
        ("one", {"a": 1}),
        ("two", {"text": "some words"}),
    ]
    assert len({call.id for call in calls}) == 2
    assert closing(stage) == "**one**:\n\n```\ndone\n```\n\n**two**:\n\n```\ndone\n```\n"


async def test_a_result_cannot_end_the_block_that_quotes_it():
    tool = StubTool("one", lambda *_: Failed("a\n```\nb"))
    stage = TurnBench(ScriptedProvider(pace=0), (tool,), [])
    await run_turn(stage.ports, "/call one", None, stage.stop, stage.setup)
    assert closing(stage) == "**one** failed:\n\n````\na\n```\nb\n````\n"


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Boolean(), True),
        (Select((Option("a"), Option("b"))), "a"),
        (Text(), "the script has no answer"),
    ],
)
async def test_scripted_provider_returns_valid_answers_as_inquiry_backend(
    kind: AnswerType, answer: Any
):
    request = ProviderRequest(ThreadParts((), ()), (), schema=make_inquiry_schema(kind))
    events = [event async for event in ScriptedProvider(pace=0).stream(request)]
    assert events == [StructuredReply({"answer": answer}), ReplyFinished()]
    assert kind.is_valid(answer)


@pytest.mark.parametrize(
    ("arguments_text", "arguments"),
    [
        ('{"n": 1e999}', {"text": '{"n": 1e999}'}),
        ('{"n": NaN}', {"text": '{"n": NaN}'}),
        ('{"n": "\\ud800"}', {"n": "\N{REPLACEMENT CHARACTER}"}),
    ],
    ids=["infinite", "not a number", "half a character"],
)
async def test_requested_arguments_that_no_record_can_hold_are_text(
    arguments_text: str, arguments: dict[str, Any]
):
    stage = TurnBench(ScriptedProvider(pace=0), (make_asker(),))
    await run_turn(stage.ports, f"/call one {arguments_text}", None, stage.stop, stage.setup)
    (call,) = stage.recorder.of(ToolCallRequest)
    assert call.arguments == arguments
    assert stage.recorder.raw()
