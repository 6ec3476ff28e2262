"""Executes a tool once. Only here is a question's source decided."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from jpweb.agent.ports import Answer, AskQuestion, BuiltinTool, Declined, OutsideTool
from jpweb.agent.redaction import (
    REDACTED_TEXT,
    SecretAnswer,
    is_run_secret,
    redact_text,
    redact_value,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import Failed, NeedsInput, Question, Success, ToolOutcome
from jpweb.agent.turn_setup import TurnSetup
from jpweb.stream.answer_type import AnswerType, Option, Select
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import InquirySource


@dataclass(frozen=True, slots=True)
class SourcedQuestion:
    """A question of the tool with its decided source.

    ``original`` is the tool's own question, where redaction changed it: it may repeat secrets.
    """

    question: Question
    source: InquirySource
    original: Question | None = field(default=None, compare=False, repr=False)

    def convert_for_tool(self, value: Any) -> Any:
        """Return the answer with the tool's own value of a redacted option."""
        return (
            value
            if self.original is None
            else _find_original_value(self.original, self.question, value)
        )


Execution: TypeAlias = Success | Failed | SourcedQuestion


#: A dot separates the parts of an inquiry's id; PostgreSQL holds no NUL, and a response is
#: recorded under the id of its row.
_FORBIDDEN_ID_CHARACTERS = frozenset(".\0")

#: Tools of a turn that run at once; each may be a process. Those that wait for an answer do not
#: count: a turn waits for people as long as it takes, and must not keep its other calls from them.
MAX_RUNNING_CALLS = 8


class ToolExecutor:
    """Finds the offered tools by name, and executes them; one executor serves a whole turn.

    It remembers the secrets that calls were given: a call may read what another one wrote.
    """

    def __init__(self, setup: TurnSetup) -> None:
        offered_names = {tool.name for tool in setup.tools}
        self._builtins = {tool.NAME: tool for tool in setup.builtins if tool.NAME in offered_names}
        self._outside = {
            name: tool for name, tool in setup.outside.items() if name in offered_names
        }
        self._unavailable = setup.unavailable
        self._formatters = setup.formatters
        self._run_secrets: set[SecretAnswer] = set()
        self._slots = asyncio.Semaphore(MAX_RUNNING_CALLS)

    def explain_missing(self, name: str) -> str | None:
        """Return the model's message about a tool that does not exist, else None."""
        if name in self._outside or name in self._builtins:
            return None
        if name in self._unavailable:
            return model_messages.describe_unavailable(name, self._unavailable[name])
        return model_messages.describe_unknown_tool(name)

    async def format_call(self, call: ToolCallRequest) -> str | None:
        """Return a call's arguments as its formatter shows them; None without one that works.

        A formatter may read what another call wrote, so its text is redacted as output is.
        """
        formatter = self._formatters.get(call.name)
        formatted_text = None if formatter is None else await formatter(call.arguments)
        return None if formatted_text is None else redact_text(self._run_secrets, formatted_text)

    async def execute(
        self, name: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: AskQuestion
    ) -> Execution:
        """Run the tool from its start. Errors of the tool are not caught.

        ``answers`` holds secret answers as SecretAnswer. They are redacted in the tool's output,
        as are secrets that other calls were given until then.
        A configured tool from outside shadows the built-in of its name (RFD 083, phase 1.3).
        Above ``MAX_RUNNING_CALLS`` a call waits until another has ended, or has asked a question.
        """
        async with _Slot(self._slots) as slot:
            return await self._execute(name, arguments, answers, ask, slot)

    async def _execute(
        self,
        name: str,
        arguments: Mapping[str, Any],
        answers: Mapping[str, Any],
        ask: AskQuestion,
        slot: _Slot,
    ) -> Execution:
        outside, builtin = self._outside.get(name), self._builtins.get(name)
        call_secrets = {value for value in answers.values() if isinstance(value, SecretAnswer)}
        self._run_secrets.update(filter(is_run_secret, call_secrets))

        async def ask_aside(question: Question) -> Answer | Declined:
            slot.release()
            redacted_question = _redact_question(question, call_secrets | self._run_secrets)
            reply = await ask(redacted_question)
            if not isinstance(reply, Answer):
                return reply
            if not question.answer_type.RECORDS_ANSWER:
                call_secrets.add(SecretAnswer(reply.value))
                self._run_secrets.update(filter(is_run_secret, call_secrets))
            return replace(
                reply, value=_find_original_value(question, redacted_question, reply.value)
            )

        if outside is not None:
            outcome = await outside.execute(arguments, answers, ask_aside)
        elif builtin is not None:
            outcome = await builtin.execute(arguments, _get_plain_answers(answers))
        else:
            return Failed(self.explain_missing(name) or model_messages.describe_unknown_tool(name))
        secrets = call_secrets | self._run_secrets
        resolved_outcome = _resolve_outcome(
            name, _redact_outcome(outcome, secrets), outside, builtin
        )
        if (
            isinstance(resolved_outcome, SourcedQuestion)
            and isinstance(outcome, NeedsInput)
            and secrets
        ):
            return replace(resolved_outcome, original=outcome.question)
        return resolved_outcome


