from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from jpweb.agent.calls.routing import (
    AskBackend,
    AskPerson,
    Refuse,
    UseRemembered,
    UseStatic,
    reusable,
    route,
)
from jpweb.agent.calls.state import Remembered
from jpweb.agent.config import QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.outcome import Question
from jpweb.stream.answers import Boolean, Option, Secret, Select, Text
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

# The table of reference/jp-inquiry-runtime.md, section 10.1: the first row that matches decides.
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


def matching(case) -> Any:
    def fits(row) -> Any:
        return all(cell in ("*", value) for cell, value in zip(row, case, strict=False))

    return next(number for number, row in enumerate(ROWS) if fits(row))


def routed(case, kind) -> Any:
    static, remembered, _, exclusive, persistence, target, reachable = case
    answer_type, valid, invalid, memory = kind
    answers = {"none": None, "valid": StaticAnswer(valid), "invalid": StaticAnswer(invalid)}
    question = Question(
        "q",
        "?",
        answer_type,
        exclusive=exclusive == "yes",
        persistence=AnswerReusePolicy(persistence),
    )
    return route(
        question,
        QuestionConfig(QuestionTarget(target), answers[static]),
        Remembered(memory) if remembered == "hit" else None,
        reachable=reachable == "yes",
    )


def expected(case, kind) -> Any:
    _, valid, _, memory = kind
    match ROWS[matching(case)][8].split():
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
    counts = Counter(matching(case) for case in CASES)
    assert [counts[number] for number in range(len(ROWS))] == [int(row[7]) for row in ROWS]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_question_goes_where_the_table_says(case, name):
    kind = SECRET if case[2] == "yes" else KINDS[name]
    assert routed(case, kind) == expected(case, kind)


def test_null_can_be_a_remembered_and_a_static_answer():
    question = Question("q", "?", Select((Option(None), Option("a"))))
    static = QuestionConfig(answer=StaticAnswer(None))
    assert route(question, static, None, reachable=True) == UseStatic(None)
    remembered = Remembered(None)
    assert route(question, static, remembered, reachable=True) == UseRemembered(None)


def test_a_remembered_answer_of_another_type_counts_as_none():
    remembered = Remembered(value=True)
    question = Question("q", "?", Text())
    assert route(question, QuestionConfig(), remembered, reachable=True) == AskPerson()


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
def test_neither_secrets_nor_persistence_none_may_be_remembered(
    answer_type, persistence, may_be_remembered
):
    question = Question("q", "?", answer_type, persistence=persistence)
    assert reusable(question) is may_be_remembered
