from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ProviderEvent,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.providers.adapter.reply_parser import ReplyParser, ReplyTooLong
from jpweb.agent.providers.llamacpp import VENDOR as LLAMACPP
from jpweb.agent.providers.openai import VENDOR as OPENAI
from jpweb.stream import wire
from jpweb.stream.events import ChatResponse, ToolCallRequest
from tests.agent.providers.conversing import make_event


def begin_calls(reception: ReplyParser, *args: str | None) -> list[ProviderEvent]:
    """Begin calls with these arguments, one part each."""
    events: list[ProviderEvent] = []
    for index, arguments in enumerate(args):
        part = ToolCallPart("fs_read", arguments, f"call_{index}")
        events += reception.take_event(PartStartEvent(index=index, part=part))
    return [event for event in events if isinstance(event, CompleteToolCall)]


def extend_call(reception: ReplyParser, index: int, text: str) -> list[ProviderEvent]:
    delta = ToolCallPartDelta(args_delta=text)
    return list(reception.take_event(PartDeltaEvent(index=index, delta=delta)))


def ids(events: list[ProviderEvent]) -> list[str]:
    return [event.id for event in events if isinstance(event, CompleteToolCall)]


def test_a_call_is_out_as_soon_as_another_part_begins():
    assert ids(begin_calls(ReplyParser(LLAMACPP), '{"path": "a"}', "")) == ["call_0"]


def test_a_call_without_arguments_may_still_get_some():
    """Some servers begin every call first and send the arguments then."""
    reception = ReplyParser(LLAMACPP)
    assert begin_calls(reception, "", None, '{"path": "c"}') == []
    assert extend_call(reception, 0, '{"path": ') == [PartialToolCall("fs_read", '{"path": ')]
    extend_call(reception, 0, '"a"}')
    assert list(reception.release_calls(is_cut=False)) == [
        CompleteToolCall("call_0", "fs_read", {"path": "a"}),
        CompleteToolCall("call_1", "fs_read", {}),
        CompleteToolCall("call_2", "fs_read", {"path": "c"}),
    ]
    assert reception.find_broken_call() is None
    assert list(reception.release_calls(is_cut=False)) == []


def test_release_calls_without_arguments_depends_on_a_cut_reply():
    full_parser, cut = ReplyParser(LLAMACPP), ReplyParser(LLAMACPP)
    begin_calls(full_parser, "")
    begin_calls(cut, "")
    assert ids(list(full_parser.release_calls(is_cut=False))) == ["call_0"]
    assert ids(list(cut.release_calls(is_cut=True))) == []


def test_parts_that_jp_does_not_know_are_left_out():
    picture = FilePart(BinaryContent(b"x", media_type="image/png"))
    assert list(ReplyParser(LLAMACPP).take_event(PartStartEvent(index=0, part=picture))) == []


def test_a_signature_that_comes_late_belongs_to_the_whole_thought():
    """OpenAI sends it with the end of the item, after all of its summaries."""
    reception = ReplyParser(OPENAI)
    events: list[ProviderEvent] = []
    for index, text in enumerate(("One.", "Two.")):
        part = ThinkingPart(text, id="rs_1")
        events += reception.take_event(PartStartEvent(index=index, part=part))
    signature_delta = ThinkingPartDelta(signature_delta="U0lH")
    events += reception.take_event(PartDeltaEvent(index=0, delta=signature_delta))
    events += reception.take_event(PartStartEvent(index=2, part=TextPart("Yes.")))
    events += reception.close()
    events += reception.close()
    assert events == [
        TextDelta("reasoning", "One."),
        TextDelta("reasoning", "\n\nTwo."),
        ReplyMetadata("reasoning", {"openai_item_id": "rs_1", "openai_encrypted_content": "U0lH"}),
        TextDelta("message", "Yes."),
    ]


def test_data_may_come_in_pieces():
    reception = ReplyParser(LLAMACPP, is_structured=True)
    for index, text in enumerate(('{"a":', " 1}")):
        assert list(reception.take_event(PartStartEvent(index=index, part=TextPart(text)))) == []
    assert reception.read_data() == StructuredReply({"a": 1})


def test_data_by_a_tool_that_is_no_object_is_none():
    reception = ReplyParser(LLAMACPP, is_structured=True)
    part = ToolCallPart("reply", "[1", "call_1")
    assert list(reception.take_event(PartStartEvent(index=0, part=part))) == []
    assert list(reception.release_calls(is_cut=False)) == []
    assert reception.read_data() is None


