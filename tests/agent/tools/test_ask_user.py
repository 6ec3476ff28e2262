from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.agent.config import QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.ports import Answer
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.tools.ask_user import AskUser
from jpweb.stream.answer_type import Boolean, Option, Select, Text
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquirySource,
    SourceTag,
)
from tests.agent.doubles import ToolBench

SELECT = {"question": "Which?", "answer_type": "select", "options": ["a", "b"]}
YES_NO = {"question": "Sure?", "answer_type": "boolean"}
TEXT = {"question": "Where?"}


async def execute(arguments, answers=None) -> Any:
    return await AskUser().execute(arguments, answers or {})


def question(text, answer_type, **options) -> Any:
    return Question(
        "answer",
        text,
        answer_type,
        exclusive=True,
        persistence=AnswerReusePolicy.NONE,
        **options,
    )


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (TEXT, question("Where?", Text())),
        ({**TEXT, "answer_type": "text"}, question("Where?", Text())),
        ({**TEXT, "answer_type": None}, question("Where?", Text())),
        ({**TEXT, "default": ""}, question("Where?", Text(), default="")),
        ({**TEXT, "default": None, "options": None, "context": None}, question("Where?", Text())),
        ({**TEXT, "context": "Two\nlines."}, question("Where?", Text(), context="Two\nlines.")),
        (YES_NO, question("Sure?", Boolean())),
        ({**YES_NO, "default": False}, question("Sure?", Boolean(), default=False)),
        (SELECT, question("Which?", Select((Option("a"), Option("b"))))),
        (
            {**SELECT, "default": "b"},
            question("Which?", Select((Option("a"), Option("b"))), default="b"),
        ),
    ],
)
async def test_arguments_become_a_question_for_a_person(arguments, question):
    assert await execute(arguments) == NeedsInput(question)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "“question” is required"),
        ({"question": ""}, "“question” is required"),
        ({"question": " \t"}, "“question” is required"),
        ({"question": 7}, "“question” is required"),
        ({"question": "One\nTwo?"}, "Put everything else in “context”"),
        ({"question": "One\rTwo?"}, "single line"),
        ({"question": "One\u2028Two?"}, "single line"),
        ({"question": "One\u2029Two?"}, "single line"),
        ({**TEXT, "context": ["a"]}, "“context” must be a string"),
        ({**TEXT, "answer_type": "secret"}, "“boolean”, “select” or “text”"),
        ({**TEXT, "answer_type": ["text"]}, "“boolean”, “select” or “text”"),
        ({**TEXT, "answer_type": ""}, "“boolean”, “select” or “text”"),
        ({**SELECT, "options": None}, "“options” is required for “select”"),
        ({**SELECT, "options": []}, "“options” is required for “select”"),
        ({**SELECT, "options": "a"}, "“options” is required for “select”"),
        ({**SELECT, "options": ["a", ""]}, "non-empty string"),
        ({**SELECT, "options": ["a", " "]}, "non-empty string"),
        ({**SELECT, "options": ["a", 1]}, "non-empty string"),
        ({**SELECT, "options": ["a", "b", "a"]}, "Remove the duplicates"),
        ({**SELECT, "options": [*map(str, range(501))]}, "this one has 501"),
        ({**SELECT, "options": ["a\0", "b"]}, "can't be asked for: an option has the character"),
        ({**TEXT, "options": ["a"]}, "change “answer_type” from “text”"),
        ({**YES_NO, "options": []}, "change “answer_type” from “boolean”"),
        ({**YES_NO, "default": "true"}, "true or false for “boolean”, without quotes"),
        ({**YES_NO, "default": 1}, "true or false for “boolean”"),
        ({**SELECT, "default": "c"}, "one of the “options”"),
        ({**SELECT, "default": True}, "one of the “options”"),
        ({**TEXT, "default": True}, "a string for “text”"),
    ],
)
async def test_bad_arguments_fail_and_say_how_to_do_better(arguments, message):
    outcome = await execute(arguments)
    assert isinstance(outcome, Failed)
    assert message in outcome.message