class _Slot:
    """The place of one execution among those that run at once."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots, self._is_held = slots, False

    async def __aenter__(self) -> Self:
        self._is_held = await self._slots.acquire()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let another execution begin; without effect the second time."""
        if self._is_held:
            self._is_held = False
            self._slots.release()


def mark_secret(question: Question, value: Any) -> Any:
    """Return an answer as tools get it, a secret as SecretAnswer."""
    return value if question.answer_type.RECORDS_ANSWER else SecretAnswer(value)


def make_sourced_question(
    name: str, question: Question, source: InquirySource
) -> SourcedQuestion | Failed:
    """Return the question with its source, or Failed where it cannot be recorded."""
    if not question.id or not _FORBIDDEN_ID_CHARACTERS.isdisjoint(question.id):
        return Failed(model_messages.describe_bad_id(name))
    if REDACTED_TEXT in question.id:  # the tool would not find its answer by a redacted id
        return Failed(model_messages.describe_secret_in_id(name))
    kind = question.answer_type
    if isinstance(kind, Select) and kind.find_ambiguous_label() is not None:
        return Failed(model_messages.describe_ambiguous_options(name))
    return SourcedQuestion(question, source)


def _resolve_outcome(
    name: str, outcome: ToolOutcome, outside: OutsideTool | None, builtin: BuiltinTool | None
) -> Execution:
    if not isinstance(outcome, NeedsInput):
        return outcome
    if outside is not None or builtin is None:
        return make_sourced_question(name, outcome.question, InquirySource.for_tool(name))
    return make_sourced_question(name, outcome.question, builtin.make_inquiry_source(name))


def _get_plain_answers(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value.value if isinstance(value, SecretAnswer) else value
        for key, value in answers.items()
    }


def _redact_outcome(outcome: ToolOutcome, secrets: Iterable[SecretAnswer]) -> ToolOutcome:
    match outcome:
        case Success(content):
            return Success(redact_text(secrets, content))
        case Failed(message):
            return Failed(redact_text(secrets, message))
        case NeedsInput(question):
            return NeedsInput(_redact_question(question, secrets))


def _redact_question(question: Question, secrets: Iterable[SecretAnswer]) -> Question:
    """Return the question without secrets, in every field: all of it is recorded."""
    kind = question.answer_type
    options = kind.options if isinstance(kind, Select) else ()
    fields = (
        *(question.id, question.text, question.context),
        [option.value for option in options],
        [option.description for option in options],
        question.default,
    )
    question_id, text, context, values, descriptions, default = redact_value(secrets, fields)
    if isinstance(kind, Select):
        kind = Select(tuple(map(Option, _number_redacted(options, values), descriptions)))
        default = _find_option_value(question.answer_type, kind, question.default, default)
    return Question(
        *(question_id, text, kind, default, context),
        exclusive=question.exclusive,
        persistence=question.persistence,
    )


def _number_redacted(options: Sequence[Option], redacted_values: Sequence[Any]) -> list[Any]:
    """Return the redacted values, with a number where one looks the same as another option.

    So a person's choice leads to one option of the tool.
    """
    pairs = list(zip(options, redacted_values, strict=True))
    labels = {option.label for option, value in pairs if option.value == value}
    last_numbers: dict[str, int] = {}
    values = []
    for option, value in pairs:
        label, unique_value = Option(value).label, value
        if option.value != value:
            while Option(unique_value).label in labels:
                last_numbers[label] = last_numbers.get(label, 1) + 1
                unique_value = f"{label} {last_numbers[label]}"
            labels.add(Option(unique_value).label)
        values.append(unique_value)
    return values


def _find_original_value(
    original_question: Question, redacted_question: Question, value: Any
) -> Any:
    """Return the tool's own value of the option that a person chose."""
    return _find_option_value(
        redacted_question.answer_type, original_question.answer_type, value, value
    )


def _find_option_value(
    source_type: AnswerType, target_type: AnswerType, value: Any, fallback: Any
) -> Any:
    """Return the value that the option of a source's value has in the target; else the fallback."""
    if not (isinstance(source_type, Select) and isinstance(target_type, Select)):
        return fallback
    pairs = zip(source_type.options, target_type.options, strict=True)
    return next(
        (target.value for source, target in pairs if Select((source,)).is_valid(value)), fallback
    )
