"""The law of redaction: no field that a tool can say holds a secret it was given, however encoded.

The fields are walked from the protocol's types; a new one without a row fails here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import pytest

from jpweb.agent.ports import Answer
from jpweb.agent.redaction import SecretAnswer, redact_value
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.executor import ToolExecutor
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success, ToolOutcome
from jpweb.agent.tools.local.output_parser import parse_outcome
from jpweb.agent.tools.local.subprocess_runner import ProcessResult
from jpweb.agent.tools.mcp.elicitation import Elicitation
from jpweb.agent.turn_setup import TurnSetup, make_default_config
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.events import ToolCallRequest
from tests.agent.doubles import OutsideStub, StubTool, setup_of, wait_forever
from tests.agent.redaction.encodings import ENCODINGS

SECRET = "p&ss <w\"ö'r\\d>/%"
GIVEN = SecretAnswer(SECRET)
Say = Callable[[str], ToolOutcome]


def make_needs_input(**overrides: Any) -> ToolOutcome:
    usual: dict[str, Any] = {"id": "q", "text": "?", "answer_type": Text()}
    return NeedsInput(Question(**usual | overrides))


def make_select_question(*options: Option) -> ToolOutcome:
    return make_needs_input(answer_type=Select(options))


#: What a tool says where a field holds a text; None where it can hold none of the tool's.
FIELDS: dict[str, Say | None] = {
    "Success.content": Success,
    "Failed.message": Failed,
    "NeedsInput.question": None,
    "Question.id": lambda said: make_needs_input(id=said.replace(".", "")),
    "Question.text": lambda said: make_needs_input(text=f"Is it {said}?"),
    "Question.answer_type": None,
    "Question.default": lambda said: make_needs_input(default={said: [said, {"deep": said}]}),
    "Question.context": lambda said: make_needs_input(context=said),
    "Question.exclusive": None,
    "Question.persistence": None,
    "Select.options": None,
    "Option.value": lambda said: make_select_question(Option({said: [said]}), Option(said)),
    "Option.description": lambda said: make_select_question(Option("a", said)),
}


def iterate_field_names() -> Iterator[str]:
    kinds = (*get_args(ToolOutcome), Question, *get_args(AnswerType), Option)
    return (f"{kind.__name__}.{field.name}" for kind in kinds for field in fields(kind))


def test_redaction_table_has_a_row_for_every_field_of_the_protocol():
    assert set(iterate_field_names()) == set(FIELDS)


SAYS = {name: say for name, say in FIELDS.items() if say is not None}


def core(encoding: str) -> str:
    """Return what may not be left: the encoded secret without what surrounds it."""
    text = ENCODINGS[encoding](SECRET)
    return text.removeprefix('{"inner": "{').removesuffix('}"}').strip("\\\"'=")


def join_texts(value: object) -> str:
    """Return everything that is kept of what a tool said, with no escapes of its own."""
    return "\n".join(_iterate_texts(value))


def _iterate_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        field_names = (field.name for field in fields(value) if field.repr)
        yield from _iterate_texts([getattr(value, name) for name in field_names])
    elif isinstance(value, dict):
        yield from _iterate_texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_texts(part)


def executor(tool: Any) -> ToolExecutor:
    outside_tools = {tool.NAME: tool} if isinstance(tool, OutsideStub) else {}
    builtins = () if outside_tools else (tool,)
    return ToolExecutor(
        TurnSetup(tools=(make_default_config(tool),), builtins=builtins, outside=outside_tools)
    )


@pytest.mark.parametrize("field", SAYS)
@pytest.mark.parametrize("is_outside", [True, False], ids=["outside", "built-in"])
async def test_executed_tool_says_no_secret_in_any_field(field: str, is_outside: bool):
    for encoding in ENCODINGS:
        await _execute(field, encoding, is_outside)


async def _execute(field: str, encoding: str, is_outside: bool) -> None:
    outcome = SAYS[field](ENCODINGS[encoding](SECRET))

    async def run(*_: Any) -> ToolOutcome:
        return outcome

    tool: Any = OutsideStub("tool", run) if is_outside else StubTool("tool", lambda *_: outcome)
    result = await executor(tool).execute("tool", {}, {"key": GIVEN}, wait_forever)
    assert core(encoding) not in join_texts(result), encoding
    assert not isinstance(outcome, NeedsInput) or core(encoding) not in repr(result)
    if field == "Question.id":
        assert result == Failed(model_messages.describe_secret_in_id("tool"))


@pytest.mark.parametrize("field", SAYS)
async def test_executed_tool_says_no_secret_of_another_call_in_any_field(field: str):
    for encoding in ENCODINGS:
        outcome = SAYS[field](ENCODINGS[encoding](SECRET))

        def run(_arguments: Any, answers: Any, outcome: ToolOutcome = outcome) -> ToolOutcome:
            return Success("done") if answers else outcome

        tool_executor = executor(StubTool("tool", run))
        await tool_executor.execute("tool", {}, {"key": GIVEN}, wait_forever)
        result = await tool_executor.execute("tool", {}, {}, wait_forever)
        assert core(encoding) not in join_texts(result), encoding


async def test_formatter_shows_no_secret_that_another_call_was_given():
    def run(*_: Any) -> ToolOutcome:
        return Success("done")

    async def show(arguments: Mapping[str, Any]) -> str:
        return str(arguments["said"])

    setup = setup_of((StubTool("tool", run),), {}, formatters={"tool": show})
    tool_executor = ToolExecutor(setup)
    await tool_executor.execute("tool", {}, {"key": GIVEN}, wait_forever)
    for encoding in ENCODINGS:
        call = ToolCallRequest("c1", "tool", {"said": f"Is it {ENCODINGS[encoding](SECRET)}?"})
        formatted = await tool_executor.format_call(call)
        assert formatted is not None
        assert core(encoding) not in formatted, encoding


#: What a local tool writes to its standard output, and to its standard error.
LOCAL: dict[str, Callable[[str], Any]] = {
    "content": lambda said: {"type": "success", "content": said},
    "message": lambda said: {"type": "error", "message": said, "trace": [], "transient": True},
    "trace": lambda said: {"type": "error", "message": "m", "trace": [said], "transient": True},
    "refused": lambda said: {"type": "error", "message": said, "trace": [], "transient": False},
    "broken": lambda said: {"type": "needs_input", "question": {"id": said}},
    "type": lambda said: {
        "type": "needs_input",
        "question": {"id": "q", "text": "?", "answer_type": f"{'x' * 60}{said}"},
    },
    "pre_amble": lambda said: {
        "type": "needs_input",
        "question": {"id": "q", "text": "?", "answer_type": "Text", "pre_amble": said},
    },
    "no JSON": str,
}


@pytest.mark.parametrize("place", LOCAL)
@pytest.mark.parametrize("code", [0, 1])
async def test_local_tool_says_no_secret_in_its_output(place: str, code: int):
    for encoding in ENCODINGS:
        await _run(place, encoding, code)


async def _run(place: str, encoding: str, code: int) -> None:
    output = LOCAL[place](ENCODINGS[encoding](SECRET))
    stdout = output if isinstance(output, str) else json.dumps(output)
    process_result = ProcessResult(code, stdout.encode(), ENCODINGS[encoding](SECRET).encode())

    async def run(*_: Any) -> ToolOutcome:
        return parse_outcome("tool", process_result, lambda value: redact_value([GIVEN], value))

    result = await executor(OutsideStub("tool", run)).execute(
        "tool", {}, {"key": GIVEN}, wait_forever
    )
    assert core(encoding)[:20] not in join_texts(result), encoding


async def test_local_question_that_is_broken_names_no_piece_of_a_secret():
    question = {"id": "q", "text": "?", "answer_type": f"{'x' * 50}{SECRET}"}
    stdout = json.dumps({"type": "needs_input", "question": question})
    process_result = ProcessResult(0, stdout.encode(), b"")
    result = parse_outcome("tool", process_result, lambda value: redact_value([GIVEN], value))
    assert isinstance(result, Failed)
    assert "xxx" not in result.message


#: What an MCP server elicits once it was given a secret: a message and a schema.
FORMS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "message": lambda said: (said, {"properties": {"a": {"type": "string"}}}),
    "name": lambda said: ("m", {"properties": {said: {"type": "string"}}}),
    "title": lambda said: ("m", {"properties": {"a": {"type": "string", "title": said}}}),
    "description": lambda said: (
        "m",
        {"properties": {"a": {"type": "string", "description": said}}},
    ),
    "default": lambda said: ("m", {"properties": {"a": {"type": "string", "default": said}}}),
    "enum": lambda said: ("m", {"properties": {"a": {"type": "string", "enum": ["x", said]}}}),
    "enumNames": lambda said: (
        "m",
        {"properties": {"a": {"type": "string", "enum": ["x"], "enumNames": [said]}}},
    ),
    "const": lambda said: (
        "m",
        {"properties": {"a": {"oneOf": [{"const": said, "title": "x"}]}}},
    ),
    "choice": lambda said: (
        "m",
        {"properties": {"a": {"oneOf": [{"const": "x", "title": said}]}}},
    ),
    "items": lambda said: (
        "m",
        {"properties": {"a": {"type": "array", "items": {"enum": [said]}, "minItems": 1}}},
    ),
}
PASSWORD = {"properties": {"p": {"type": "string", "writeOnly": True}}}


@pytest.mark.parametrize("place", FORMS)
async def test_elicitation_says_no_secret_in_any_field(place: str):
    for encoding in ENCODINGS:
        await _elicit(place, encoding)


async def _elicit(place: str, encoding: str) -> None:
    questions: list[Question] = []

    async def ask(question: Question) -> Answer:
        questions.append(question)
        match question.answer_type:
            case Secret():
                return Answer(SECRET)
            case Boolean():
                return Answer(value=True)
            case Select(options):
                return Answer(options[0].value)
            case _:
                return Answer("no choice")

    async def run(_arguments: Any, _answers: Any, ask: Any) -> ToolOutcome:
        elicitation = Elicitation(ask, lambda _waiting: None)
        await elicitation.answer_form("The password?", PASSWORD)
        await elicitation.answer_form(*FORMS[place](ENCODINGS[encoding](SECRET)))
        elicitation.close()
        return Success("done")

    await executor(OutsideStub("tool", run)).execute("tool", {}, {}, ask)
    assert len(questions) > 1
    assert core(encoding) not in join_texts(questions), encoding
