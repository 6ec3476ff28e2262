"""The model that the secondary assistant is: the question's, that of all questions, the turn's."""

from __future__ import annotations

import pytest

from jpweb.agent.config import InquiryConfig, ModelConfig
from tests.agent.tool_calls.inquiring.bench import MAIN, BackendBench, make_reply

ALL, OWN = ModelConfig("vendor", "of all"), ModelConfig("vendor", "of the question")


@pytest.mark.parametrize(
    ("of_all", "of_question", "expected"), [(None, None, MAIN), (ALL, None, ALL), (ALL, OWN, OWN)]
)
async def test_the_model_of_the_question_comes_before_that_of_all_and_the_turns(
    of_all, of_question, expected
):
    bench = BackendBench(make_reply(answer=True), inquiry=InquiryConfig(model=of_all))
    await bench.inquire(model=of_question)
    assert bench.opened_models == [expected]


async def test_parameters_without_a_model_are_those_of_the_turns_model():
    bench = BackendBench(
        make_reply(answer=True), inquiry=InquiryConfig(model=ModelConfig("", "", {"top_k": 1}))
    )
    await bench.inquire()
    assert bench.opened_models == [ModelConfig("vendor", "main", {"top_k": 1})]


@pytest.mark.parametrize(
    ("of_all", "expected"),
    [
        (None, ModelConfig("vendor", "main", {"top_k": 2})),
        (
            ModelConfig("", "", {"top_p": 1}),
            ModelConfig("vendor", "main", {"top_p": 1, "top_k": 2}),
        ),
        (
            ModelConfig("vendor", "of all", {"top_k": 1, "top_p": 1}),
            ModelConfig("vendor", "of all", {"top_k": 2, "top_p": 1}),
        ),
    ],
)
async def test_parameters_of_a_question_join_those_of_the_model_below(of_all, expected):
    bench = BackendBench(make_reply(answer=True), inquiry=InquiryConfig(model=of_all))
    await bench.inquire(model=ModelConfig("", "", {"top_k": 2}))
    assert bench.opened_models == [expected]
