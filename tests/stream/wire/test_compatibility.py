"""What a jp before RFD 082 could not open, and the mode that spares it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import wire
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.events import ChatRequest, ConversationEvent, TurnStart
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryResponse,
    Redacted,
)
from tests.builders import AT, make_answer, make_element, make_inquiry, raw, stream
from tests.stream import strategies


def reasons(*kinds) -> Any:
    return [
        (incompatibility.position, incompatibility.reason, incompatibility.is_trashed)
        for incompatibility in wire.find_incompatibilities(stream(*kinds))
    ]


def request(answer_type) -> Any:
    question = {"text": "?", "answer_type": answer_type}
    source = {"source": "assistant"}
    fields = {"id": "q", "source": source, "question": question}
    return raw({"timestamp": AT, "type": "inquiry_request"} | fields)


def make_compatible(kind, metadata=None) -> Any:
    return json.loads(
        wire.write_element(ConversationEvent(AT, kind, metadata or {}), is_compatible=True).raw
    )


@pytest.mark.parametrize("outcome", [Redacted(), Cancelled(CancellationReason.USER)])
def test_a_compatible_response_without_an_answer_has_null(outcome):
    value = make_compatible(InquiryResponse("q", outcome))
    assert list(value)[-1] == "answer"
    assert value["answer"] is None
    assert raw(value).kind == InquiryResponse("q", outcome)
    assert "answer" not in json.loads(make_element(InquiryResponse("q", outcome)).raw)


def test_a_compatible_secret_question_is_text_and_read_as_secret():
    note = {"jpweb": {"question_id": "a"}, "other": 1}
    value = make_compatible(make_inquiry("q", type=Secret()), note)
    assert value["question"]["answer_type"] == {"type": "text"}
    element: Any = raw(value)
    assert element.kind.question.answer_type == Secret()
    assert element.body.metadata == {"jpweb": {"question_id": "a", "secret": True}, "other": 1}
    compatible_element = wire.write_element(
        ConversationEvent(AT, make_inquiry("q", type=Secret())), is_compatible=True
    )
    assert wire.read_element(compatible_element.raw) == compatible_element


@pytest.mark.parametrize("note", [{"secret": False}, {"secret": 1}, "secret", {}])
def test_text_stays_text_where_nothing_says_secret(note):
    element: Any = make_element(make_inquiry("q", type=Text()), metadata={"jpweb": note})
    assert element.kind.question.answer_type == Text()


@given(strategies.kinds, strategies.objects)
@settings(deadline=None)
def test_compatible_writing_can_be_read_again_with_the_same_content(kind, metadata):
    compatible_element = wire.write_element(
        ConversationEvent(AT, kind, metadata), is_compatible=True
    )
    assert wire.read_element(compatible_element.raw) == compatible_element
    assert compatible_element.kind == kind
    assert wire.find_incompatibilities([compatible_element]) == []
    inquiry_types = InquiryResponse | type(make_inquiry("q"))
    if not isinstance(kind, inquiry_types):
        assert compatible_element == wire.write_element(ConversationEvent(AT, kind, metadata))


def test_find_incompatibilities_is_empty_for_elements_every_jp_reads():
    kinds = (TurnStart(), ChatRequest("Hi"), make_inquiry("q"), make_answer("q"))
    assert reasons(*kinds, raw({"type": "weather", "timestamp": AT})) == []
    for answer_type in ("boolean", "text"):
        assert reasons(request({"type": answer_type})) == []
    assert reasons(request({"type": "select", "options": [{"value": 1}]})) == []


def test_find_incompatibilities_names_elements_of_rfd_082():
    kinds = (
        make_inquiry("q", type=Secret()),
        InquiryResponse("q", Redacted()),
        InquiryResponse("q", Cancelled(CancellationReason.LOST)),
        InquiryResponse("q", Answered(None)),
    )
    assert reasons(*kinds) == [
        (0, "secret questions are of RFD 082 or later", False),
        (1, "an inquiry_response without “answer” is of RFD 082", False),
        (2, "an inquiry_response without “answer” is of RFD 082", False),
    ]


def test_an_extra_key_on_a_turn_start_is_named():
    start = {"event_id": "a", "index": 1, "timestamp": AT, "type": "turn_start", "metadata": {}}
    assert reasons(raw(start)) == [(0, "a turn_start may not have “event_id”, “index”", False)]
    assert (
        reasons(raw({"event_id": "a", "timestamp": AT, "type": "chat_request", "content": ""}))
        == []
    )


def test_spellings_before_march_2026_are_named():
    reason_list = reasons(request("Boolean"), request({"type": "select", "options": ["a"]}))
    assert reason_list == [
        (0, "its answer type is spelled as before March 2026", False),
        (1, "its options are spelled as before March 2026", False),
    ]


@pytest.mark.parametrize(
    ("element", "reason", "trashed"),
    [
        (raw(1), "it has no “timestamp” and no “type”", True),
        (raw({"type": "weather"}), "it has no “timestamp”", True),
        (raw({"timestamp": AT, "message": "Hi", "reply": {}}), "it has no “type”", True),
        (raw({"type": "config_delta"}), "it has no “timestamp”", True),
        (wire.read_element("[" * 9000), "it has no “timestamp” and no “type”", True),
        (raw({"timestamp": AT, "type": "chat_request"}), "it is broken: “content” must be", False),
    ],
)
def test_find_incompatibilities_names_elements_no_jp_reads(element, reason, trashed):
    (incompatibility,) = wire.find_incompatibilities([element])
    assert incompatibility.reason.startswith(reason)
    assert incompatibility.is_trashed == trashed
    assert incompatibility.anchor
    assert incompatibility.tag == element.tag


def test_find_incompatibilities_names_a_byte_order_mark_of_the_file():
    texts, framing = wire.split_with_framing(b"\xef\xbb\xbf[]")
    (incompatibility,) = wire.find_incompatibilities(
        [wire.read_element(text) for text in texts], framing
    )
    assert (incompatibility.position, incompatibility.is_trashed) == (None, True)