def test_call_of_a_tool_named_reply_is_no_data():
    reception = ReplyParser(LLAMACPP)
    part = ToolCallPart("reply", '{"to": "a"}', "call_0")
    events = list(reception.take_event(PartStartEvent(index=0, part=part)))
    events += reception.release_calls(is_cut=False)
    assert events == [
        PartialToolCall("reply", '{"to": "a"}'),
        CompleteToolCall("call_0", "reply", {"to": "a"}),
    ]


def nest(depth: int) -> dict[str, Any]:
    """Return an object that is this many levels deep."""
    value: Any = []
    for _ in range(depth - 2):
        value = [value]
    return {"n": value}


@pytest.mark.parametrize("is_parsed", [False, True], ids=["text", "parsed"])
@pytest.mark.parametrize(
    "arguments",
    [{"n": math.nan}, {"n": [{"m": -math.inf}]}, nest(126), nest(400)],
    ids=["nan", "infinity", "too deep", "much too deep"],
)
def test_arguments_that_no_record_can_hold_break_their_call_alone(
    arguments: dict[str, Any], is_parsed: bool
):
    reception = ReplyParser(LLAMACPP)
    args = arguments if is_parsed else json.dumps(arguments)
    for index, part_args in enumerate(('{"path": "a"}', args, '{"path": "b"}')):
        part = ToolCallPart("fs_read", part_args, f"call_{index}")
        list(reception.take_event(PartStartEvent(index=index, part=part)))
    assert ids(list(reception.release_calls(is_cut=False))) == ["call_2"]
    assert reception.find_broken_call() == "fs_read"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_data_with_a_number_that_no_record_can_hold_is_none(number: str):
    in_text, by_tool = (ReplyParser(LLAMACPP, is_structured=True) for _ in range(2))
    text_part, tool_part = TextPart(f"[{number}]"), ToolCallPart("reply", f'{{"n": {number}}}', "c")
    list(in_text.take_event(PartStartEvent(index=0, part=text_part)))
    list(by_tool.take_event(PartStartEvent(index=0, part=tool_part)))
    assert in_text.read_data() is None
    assert by_tool.read_data() is None


def test_deepest_arguments_and_data_that_a_record_holds_are_received():
    reception = ReplyParser(LLAMACPP)
    begin_calls(reception, json.dumps(nest(125)))
    (call,) = reception.release_calls(is_cut=False)
    assert isinstance(call, CompleteToolCall)
    wire.write_element(make_event(ToolCallRequest(call.id, call.name, call.arguments)))
    structured = ReplyParser(LLAMACPP, is_structured=True)
    texts(structured, json.dumps(nest(125)))
    data = structured.read_data()
    assert data is not None
    wire.write_element(make_event(ChatResponse("data", data.value)))


HALF, OTHER, FACE, ODD = "\ud83d", "\ude00", "\N{GRINNING FACE}", "\N{REPLACEMENT CHARACTER}"


def texts(reception: ReplyParser, *pieces: str, thought: bool = False) -> list[ProviderEvent]:
    """Begin a part with the first piece, and add the others."""
    first, *other_texts = pieces
    part: Any = ThinkingPart(first) if thought else TextPart(first)
    events = list(reception.take_event(PartStartEvent(index=0, part=part)))
    for text in other_texts:
        delta: Any = ThinkingPartDelta(content_delta=text) if thought else TextPartDelta(text)
        events += reception.take_event(PartDeltaEvent(index=0, delta=delta))
    return events


@pytest.mark.parametrize("thought", [True, False])
def test_a_character_in_two_pieces_is_one(thought: bool):
    reception = ReplyParser(LLAMACPP)
    variant: Any = "reasoning" if thought else "message"
    events = texts(reception, f"a {HALF}", f"{OTHER} b {HALF}", f"{HALF}", thought=thought)
    events += reception.close()
    assert events == [TextDelta(variant, text) for text in ("a ", f"{FACE} b ", ODD, ODD)]
    assert list(reception.close()) == []


def test_a_half_that_ends_a_text_comes_before_what_ends_it():
    reception = ReplyParser(OPENAI)
    part = TextPart(f"a{HALF}", id=f"msg_{HALF}")
    events = [*reception.take_event(PartStartEvent(index=0, part=part)), *reception.close()]
    metadata = ReplyMetadata("message", {"openai_item_id": f"msg_{ODD}"})
    assert events == [TextDelta("message", "a"), TextDelta("message", ODD), metadata]


