from __future__ import annotations

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from jpweb.agent.ports import Calling, CallTool, Data, Delta, Noted, ProviderEvent
from jpweb.agent.providers.library.receiving import Reception
from jpweb.agent.providers.llamacpp import VENDOR as LLAMACPP
from jpweb.agent.providers.openai import VENDOR as OPENAI


def begun(reception: Reception, *args: str | None) -> list[ProviderEvent]:
    """Begin calls with these arguments, one part each."""
    events: list[ProviderEvent] = []
    for index, given in enumerate(args):
        part = ToolCallPart("fs_read", given, f"call_{index}")
        events += reception.take(PartStartEvent(index=index, part=part))
    return [each for each in events if isinstance(each, CallTool)]


def more(reception: Reception, index: int, text: str) -> list[ProviderEvent]:
    delta = ToolCallPartDelta(args_delta=text)
    return list(reception.take(PartDeltaEvent(index=index, delta=delta)))


def ids(events: list[ProviderEvent]) -> list[str]:
    return [each.id for each in events if isinstance(each, CallTool)]


def test_a_call_is_out_as_soon_as_another_part_begins():
    assert ids(begun(Reception(LLAMACPP), '{"path": "a"}', "")) == ["call_0"]


def test_a_call_without_arguments_may_still_get_some():
    """Some servers begin every call first and send the arguments then."""
    reception = Reception(LLAMACPP)
    assert begun(reception, "", None, '{"path": "c"}') == []
    assert more(reception, 0, '{"path": ') == [Calling("fs_read", '{"path": ')]
    more(reception, 0, '"a"}')
    assert list(reception.calls(cut=False)) == [
        CallTool("call_0", "fs_read", {"path": "a"}),
        CallTool("call_1", "fs_read", {}),
        CallTool("call_2", "fs_read", {"path": "c"}),
    ]
    assert not reception.broken
    assert list(reception.calls(cut=False)) == []


def test_no_arguments_at_the_end_are_none_unless_the_reply_was_cut():
    whole, cut = Reception(LLAMACPP), Reception(LLAMACPP)
    begun(whole, "")
    begun(cut, "")
    assert ids(list(whole.calls(cut=False))) == ["call_0"]
    assert ids(list(cut.calls(cut=True))) == []


def test_parts_that_jp_does_not_know_are_left_out():
    picture = FilePart(BinaryContent(b"x", media_type="image/png"))
    assert list(Reception(LLAMACPP).take(PartStartEvent(index=0, part=picture))) == []


def test_a_signature_that_comes_late_belongs_to_the_whole_thought():
    """OpenAI sends it with the end of the item, after all of its summaries."""
    reception = Reception(OPENAI)
    events: list[ProviderEvent] = []
    for index, text in enumerate(("One.", "Two.")):
        part = ThinkingPart(text, id="rs_1")
        events += reception.take(PartStartEvent(index=index, part=part))
    late = ThinkingPartDelta(signature_delta="U0lH")
    events += reception.take(PartDeltaEvent(index=0, delta=late))
    events += reception.take(PartStartEvent(index=2, part=TextPart("Yes.")))
    events += reception.close()
    events += reception.close()
    assert events == [
        Delta("reasoning", "One."),
        Delta("reasoning", "\n\nTwo."),
        Noted("reasoning", {"openai_item_id": "rs_1", "openai_encrypted_content": "U0lH"}),
        Delta("message", "Yes."),
    ]


def test_data_may_come_in_pieces():
    reception = Reception(LLAMACPP, structured=True)
    for index, text in enumerate(('{"a":', " 1}")):
        assert list(reception.take(PartStartEvent(index=index, part=TextPart(text)))) == []
    assert reception.data() == Data({"a": 1})


def test_data_by_a_tool_that_is_no_object_is_none():
    reception = Reception(LLAMACPP, structured=True)
    part = ToolCallPart("reply", "[1", "call_1")
    assert list(reception.take(PartStartEvent(index=0, part=part))) == []
    assert list(reception.calls(cut=False)) == []
    assert reception.data() is None
