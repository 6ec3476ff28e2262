"""What a reader sees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import anchor_ids, answer_type, inquiry, outline
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConfigDelta,
    TurnStart,
)
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryResponse,
    InquirySource,
    Redacted,
    SourceTag,
)
from jpweb.stream.stats import count_stream
from jpweb.stream.transcript import grouping
from jpweb.stream.transcript.items import OrphanInquiry, StandaloneItem, ToolCall
from jpweb.stream.wire.partial import read_partial
from tests.builders import (
    list_placed,
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.machine.sizes import choose_size
from tests.stream import strategies

SAYS, REPLY = ChatRequest("Hi"), ChatResponse("message", "Hello")
ASSISTANT = InquirySource(SourceTag.ASSISTANT)


def items(*kinds, turn=-1) -> Any:
    return outline.build_outline(stream(*kinds)).turns[turn].items


def inquiries(*kinds) -> Any:
    """What was asked, with the position of the tool call that asks it."""
    pairs = outline.build_outline(stream(*kinds)).list_inquiries()
    return [(question.inquiry_request.id, call and call.first) for question, call in pairs]


def positions(of) -> list[int]:
    return [element.position for element in of.elements]


def states(*kinds) -> Any:
    return [
        question.state for question, _ in outline.build_outline(stream(*kinds)).list_inquiries()
    ]


@given(strategies.streams)
@settings(deadline=None)
def test_outline_places_every_event_once(elements):
    placed = list_placed(outline.build_outline(elements))
    places = [
        (i, part) for i, element in enumerate(elements) for part in range(len(element.events) or 1)
    ]
    assert sorted(placed_element.place for placed_element in placed) == places
    assert all(
        placed_element.element.raw is elements[placed_element.position].raw
        for placed_element in placed
    )
    assert len({placed_element.anchor for placed_element in placed}) == len(places)


@given(strategies.streams)
@settings(deadline=None)
def test_outline_items_are_in_stream_order_within_a_turn(elements):
    for turn in outline.build_outline(elements).turns:
        firsts = [item.first for item in turn.items]
        assert firsts == sorted(firsts)
        assert all(turn.first <= item.first for item in turn.items)


@given(strategies.streams)
@settings(deadline=None)
def test_outline_item_position_is_that_of_its_first_element(elements):
    for turn in outline.build_outline(elements).turns:
        for item in turn.items:
            assert item.elements[0].position == item.first
            assert item.first == min(element.position for element in item.elements)


def test_an_empty_stream_has_an_empty_outline():
    assert outline.build_outline([]).turns == ()
    assert outline.build_outline([]).list_inquiries() == []


def test_a_tool_call_holds_its_inquiries_and_its_result():
    _, call, reply = items(
        SAYS, make_call("c"), make_inquiry("c.q.1"), make_answer("c.q.1"), make_result("c"), REPLY
    )
    assert (call.first, call.response.position, positions(call)) == (1, 4, [1, 2, 3, 4])
    (question,) = call.inquiries
    assert (question.request.position, question.response.position, positions(question)) == (
        2,
        3,
        [2, 3],
    )
    assert question.outcome == inquiry.Answered(True)
    assert isinstance(reply, StandaloneItem)
    assert (reply.first, positions(reply), reply.orphan) == (5, [5], False)


def test_open_call_has_its_inquiries_so_far():
    assert positions(items(make_call("c"))[0]) == [0]
    assert positions(items(make_call("c"), make_inquiry("c.q.1"))[0]) == [0, 1]
    assert positions(items(make_call("c"), make_inquiry("c.q.1"), make_answer("c.q.1"))[0]) == [
        0,
        1,
        2,
    ]


def test_inquiries_of_a_call_precede_its_result_with_their_outcomes():
    kinds = (make_inquiry("c.q.1"), make_inquiry("c.q.2"), make_answer("c.q.1"))
    assert positions(items(make_call("c"), *kinds, make_result("c"))[0]) == [0, 1, 3, 2, 4]


def test_a_turn_knows_where_it_starts_and_its_anchor():
    first, second = outline.build_outline(stream(TurnStart(), SAYS, REPLY, TurnStart(), SAYS)).turns
    assert (first.index, first.first, second.index, second.first) == (0, 0, 1, 3)
    assert second.anchor == second.items[0].elements[0].anchor
    assert (first.is_incomplete, second.is_incomplete) == (False, True)


def test_an_inquiry_belongs_to_the_running_call_that_its_id_begins_with():
    kinds = (make_call("a"), make_call("b"), make_inquiry("a.q.1"), make_inquiry("b.q.1"))
    assert inquiries(*kinds) == [("a.q.1", 0), ("b.q.1", 1)]


def test_the_longest_shared_beginning_wins():
    assert inquiries(make_call("a.b"), make_call("a"), make_inquiry("a.b.q.1")) == [("a.b.q.1", 0)]
    assert inquiries(make_call("a"), make_call("a.b"), make_inquiry("a.q.1")) == [("a.q.1", 0)]


def test_a_shared_beginning_needs_the_dot():
    by_name = make_inquiry("ab.q.1", source=InquirySource.for_tool("second"))
    assert inquiries(make_call("a", "first"), make_call("c", "second"), by_name) == [("ab.q.1", 1)]


def test_the_name_of_the_tool_decides_where_the_id_does_not():
    kinds = (
        make_call("a", "one"),
        make_call("b", "two"),
        make_inquiry("inq_1", source=InquirySource.for_tool("one")),
    )
    assert inquiries(*kinds) == [("inq_1", 0)]


def test_outline_assigns_other_inquiries_to_the_last_running_call():
    kinds = (
        make_call("a"),
        make_call("b"),
        make_result("b"),
        make_inquiry("inq_1", source=ASSISTANT),
    )
    assert inquiries(*kinds) == [("inq_1", 0)]
    assert inquiries(make_call("a"), make_call("b"), make_inquiry("inq_1", source=ASSISTANT)) == [
        ("inq_1", 1)
    ]


def test_a_reused_call_id_means_the_one_that_runs():
    kinds = (make_call("a"), make_result("a"), make_call("a"), make_inquiry("a.q.2"))
    assert inquiries(*kinds) == [("a.q.2", 2)]


def make_noted_question(tool_call_id) -> Any:
    return make_element(make_inquiry("b.q.1"), metadata={"jpweb": {"tool_call_id": tool_call_id}})


def test_outline_assigns_an_inquiry_to_its_noted_call_first():
    assert inquiries(make_call("a"), make_call("b"), make_noted_question("a")) == [("b.q.1", 0)]
    assert inquiries(
        make_call("a"), make_result("a"), make_call("b"), make_noted_question("a")
    ) == [("b.q.1", 0)]


@pytest.mark.parametrize(
    "metadata", [{"jpweb": "odd"}, {"jpweb": {}}, {"jpweb": {"tool_call_id": 1}}]
)
def test_a_note_that_names_no_call_is_ignored(metadata):
    note = make_element(make_inquiry("b.q.1"), metadata=metadata)
    assert inquiries(make_call("a"), make_call("b"), note) == [("b.q.1", 1)]


def test_an_inquiry_without_a_running_call_is_a_stray_where_it_stood():
    _, stray, _, end = items(
        SAYS, make_inquiry("c.q.1"), ConfigDelta({}), make_answer("c.q.1"), REPLY
    )
    assert isinstance(stray, OrphanInquiry)
    assert (stray.first, positions(stray)) == (1, [1, 3])
    assert end.first == 4
    assert inquiries(make_call("c"), make_result("c"), make_inquiry("c.q.1")) == [("c.q.1", None)]
    assert inquiries(make_call("c"), TurnStart(), make_inquiry("c.q.1")) == [("c.q.1", None)]


@pytest.mark.parametrize("orphaned", [make_answer("x.q.1"), make_result("x")])
def test_a_response_to_nothing_is_an_orphan(orphaned):
    (entry,) = items(orphaned)
    assert isinstance(entry, StandaloneItem)
    assert entry.orphan


def test_unknown_and_broken_elements_are_standalone_items():
    kinds = (raw({"type": "weather"}), raw({"type": "tool_call_response", "id": "c"}))
    item_list = items(make_call("c"), *kinds)
    assert [type(item) for item in item_list] == [ToolCall, StandaloneItem, StandaloneItem]
    assert not any(item.orphan for item in item_list[1:])


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (inquiry.Answered(None), "answered"),
        (Redacted(), "redacted"),
        (Cancelled(CancellationReason.LOST), "cancelled"),
    ],
)
def test_the_state_of_an_ended_inquiry_is_its_outcome(outcome, state):
    kinds = (
        make_call("c"),
        make_inquiry("c.q.1", type=answer_type.Text()),
        InquiryResponse("c.q.1", outcome),
    )
    assert states(*kinds) == [state]


def test_a_question_is_open_while_its_call_runs_in_the_last_turn():
    kinds = (SAYS, make_call("c"), make_inquiry("c.q.1"))
    assert states(*kinds) == ["open"]
    assert outline.build_outline(stream(*kinds)).list_inquiries()[0][0].outcome is None
    assert states(SAYS, make_call("c"), make_result("c"), make_inquiry("stray")) == ["open"]


def test_a_question_is_unanswered_once_the_turn_went_on():
    assert states(SAYS, make_call("c"), make_inquiry("c.q.1"), make_result("c")) == ["unanswered"]
    assert states(SAYS, make_call("c"), make_inquiry("c.q.1"), make_result("c"), REPLY) == [
        "unanswered"
    ]
    assert states(SAYS, make_call("c"), make_inquiry("c.q.1"), TurnStart(), SAYS) == ["unanswered"]


def test_a_broken_response_leaves_its_question_without_one():
    broken = raw({"type": "inquiry_response", "timestamp": "2026-01-01 00:00:00", "id": "c.q.1"})
    assert states(make_call("c"), make_inquiry("c.q.1"), broken, make_result("c"), REPLY) == [
        "unanswered"
    ]


def test_inquiries_come_in_the_order_of_the_outline_with_their_calls():
    kinds = (
        make_call("a"),
        make_call("b"),
        make_inquiry("b.q.1"),
        make_inquiry("a.q.1"),
        make_answer("a.q.1"),
        make_result("a"),
        TurnStart(),
        make_inquiry("late"),
    )
    assert inquiries(*kinds) == [("a.q.1", 0), ("b.q.1", 1), ("late", None)]


def test_an_outline_counts_the_states_that_occur():
    kinds = (
        make_call("c"),
        make_inquiry("c.a.1"),
        make_answer("c.a.1"),
        make_inquiry("c.b.1"),
        make_inquiry("c.b.2"),
    )
    full_outline = outline.build_outline(stream(*kinds))
    assert full_outline.count_states() == {"answered": 1, "open": 2}
    assert outline.build_outline([]).count_states() == {}


def ask(inquiry_id, text="?", kind=None, question_id=None) -> Any:
    note = {"jpweb": {"question_id": question_id}} if question_id else None
    return make_element(make_inquiry(inquiry_id, text, type=kind), metadata=note)


def group_elements(*kinds) -> Any:
    (call,) = items(make_call("c"), *kinds)
    groups = call.question_groups
    assert [i for group in groups for i in group.attempts] != [] or not kinds
    return [[inquiry.inquiry_request.id for inquiry in attempts] for _, attempts in groups]


def test_attempts_are_grouped_by_the_question_that_jpweb_noted():
    kinds = (
        ask("c.a.1", "one", question_id="a"),
        ask("c.b.1", "one", question_id="b"),
        ask("c.a.2", "other words", answer_type.Text(), question_id="a"),
    )
    assert group_elements(*kinds) == [["c.a.1", "c.a.2"], ["c.b.1"]]
    (call,) = items(make_call("c"), *kinds)
    assert [group.key for group in call.question_groups] == ["a", "b"]
    assert [inquiry.inquiry_request.id for inquiry in call.inquiries] == ["c.a.1", "c.b.1", "c.a.2"]


def test_elsewhere_attempts_share_text_and_answer_type():
    kinds = (ask("q", "x"), ask("r", "y"), ask("q", "x"), ask("s", "x", answer_type.Text()))
    assert group_elements(*kinds) == [["q", "q"], ["r"], ["s"]]
    assert group_elements() == []


def test_a_question_id_that_is_no_text_is_not_used():
    odd = make_element(make_inquiry("q", "x"), metadata={"jpweb": {"question_id": 7}})
    assert group_elements(odd, ask("r", "x")) == [["q", "r"]]


def test_outline_assigns_300_inquiries_to_their_calls():
    calls = [make_call(f"c{n}") for n in range(300)]
    pairs = inquiries(*calls, *(make_inquiry(f"c{n}.q.1") for n in range(300)))
    assert [first for _, first in pairs] == list(range(300))


def test_a_census_counts_the_same_stream():
    kinds = (
        SAYS,
        make_call("c"),
        make_inquiry("c.q.1"),
        raw({"type": "weather"}),
        raw({"type": "turn_start"}),
    )
    stats = count_stream(stream(*kinds, TurnStart()))
    assert stats.to_json() == {
        "elements": 6,
        "kinds": {
            "chat_request": 1,
            "inquiry_request": 1,
            "tool_call_request": 1,
            "turn_start": 2,
            "weather": 1,
        },
        "turns": 3,
        "inquiries": {"unanswered": 1},
        "unanswered": 1,
        "unknown": 1,
        "broken": 1,
    }


@given(strategies.streams | strategies.questionings)
@settings(deadline=None, max_examples=choose_size(20, 80))
def test_inquiry_outline_equals_the_inquiries_of_the_full_outline(elements):
    full_outline = outline.build_outline(elements)
    partial_elements = [read_partial(element.raw) for element in elements]
    anchors = anchor_ids.number_anchors(glance.content_anchor for glance in partial_elements)
    _, turn_matches = grouping.group_and_match(partial_elements)
    sparse = outline.build_inquiry_outline(partial_elements, anchors, turn_matches)
    assert sparse == outline.build_inquiry_outline(
        [read_partial(element.raw) for element in elements], anchors
    )
    assert sparse.anchors == full_outline.anchors
    assert [(turn.index, turn.anchor, turn.first, turn.is_incomplete) for turn in sparse.turns] == [
        (turn.index, turn.anchor, turn.first, turn.is_incomplete) for turn in full_outline.turns
    ]
    assert [(inquiry, call and call.request) for inquiry, call in sparse.list_inquiries()] == [
        (inquiry, call and call.request) for inquiry, call in full_outline.list_inquiries()
    ]
