from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.ports import Answer
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.tools.local.output_parser import parse_outcome
from jpweb.agent.tools.local.subprocess_runner import ProcessResult
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryRequest
from tests.agent.doubles import StubTool, ToolBench
from tests.builders import make_call

FAILED = '{"message":"Tool \'probe\' execution failed.","stderr":"bad","stdout":"x"}'


def as_said(value: Any) -> Any:
    return value


def read(stdout: str | bytes, code: int = 0, stderr: bytes = b"") -> Any:
    stdout_bytes = stdout if isinstance(stdout, bytes) else stdout.encode()
    return parse_outcome("probe", ProcessResult(code, stdout_bytes, stderr), as_said)


def ask(**fields: Any) -> Any:
    question = {"id": "q", "text": "Q?", "answer_type": "Text"} | fields
    return read(json.dumps({"type": "needs_input", "question": question}))


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        ('{"type":"success","content":"text"}', Success("text")),
        (' \n{"type":"success","content":"text","more":1}\n', Success("text")),
        (
            '{"type":"error","message":"m","trace":["a"],"transient":true}',
            Failed('{"message":"m","trace":["a"]}'),
        ),
        (
            '{"type":"error","message":"m","trace":[],"transient":false}\n',
            Failed('{"type":"error","message":"m","trace":[],"transient":false}\n'),
        ),
        (
            '{"type":"needs_input","question":{"id":"q","text":"Q?","answer_type":"Text"}}',
            NeedsInput(Question("q", "Q?", Text())),
        ),
    ],
)
def test_outcome_in_the_output_precedes_the_exit_status(stdout, expected, code):
    assert read(stdout, code) == expected


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        "text",
        "log line\n" + '{"type":"success","content":"text"}',
        '{"type":"success","content":"a"}{"type":"success","content":"b"}',
        '{"type":"success","content":1}',
        '{"type":"success"}',
        '{"type":"error","message":"m","transient":true}',
        '{"type":"error","message":"m","trace":[],"transient":1}',
        '{"type":"other"}',
        '{"type":"success","content":"\\ud800"}',
        '{"type":"success","content":"x","n":NaN}',
        '"success"',
        "[" * 100_000,
    ],
)
def test_output_that_is_no_outcome_is_returned_as_text(stdout):
    assert read(stdout) == Success(stdout)


def test_bytes_that_are_no_text_are_replaced():
    assert read(b"a\xffb") == Success("a\N{REPLACEMENT CHARACTER}b")


def test_failed_program_outcome_has_its_output():
    assert read("x", 3, b"bad") == Failed(FAILED)


@pytest.mark.parametrize(
    ("type_json", "kind"),
    [
        ("Boolean", Boolean()),
        ({"Boolean": None}, Boolean()),
        ({"type": "boolean"}, Boolean()),
        ({"type": "text"}, Text()),
        ({"Text": {}}, Text()),
        ("Secret", Secret()),
        ({"type": "secret"}, Secret()),
        ({"Select": {"options": ["a", "b"]}}, Select((Option("a"), Option("b")))),
        (
            {"type": "select", "options": ["a", {"value": "b", "description": "B"}]},
            Select((Option("a"), Option("b", "B"))),
        ),
    ],
)
def test_answer_types_are_read_in_either_spelling(type_json, kind):
    assert ask(answer_type=type_json) == NeedsInput(Question("q", "Q?", kind))


@pytest.mark.parametrize(
    ("fields", "extra_fields"),
    [
        ({"pre_amble": "before"}, {"context": "before"}),
        ({"context": "after"}, {"context": "after"}),
        ({"pre_amble": "before", "context": "after"}, {"context": "after"}),
        ({"pre_amble": None, "default": None}, {}),
        ({"exclusive": True}, {"exclusive": True}),
        ({"persistence": "none"}, {"persistence": AnswerReusePolicy.NONE}),
        ({"default": "d"}, {"default": "d"}),
        ({"default": 7}, {}),
        ({"unknown": 1}, {}),
    ],
)
def test_the_other_keys_are_optional(fields, extra_fields):
    assert ask(**fields) == NeedsInput(Question("q", "Q?", Text(), **extra_fields))


async def test_default_of_a_secret_question_is_recorded_nowhere():
    def run(_arguments, answers):
        return Success("done") if answers else ask(answer_type="Secret", default="canary-37")

    bench = ToolBench((StubTool("probe", run),), [Answer("word")])
    await bench.run([make_call("c1", "probe")])
    assert bench.recorder.results == [("c1", "done", False)]
    assert [request.question.default for request in bench.recorder.of(InquiryRequest)] == [None]
    assert "canary" not in bench.recorder.raw()


@pytest.mark.parametrize("question_id", ["", "a.b"])
def test_a_bad_id_is_for_the_executor_to_refuse(question_id):
    assert ask(id=question_id) == NeedsInput(Question(question_id, "Q?", Text()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 7}, "it must be an object with an “id”"),
        ({"text": None}, "“text”"),
        ({"answer_type": "Number"}, "unknown answer type"),
        ({"answer_type": {"Number": None}}, "unknown answer type"),
        ({"answer_type": {"type": "select", "options": []}}, "at least one option"),
        ({"answer_type": {"type": "select", "options": [*range(501)]}}, "up to 500 options"),
        ({"answer_type": {"type": "select", "options": ["x" * 50_001]}}, "up to 50,000 characters"),
        *(
            ({"answer_type": {"type": "select", "options": [option]}}, "has the character NUL")
            for option in ("a\0", {"value": [{"b": "a\0"}]}, {"value": {"a\0": 1}})
        ),
        ({"answer_type": "Select"}, "“options” must be a list"),
        ({"exclusive": "yes"}, "“exclusive”"),
        ({"persistence": "ever"}, "“persistence”"),
        ({"context": 7}, "“context”"),
    ],
)
def test_invalid_question_in_the_output_fails_with_the_reason(fields, message):
    outcome = ask(**fields)
    assert isinstance(outcome, Failed)
    assert outcome.message.startswith("probe asked a question that cannot be put: ")
    assert message in outcome.message


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("1e999", "inf is not a number"),
        ('{"value": -1e999}', "-inf is not a number"),
        ("[" * 125 + "]" * 125, "nested too deeply"),
    ],
)
def test_option_that_no_record_can_hold_fails_the_call(option: str, reason: str):
    answer_type = f'{{"type": "select", "options": ["a", {option}]}}'
    question = f'{{"id": "q", "text": "Q?", "default": "a", "answer_type": {answer_type}}}'
    assert read(f'{{"type": "needs_input", "question": {question}}}') == Failed(
        f"probe asked a question that cannot be put: {reason}. This is a mistake in the tool. "
        "Do not retry; continue without it."
    )


def test_a_question_that_is_no_object_says_so():
    assert "it must be an object" in read('{"type":"needs_input","question":"Q?"}').message


@given(content=st.text(st.characters(exclude_categories=["Cs"])), code=st.integers(0, 255))
def test_parse_output_keeps_any_success_content(content, code):
    assert read(json.dumps({"type": "success", "content": content}), code) == Success(content)


@given(stdout=st.binary(), code=st.integers(0, 255))
def test_parse_output_of_any_text_is_success_or_failed(stdout, code):
    assert isinstance(read(stdout, code), Success if code == 0 else Failed)