@pytest.mark.parametrize(
    ("arguments", "answer", "content"),
    [
        (YES_NO, True, '{"answer_type":"boolean","answer":true}'),
        (SELECT, "b", '{"answer_type":"select","answer":"b"}'),
        (TEXT, "true", '{"answer_type":"text","answer":"true"}'),
        (TEXT, "", '{"answer_type":"text","answer":""}'),
        (TEXT, "Grüße", '{"answer_type":"text","answer":"Grüße"}'),
    ],
)
async def test_the_result_says_type_and_answer(arguments, answer, content):
    assert await execute(arguments, {"answer": answer}) == Success(content)


@pytest.mark.parametrize(
    ("arguments", "answer"), [(YES_NO, "true"), (SELECT, "c"), (TEXT, True), (TEXT, None)]
)
async def test_an_answer_that_does_not_fit_fails(arguments, answer):
    assert await execute(arguments, {"answer": answer}) == Failed(
        "The accumulated answer does not match the requested answer type."
    )


def test_ask_user_inquiry_source_is_the_assistant():
    source = AskUser().make_inquiry_source("ask_user")
    assert source == InquirySource(SourceTag.ASSISTANT)
    assert source.to_fields() == {"source": "assistant"}


def test_ask_user_question_label_is_assistant():
    assert {"answer": QuestionConfig(prompt_label="Assistant")} == AskUser.QUESTIONS


def test_ask_user_description_names_improper_uses():
    assert "do not ask for what you can work out" in AskUser.DESCRIPTION
    assert "Never collect secrets" in AskUser.DESCRIPTION


def test_the_parameters_are_those_of_rfd_083():
    schema = json.loads(json.dumps(AskUser.PARAMETERS))
    assert schema["required"] == ["question"]
    assert schema["additionalProperties"] is False
    types = {name: value["type"] for name, value in schema["properties"].items()}
    assert types == {
        "question": "string",
        "context": "string",
        "answer_type": "string",
        "options": "array",
        "default": ["boolean", "string"],
    }
    assert schema["properties"]["answer_type"]["enum"] == ["boolean", "select", "text"]
    assert schema["properties"]["options"]["items"] == {"type": "string"}


async def test_asked_through_the_coordinator_it_is_on_record_as_the_assistants():
    bench = ToolBench((AskUser(),), [Answer("b")])
    await bench.run([ToolCallRequest("c1", "ask_user", SELECT)])
    [request] = bench.recorder.of(InquiryRequest)
    assert request.id == "c1.answer.1"
    assert request.source == InquirySource(SourceTag.ASSISTANT)
    assert request.question.exclusive
    assert request.question.persistence is AnswerReusePolicy.NONE
    assert bench.recorder.results == [("c1", '{"answer_type":"select","answer":"b"}', False)]


def is_pinned(config) -> Any:
    tool = AskUser()
    tool.QUESTIONS = {"answer": config}
    return ToolBench((tool,))


async def test_a_pinned_answer_needs_no_person():
    bench = is_pinned(QuestionConfig(answer=StaticAnswer("a")))
    bench.prompter.is_reachable = False
    await bench.run([ToolCallRequest("c1", "ask_user", SELECT)])
    assert bench.recorder.outcomes == [Answered("a")]
    assert bench.recorder.results == [("c1", '{"answer_type":"select","answer":"a"}', False)]


async def test_ask_user_question_is_never_routed_to_the_assistant():
    bench = is_pinned(QuestionConfig(QuestionTarget.ASSISTANT))
    await bench.run([ToolCallRequest("c1", "ask_user", SELECT)])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.ASSISTANT_ROUTING_DENIED)]


async def test_ask_user_asks_again_even_if_the_answer_was_to_be_remembered():
    bench = ToolBench((AskUser(),), [Answer("a", remember=True), Answer("b")])
    await bench.run([ToolCallRequest("c1", "ask_user", SELECT)])
    await bench.run([ToolCallRequest("c2", "ask_user", SELECT)])
    assert bench.recorder.outcomes == [Answered("a"), Answered("b")]
