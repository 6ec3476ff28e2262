"""What a provider may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from hypothesis import given, settings

from jpweb.stream.compaction import SUMMARY_REQUEST
from jpweb.stream.event_kind import EventKindBase
from jpweb.stream.events import (
    KINDS,
    ChatRequest,
    ChatResponse,
    Compaction,
    ConversationEvent,
    Element,
    TurnStart,
)
from jpweb.stream.thread import SystemPart, Thread, list_visible_events
from tests.builders import AT, make_answer, make_call, make_inquiry, make_result, raw, stream
from tests.stream import strategies

SEEN = {"chat_request", "chat_response", "tool_call_request", "tool_call_response"}


@dataclass(frozen=True, slots=True)
class Whisper(EventKindBase):
    """A kind that a newcomer adds without thinking of providers."""

    TAG: ClassVar[str] = "whisper"

    @classmethod
    def from_fields(cls, fields) -> Self:
        return cls()

    def to_fields(self) -> dict[str, Any]:
        return {}


def test_provider_visible_kinds_are_those_listed():
    assert {tag for tag, kind in KINDS.items() if kind.PROVIDER_VISIBLE} == SEEN


def test_a_new_kind_is_invisible_until_it_says_otherwise():
    whisper = Element("{}", ConversationEvent(AT, cast(Any, Whisper.from_fields({}))))
    assert whisper.tag == "whisper"
    assert Whisper().to_fields() == {}
    assert list_visible_events([whisper]) == []


def test_inquiries_are_never_visible():
    elements = stream(
        TurnStart(),
        ChatRequest("Hi"),
        make_call("c"),
        make_inquiry("c.q.1"),
        make_answer("c.q.1"),
        make_result("c"),
    )
    tags = [event.kind.TAG for event in list_visible_events(elements)]
    assert tags == ["chat_request", "tool_call_request", "tool_call_response"]


def test_unknown_and_broken_elements_are_never_visible():
    assert (
        list_visible_events([raw({"type": "weather"}), raw({"type": "chat_request"}), raw(1)]) == []
    )


@given(strategies.streams)
@settings(deadline=None)
def test_a_provider_sees_allowed_kinds_alone_and_in_order(elements):
    events = list_visible_events(elements)
    assert {event.kind.TAG for event in events} <= SEEN
    assert events == [
        event for element in elements for event in element.events if event.kind.TAG in SEEN
    ]


def test_the_parts_of_a_thread_are_its_system_and_its_visible_events():
    elements = tuple(stream(TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")))
    parts = Thread(("Be kind.",), elements).build_parts()
    assert parts.system == ("Be kind.",)
    assert [getattr(event.kind, "content", None) for event in parts.events] == ["Hi", "Hello"]


def test_parts_of_the_system_prompt_have_their_tags():
    system = ("Be kind.", SystemPart("Rust.", "project"), SystemPart("Plain."))
    assert Thread(system, ()).build_parts().system == (
        "Be kind.",
        "<project>\nRust.\n</project>",
        "Plain.",
    )


def test_parts_of_a_thread_are_compacted():
    elements = stream(
        TurnStart(),
        ChatRequest("Hi"),
        ChatResponse("message", "Hello"),
        Compaction(0, 0, {"summary": {"summary": "Greetings."}}),
        TurnStart(),
        ChatRequest("More"),
    )
    thread = Thread((), tuple(elements))
    assert [event.kind for event in thread.build_parts().events] == [
        ChatRequest(SUMMARY_REQUEST),
        ChatResponse("message", "Greetings."),
        ChatRequest("More"),
    ]
