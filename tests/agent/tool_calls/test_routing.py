from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from jpweb.agent.config import DetachedPolicy, QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.tool_calls.routing import (
    AskBackend,
    AskPerson,
    Refuse,
    UseRemembered,
    UseStatic,
    is_reusable,
    route,
)
from jpweb.agent.tool_calls.turn_state import RememberedAnswer
from jpweb.agent.tool_outcome import Question
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

# The first row that matches decides (docs/jp-format.md, Who answers).
# static, remembered, secret, exclusive, persistence, target, reachable; how many; what happens
TABLE = """
 *        hit   no   *    turn  *          *    24  remembered
 invalid  *     *    *    *     *          *    56  refuse invalid_static_answer
 valid    *     no   *    *     *          *    24  static
 valid    *     yes  *    *     *          *    32  static
 none     *     yes  *    *     assistant  *    16  refuse assistant_routing_denied
 none     *     no   yes  *     assistant  *     6  refuse assistant_routing_denied
 none     *     no   no   *     assistant  *     6  backend
 none     *     no   *    turn  user       yes   2  person
 none     *     no   *    none  user       yes   4  person
 none     *     yes  *    *     user       yes   8  person
 none     *     yes  *    *     user       no    8  refuse no_prompt_backend
 none     *     no   yes  *     user       no    3  refuse no_prompt_backend
 none     *     no   no   *     user       no    3  backend
"""
ROWS = [line.split(maxsplit=8) for line in TABLE.strip().splitlines()]
CASES = list(
    product(
        ("none", "valid", "invalid"),
        ("hit", "miss"),
        ("yes", "no"),
        ("yes", "no"),
        ("turn", "none"),
        ("user", "assistant"),
        ("yes", "no"),
    )
)
# type, a static answer that fits, one that does not, a remembered answer
KINDS = {
    "boolean": (Boolean(), False, "false", True),
    "select": (Select((Option("a"), Option("b"))), "a", "c", "b"),
    "text": (Text(), "static", 1, "remembered"),
}
REASONS: dict[str, Any] = {reason.value: reason for reason in CancellationReason}
SECRET = (Secret(), "static", True, "remembered")


def list_matching_rows(case) -> Any:
    def fits(row) -> Any:
        return all(cell in ("*", value) for cell, value in zip(row, case, strict=False))

    return next(number for number, row in enumerate(ROWS) if fits(row))


def route_case(case, kind, detached=DetachedPolicy.AUTO, default=None) -> Any:
    static, remembered, _, exclusive, persistence, target, reachable = case
    answer_type, valid, invalid, memory = kind
    answers = {"none": None, "valid": StaticAnswer(valid), "invalid": StaticAnswer(invalid)}
    question = Question(
        "q",
        "?",
        answer_type,
        default,
        exclusive=exclusive == "yes",
        persistence=AnswerReusePolicy(persistence),
    )
    return route(
        question,
        QuestionConfig(QuestionTarget(target), answers[static]),
        RememberedAnswer(memory) if remembered == "hit" else None,
        is_person_reachable=reachable == "yes",
        detached_policy=detached,
    )


def find_expected_route(case, kind) -> Any:
    _, valid, _, memory = kind
    match ROWS[list_matching_rows(case)][8].split():
        case ["remembered"]:
            return UseRemembered(memory)
        case ["static"]:
            return UseStatic(valid)
        case ["refuse", reason]:
            return Refuse(REASONS[reason])
        case ["backend"]:
            return AskBackend()
        case _:
            return AskPerson()


def test_the_rows_cover_the_192_cases_as_often_as_the_table_says():
    assert len(CASES) == 192
    counts = Counter(list_matching_rows(case) for case in CASES)
    assert [counts[number] for number in range(len(ROWS))] == [int(row[7]) for row in ROWS]


def test_route_follows_the_table():
    faults = []
    for case, name in product(CASES, KINDS):
        kind = SECRET if case[2] == "yes" else KINDS[name]
        decision = route_case(case, kind)
        if decision != find_expected_route(case, kind):
            faults.append(f"{'-'.join(case)} {name}: {decision}")
    assert not faults, "\n".join(faults)