def test_text_that_comes_after_a_call_has_begun_is_not_lost():
    reception = ReplyParser(LLAMACPP)
    texts(reception, "a")
    list(
        reception.take_event(PartStartEvent(index=1, part=ToolCallPart("fs_read", "{}", "call_0")))
    )
    delta = TextPartDelta(f"b{HALF}")
    assert list(reception.take_event(PartDeltaEvent(index=0, delta=delta))) == [
        TextDelta("message", "b")
    ]
    assert list(reception.close()) == [TextDelta("message", ODD)]


@pytest.mark.parametrize(
    ("pieces", "path"),
    [
        (('{"path": "\\ud83d', '\\ude00"}'), FACE),
        (('{"path": "\\ud83d', '"}'), ODD),
        ((f'{{"path": "{HALF}', f'{OTHER}"}}'), FACE),
        ((f'{{"path": "{OTHER}', '"}'), ODD),
    ],
)
def test_arguments_hold_whole_characters(pieces: tuple[str, str], path: str):
    reception = ReplyParser(LLAMACPP)
    begin_calls(reception, "")
    new_events = [event for piece in pieces for event in extend_call(reception, 0, piece)]
    for event in new_events:
        assert isinstance(event, PartialToolCall)
        event.arguments.encode()
    assert list(reception.release_calls(is_cut=False)) == [
        CompleteToolCall("call_0", "fs_read", {"path": path})
    ]


def test_arguments_that_come_parsed_hold_whole_characters_too():
    reception = ReplyParser(LLAMACPP)
    part = ToolCallPart(f"fs{HALF}", {HALF: [f"{HALF}{OTHER}"]}, f"call{HALF}")
    list(reception.take_event(PartStartEvent(index=0, part=part)))
    call = CompleteToolCall(f"call{ODD}", f"fs{ODD}", {ODD: [FACE]})
    assert list(reception.release_calls(is_cut=False)) == [call]


def test_call_id_has_no_nul_which_an_inquiry_s_row_could_not_hold():
    reception = ReplyParser(LLAMACPP)
    list(reception.take_event(PartStartEvent(index=0, part=ToolCallPart("fs_read", "{}", "a\0"))))
    calls = list(reception.release_calls(is_cut=False))
    assert calls == [CompleteToolCall(f"a{ODD}", "fs_read", {})]


def test_data_holds_whole_characters():
    reception = ReplyParser(LLAMACPP, is_structured=True)
    assert texts(reception, '{"a": "\\ud83d', '\\ude00", "\\ud83d": 1}') == []
    assert reception.read_data() == StructuredReply({"a": FACE, ODD: 1})


def feed_reply(reception: ReplyParser, kind: str, size: int) -> None:
    """Let a reply come in pieces of ten bytes, of what yields no event."""
    parts: dict[str, Any] = {
        "text": TextPart(""),
        "thought": ThinkingPart(""),
        "arguments": ToolCallPart("reply", "", "call_0"),
        "parsed": ToolCallPart("reply", None, "call_0"),
    }
    list(reception.take_event(PartStartEvent(index=0, part=parts[kind])))
    for number in range(size // 10):
        delta: Any = {
            "text": TextPartDelta("é" * 5),
            "thought": ThinkingPartDelta(content_delta="é" * 5),
            "arguments": ToolCallPartDelta(args_delta="é" * 5),
            "parsed": ToolCallPartDelta(args_delta={f"{number % 1000:03}": 0}),
        }[kind]
        assert kind != "parsed" or len(json.dumps(delta.args_delta)) == 10
        list(reception.take_event(PartDeltaEvent(index=0, delta=delta)))


@pytest.mark.parametrize("kind", ["text", "thought", "arguments", "parsed"])
def test_reply_parser_accepts_replies_up_to_its_byte_limit(kind: str):
    room = 2 if kind == "parsed" else 0
    feed_reply(ReplyParser(LLAMACPP, is_structured=True, max_bytes=100 + room), kind, 100)
    feed_reply(ReplyParser(LLAMACPP, is_structured=True), kind, 1000)
    with pytest.raises(ReplyTooLong, match="larger than 100 bytes"):
        feed_reply(ReplyParser(LLAMACPP, is_structured=True, max_bytes=100), kind, 110)


def test_a_reply_that_comes_at_once_is_weighed_too():
    reception = ReplyParser(LLAMACPP, max_bytes=3)
    with pytest.raises(ReplyTooLong):
        list(reception.take_event(PartStartEvent(index=0, part=TextPart("éé"))))
