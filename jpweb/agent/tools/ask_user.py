"""Built-in tool that asks a person a question of the assistant, during a turn (RFD 083)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jpweb.agent.config import AllowToggle, EnableConfig, QuestionConfig
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success, ToolOutcome
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Select, Text
from jpweb.stream.errors import MalformedElement
from jpweb.stream.inquiry import (
    AnswerReusePolicy,
    InquirySource,
    SourceTag,
    check_answer_type,
)

_QUESTION_ID = "answer"
_ANSWER_TYPES = (Boolean.TAG, Select.TAG, Text.TAG)
_LINE_ENDS = frozenset("\n\r\u2028\u2029")


class AskUser:
    """Asks one typed question; the answer is the tool's result. Only a person may answer."""

    NAME = "ask_user"
    DESCRIPTION = (
        "Ask the user one typed question (boolean, select or text) and get their answer. Use it "
        "only when you need something that the conversation does not tell you and that the user "
        "can be expected to know or to decide. When in doubt, answer the user's request directly: "
        "do not ask for what you can work out from context, nor for confirmation of obvious next "
        "steps. Never collect secrets with it (passwords, API keys, passphrases): the answer is "
        "sent to the model and kept in the conversation."
    )
    PARAMETERS: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "description": "The question, on a single line. Put anything longer in “context”.",
            },
            "context": {
                "type": "string",
                "description": "What the user should know to answer; shown above the question.",
            },
            "answer_type": {
                "type": "string",
                "enum": list(_ANSWER_TYPES),
                "default": Text.TAG,
                "description": "The kind of answer you need.",
            },
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The choices. Required for “select”, not allowed otherwise.",
            },
            "default": {
                "type": ["boolean", "string"],
                "description": (
                    "The answer to suggest: a boolean for “boolean”, one of the options for "
                    "“select”, a string for “text”."
                ),
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    }
    QUESTIONS: Mapping[str, QuestionConfig] = {
        _QUESTION_ID: QuestionConfig(prompt_label="Assistant")
    }
    ENABLE = EnableConfig(allow_toggle=AllowToggle.IF_NAMED)

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        """Ask, or return the answer as JSON with its type. Fails for bad arguments."""
        problem = _find_problem(arguments)
        if problem is not None:
            return Failed(problem)
        kind = _make_answer_type(arguments)
        if _QUESTION_ID not in answers:
            return NeedsInput(_make_question(arguments, kind))
        if not kind.is_valid(answers[_QUESTION_ID]):
            return Failed("The accumulated answer does not match the requested answer type.")
        content = {"answer_type": kind.TAG, "answer": answers[_QUESTION_ID]}
        return Success(json.dumps(content, ensure_ascii=False, separators=(",", ":")))

    def make_inquiry_source(self, name: str) -> InquirySource:
        """Return the assistant: the question is its own, the tool only carries it."""
        return InquirySource(SourceTag.ASSISTANT)


def _make_question(arguments: Mapping[str, Any], kind: AnswerType) -> Question:
    return Question(
        _QUESTION_ID,
        arguments["question"],
        kind,
        default=arguments.get("default"),
        context=arguments.get("context"),
        exclusive=True,
        persistence=AnswerReusePolicy.NONE,
    )


def _make_answer_type(arguments: Mapping[str, Any]) -> AnswerType:
    match _read_tag(arguments):
        case Boolean.TAG:
            return Boolean()
        case Select.TAG:
            return Select(tuple(Option(option) for option in arguments["options"]))
        case _:
            return Text()


def _read_tag(arguments: Mapping[str, Any]) -> Any:
    tag = arguments.get("answer_type")
    return Text.TAG if tag is None else tag


def _find_problem(arguments: Mapping[str, Any]) -> str | None:
    """Return the problem of the arguments and how to fix it; None where there is none."""
    return (
        _find_text_problem(arguments)
        or _find_options_problem(arguments)
        or _find_default_problem(arguments)
    )


def _find_text_problem(arguments: Mapping[str, Any]) -> str | None:
    question, context = arguments.get("question"), arguments.get("context")
    if not isinstance(question, str) or not question.strip():
        return "“question” is required: give the question as a non-empty string."
    if not _LINE_ENDS.isdisjoint(question):
        return "“question” must be a single line. Put everything else in “context”."
    if context is not None and not isinstance(context, str):
        return "“context” must be a string. Leave it out if there is none."
    if _read_tag(arguments) not in _ANSWER_TYPES:
        return "“answer_type” must be “boolean”, “select” or “text”."
    return None


def _find_options_problem(arguments: Mapping[str, Any]) -> str | None:
    options = arguments.get("options")
    if _read_tag(arguments) != Select.TAG:
        return None if options is None else _describe_stray_options(_read_tag(arguments))
    if not isinstance(options, list) or not options:
        return "“options” is required for “select”: give a list of at least one string."
    if not all(isinstance(option, str) and option.strip() for option in options):
        return "Each of the “options” must be a non-empty string."
    if len(set(options)) < len(options):
        return "The “options” must differ from each other. Remove the duplicates."
    try:
        check_answer_type(_make_answer_type(arguments))
    except MalformedElement as error:
        return f"The “options” can't be asked for: {error}."
    return None


def _describe_stray_options(tag: str) -> str:
    return f"“options” goes only with “select”. Leave it out, or change “answer_type” from “{tag}”."


def _find_default_problem(arguments: Mapping[str, Any]) -> str | None:
    default, kind = arguments.get("default"), _make_answer_type(arguments)
    if default is None or kind.is_valid(default):
        return None
    match kind:
        case Boolean():
            return "“default” must be true or false for “boolean”, without quotes."
        case Select():
            return "“default” must be one of the “options”, spelled exactly as there."
        case _:
            return "“default” must be a string for “text”."