# The policies on top: they decide what is for a person where none can answer, and nothing else.


def nobody_can_answer(case) -> bool:
    return ROWS[list_matching_rows(case)][5:7] == ["user", "no"]


def test_fourteen_of_the_192_cases_are_for_a_person_who_is_not_there():
    assert sum(nobody_can_answer(case) for case in CASES) == 14


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("detached", DetachedPolicy)
@pytest.mark.parametrize("default", ["none", "valid", "invalid"])
def test_detached_policy_applies_only_when_no_person_can_answer(name, detached, default):
    for case in CASES:
        kind = SECRET if case[2] == "yes" else KINDS[name]
        _, valid, invalid, _ = kind
        value = {"none": None, "valid": valid, "invalid": invalid}[default]
        decision = route_case(case, kind, detached, value)
        if not nobody_can_answer(case) or detached is DetachedPolicy.AUTO:
            assert decision == find_expected_route(case, kind)
        elif detached is DetachedPolicy.WAIT:
            assert decision == AskPerson()
        elif detached is DetachedPolicy.DEFAULTS and default == "valid" and case[2] == "no":
            assert decision == UseStatic(valid)
        else:
            assert decision == Refuse(CancellationReason.NO_PROMPT_BACKEND)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (Secret(), "hunter2"),
        (Boolean(), "true"),
        (Boolean(), 1),
        (Select((Option("a"),)), "b"),
        (Text(), False),
        (Text(), None),
        (Select((Option(None),)), None),
    ],
)
def test_a_default_of_a_secret_or_of_another_type_answers_nothing(kind, default):
    question = Question("q", "?", kind, default)
    decision = route(
        question,
        QuestionConfig(),
        None,
        is_person_reachable=False,
        detached_policy=DetachedPolicy.DEFAULTS,
    )
    assert decision == Refuse(CancellationReason.NO_PROMPT_BACKEND)


@pytest.mark.parametrize(
    ("kind", "default"), [(Boolean(), False), (Text(), ""), (Select((Option(0),)), 0)]
)
def test_falsy_default_counts_as_a_default(kind, default):
    question = Question("q", "?", kind, default)
    decision = route(
        question,
        QuestionConfig(),
        None,
        is_person_reachable=False,
        detached_policy=DetachedPolicy.DEFAULTS,
    )
    assert decision == UseStatic(default)


def test_default_answers_an_exclusive_question_under_policy_defaults():
    question = Question("q", "?", Text(), "x", exclusive=True)
    decision = route(
        question,
        QuestionConfig(),
        None,
        is_person_reachable=False,
        detached_policy=DetachedPolicy.DEFAULTS,
    )
    assert decision == UseStatic("x")


def test_null_can_be_a_remembered_and_a_static_answer():
    question = Question("q", "?", Select((Option(None), Option("a"))))
    static = QuestionConfig(answer=StaticAnswer(None))
    assert route(question, static, None, is_person_reachable=True) == UseStatic(None)
    memory = RememberedAnswer(None)
    assert route(question, static, memory, is_person_reachable=True) == UseRemembered(None)


def test_a_remembered_answer_of_another_type_counts_as_none():
    memory = RememberedAnswer(value=True)
    question = Question("q", "?", Text())
    assert route(question, QuestionConfig(), memory, is_person_reachable=True) == AskPerson()


@pytest.mark.parametrize(
    ("answer_type", "persistence", "may_be_remembered"),
    [
        (Boolean(), AnswerReusePolicy.TURN, True),
        (Text(), AnswerReusePolicy.TURN, True),
        (Boolean(), AnswerReusePolicy.NONE, False),
        (Secret(), AnswerReusePolicy.TURN, False),
        (Secret(), AnswerReusePolicy.NONE, False),
    ],
)
def test_secret_or_unpersisted_question_is_not_reusable(
    answer_type, persistence, may_be_remembered
):
    question = Question("q", "?", answer_type, persistence=persistence)
    assert is_reusable(question) is may_be_remembered
