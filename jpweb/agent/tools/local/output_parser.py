"""Parses the output of a tool (RFD 009, 028, 082, 083)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success, ToolOutcome
from jpweb.agent.tools.local.subprocess_runner import ProcessResult
from jpweb.stream.answer_type import AnswerType, Select
from jpweb.stream.errors import MalformedElement
from jpweb.stream.inquiry import InquiryQuestion, check_answer_type
from jpweb.stream.wire.strict_json import parse_strict_json

#: Redacts the secrets in a text, or in the neighbouring texts of a list.
Redact = Callable[[Any], Any]


def parse_outcome(name: str, result: ProcessResult, redact: Redact) -> ToolOutcome:
    """Return the outcome of a call from the program's result.

    The whole of stdout is one JSON value of a known shape, and then the exit status is ignored; or
    it is text. ``redact`` takes secrets out of repeated output; a question is left unredacted: the
    executor redacts it.
    """
    stdout = result.stdout.decode(errors="replace")
    match _parse_json(stdout):
        case {"type": "success", "content": str(content)}:
            return Success(redact(content))
        case {"type": "error", "message": str(message), "trace": list(trace), "transient": True}:
            summary, *lines = redact([message, *map(str, trace)])
            return Failed(_to_json({"message": summary, "trace": lines}))
        case {"type": "error", "message": str(), "trace": list(), "transient": False}:
            return Failed(redact(stdout))
        case {"type": "needs_input", "question": question}:
            return _parse_needs_input(name, question, redact)
        case _ if result.returncode == 0:
            return Success(redact(stdout))
    stderr, stdout = redact([result.stderr.decode(errors="replace"), stdout])
    message = f"Tool '{name}' execution failed."
    return Failed(_to_json({"message": message, "stderr": stderr, "stdout": stdout}))


def _parse_needs_input(name: str, question: Any, redact: Redact) -> ToolOutcome:
    try:
        return NeedsInput(_parse_question(question))
    except MalformedElement as error:
        # The error may repeat a piece of the question, and so a piece of a secret in it.
        reason = f": {error}" if redact(question) == question else ""
        return Failed(
            f"{name} asked a question that cannot be put{reason}. This is a mistake "
            "in the tool. Do not retry; continue without it."
        )


def _parse_question(question: Any) -> Question:
    """Read a question as tools write it, in either spelling. Raises MalformedElement."""
    if not isinstance(question, Mapping) or not isinstance(question.get("id"), str):
        raise MalformedElement("it must be an object with an “id”")
    fields = {"context": question.get("pre_amble"), **question}
    inquiry_question = InquiryQuestion.from_fields(
        {**fields, "answer_type": _normalize_answer_type(question.get("answer_type"))}
    )
    _check_options(inquiry_question.answer_type)
    default = inquiry_question.default
    return Question(
        question["id"],
        inquiry_question.text,
        inquiry_question.answer_type,
        default if inquiry_question.answer_type.is_valid_default(default) else None,
        inquiry_question.context,
        inquiry_question.exclusive,
        inquiry_question.persistence,
    )


def _normalize_answer_type(answer_type: Any) -> Any:
    """Return ``"Boolean"`` for ``{"Boolean": null}``, which JP reads too."""
    match answer_type:
        case dict() if len(answer_type) == 1 and list(answer_type.values()) == [None]:
            return next(iter(answer_type))
        case _:
            return answer_type


def _check_options(kind: AnswerType) -> None:
    if isinstance(kind, Select) and not kind.options:
        raise MalformedElement("a select needs at least one option")
    check_answer_type(kind)


def _parse_json(text: str) -> Any:
    """Return the JSON value, or None where it is none that JP would read."""
    try:
        value = parse_strict_json(text)
        json.dumps(value, ensure_ascii=False).encode()  # raises for single surrogates
    except (ValueError, RecursionError):
        return None
    return value


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
