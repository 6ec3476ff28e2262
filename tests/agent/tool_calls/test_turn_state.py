from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.tool_calls.turn_state import AnswerKey, RememberedAnswer, TurnState
from jpweb.agent.tool_outcome import CallBoundaries, Question
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)
from tests.builders import AT, make_answer, make_element, make_inquiry, make_result, raw


def request(tool_call_id, question_id, **options) -> Any:
    note = {"tool_call_id": tool_call_id, "question_id": question_id, **options}
    return make_element(make_inquiry("opaque"), metadata={"jpweb": note})


def test_attempts_count_from_one_for_each_call_and_question():
    state = TurnState()
    keys = [("a", "q"), ("a", "q"), ("a", "r"), ("b", "q"), ("a", "q")]
    assert [state.count_attempt(*key)[0] for key in keys] == [1, 2, 1, 1, 3]


def test_dots_in_ids_do_not_mix_up_attempts():
    state = TurnState()
    assert state.count_attempt("a.b", "c") == (1, "a.b.c.1")
    assert state.count_attempt("a", "b.c") == (2, "a.b.c.2")


def test_turn_state_from_elements_continues_the_attempt_count():
    state = TurnState.from_elements([request("a", "q", attempt=1), request("a", "q", attempt=2)])
    assert state.count_attempt("a", "q") == (3, "a.q.3")
    assert state.count_attempt("a", "other") == (1, "a.other.1")


@pytest.mark.parametrize("ids", [["a.q.1"], ["a.q.2", "a.q.1"]], ids=["one", "two"])
def test_resumed_turn_uses_no_inquiry_id_of_another_program_again(ids):
    state = TurnState.from_elements([make_element(make_inquiry(inquiry_id)) for inquiry_id in ids])
    number = len(ids) + 1
    assert state.count_attempt("a", "q") == (number, f"a.q.{number}")
    assert state.count_attempt("b", "q") == (1, "b.q.1")


@pytest.mark.parametrize(("id_", "number"), [("a.q.1", 2), (None, 1), (7, 1)], ids=str)
def test_resumed_turn_counts_requests_that_it_cannot_read(id_, number):
    broken = raw({"timestamp": AT, "type": "inquiry_request", "id": id_, "question": {}})
    assert broken.kind is None
    assert TurnState.from_elements([broken]).count_attempt("a", "q")[0] == number


def test_turn_state_from_elements_skips_malformed_notes():
    odd = [{"tool_call_id": "a"}, {"tool_call_id": 1, "question_id": "q"}, "text", None]
    elements = [
        *(make_element(make_inquiry("a.q.1"), metadata={"jpweb": note}) for note in odd),
        make_element(
            make_result("a"), metadata={"jpweb": {"tool_call_id": "a", "question_id": "q"}}
        ),
        raw({"type": "later_kind"}),
    ]
    state = TurnState.from_elements(elements)
    assert (state.take_answers("a"), state.take_unanswered("a"), state.is_paused("a")) == (
        [],
        [],
        False,
    )


def test_a_new_turn_remembers_nothing_and_a_resumed_one_neither():
    first = TurnState()
    first.remembered_tool_answers[AnswerKey("tool", "q")] = RememberedAnswer(None)
    assert TurnState().remembered_tool_answers == {}
    assert TurnState.from_elements([request("a", "q")]).remembered_tool_answers == {}


def response(kind, **note) -> Any:
    return make_element(kind, metadata={"jpweb": note})


def test_turn_state_from_elements_has_remembered_answers():
    state = TurnState.from_elements(
        [
            request("a", "q", tool="fs"),
            response(make_answer("opaque", None), remember=True),
            request("a", "q", tool="fs"),
            response(make_answer("opaque", "later"), remember=True),
        ]
    )
    assert state.remembered_tool_answers == {AnswerKey("fs", "q"): RememberedAnswer("later")}
    assert state.remembered_permission_decisions == {}


@pytest.mark.parametrize(
    "elements",
    [
        [request("a", "q", tool="fs"), response(make_answer("opaque"))],
        [request("a", "q", tool="fs"), response(make_answer("opaque"), remember=False)],
        [request("a", "q", tool="fs"), response(make_answer("opaque"), remember="true")],
        [
            request("a", "q", tool="fs"),
            make_element(make_answer("opaque"), metadata={"jpweb": "remember"}),
        ],
        [request("a", "q", tool="fs"), response(make_answer("another"), remember=True)],
        [request("a", "q"), response(make_answer("opaque"), remember=True)],
        [
            request("a", "q", tool="fs"),
            response(InquiryResponse("opaque", Redacted()), remember=True),
        ],
        [
            request("a", "q", tool="fs"),
            response(InquiryResponse("opaque", Cancelled(CancellationReason.USER)), remember=True),
        ],
    ],
)
def test_turn_state_from_elements_ignores_other_answers(elements):
    assert TurnState.from_elements(elements).remembered_tool_answers == {}


# boundaries

DECLINE = InquiryResponse("opaque", Cancelled(CancellationReason.USER))
ASKED = Question("q", "?", Boolean())


@pytest.mark.parametrize(
    ("restart", "is_kept"), [(0, True), (5, True), (6, True), (8, False), (9, True)]
)
def test_restart_discards_the_decline_and_the_grant_before_it(restart, is_kept):
    asked = InquiryRequest("opaque", InquirySource.for_tool("a"), ASKED.to_inquiry_question())
    note = {"tool_call_id": "a", "question_id": "q", "permitted": True}
    elements = [make_element(asked, metadata={"jpweb": note}), response(DECLINE)]
    state = TurnState.from_elements(elements, CallBoundaries(restart), 6)
    assert (state.take_closed("a", ASKED, asked.source) is not None) is is_kept
    assert state.is_paused("a") is is_kept
    assert (state.take_grant("a", "") is not None) is is_kept
    assert state.count_attempt("a", "q") == (2, "a.q.2")


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize(("takeover", "is_paused"), [(0, True), (7, True), (8, False), (9, True)])
def test_takeover_ends_the_pause_of_a_call_that_had_its_answer(takeover, is_paused, crashed):
    elements = [request("a", "q"), response(make_answer("opaque")), request("a", "r")]
    elements = elements[: 2 if takeover < 9 else 3]
    boundaries = CallBoundaries(takeover=takeover)
    state = TurnState.from_elements(elements, boundaries, 6, has_crashed=crashed)
    assert state.is_paused("a") is is_paused
    assert [answer.value for answer in state.take_answers("a")] == [True]


def test_restart_leaves_a_question_open_whose_answer_comes_after_it():
    elements = [request("a", "q"), response(make_answer("opaque"))]
    state = TurnState.from_elements(elements, CallBoundaries(restart=1))
    assert [answer.value for answer in state.take_answers("a")] == [True]
    assert state.is_paused("a")
    assert state.take_grant("a", "") is None
