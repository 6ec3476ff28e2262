"""Runs a tool once. The only place where a question's provenance is fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from jpweb.agent.calls import texts
from jpweb.agent.outcome import Failed, NeedsInput, Outcome, Question, Success
from jpweb.agent.ports import Answer, Ask, BuiltinTool, Declined, OutsideTool
from jpweb.agent.redaction import HIDDEN, SecretAnswer, redacted, without
from jpweb.agent.setup import Setup
from jpweb.stream.answers import Option, Select
from jpweb.stream.inquiry import InquirySource


@dataclass(frozen=True, slots=True)
class Asking:
    """The tool asks; ``source`` is resolved, and nobody above decides it again.

    ``said`` is the question as the tool said it, where that differs: it may repeat secrets.
    """

    question: Question
    source: InquirySource
    said: Question | None = field(default=None, compare=False, repr=False)

    def value_for_tool(self, value: Any) -> Any:
        """Return the answer as the tool knows it: of a redacted option its own value."""
        return value if self.said is None else _own_value(self.said, self.question, value)


Execution: TypeAlias = Success | Failed | Asking


class Executor:
    """Finds the tools that are offered by their names, and runs them."""

    def __init__(self, setup: Setup) -> None:
        offered = {tool.name for tool in setup.tools}
        self._builtins = {tool.NAME: tool for tool in setup.builtins if tool.NAME in offered}
        self._outside = {name: tool for name, tool in setup.outside.items() if name in offered}
        self._unavailable = setup.unavailable

    def missing(self, name: str) -> str | None:
        """Return what the model reads where it calls a tool that is not there, else None."""
        if name in self._outside or name in self._builtins:
            return None
        if name in self._unavailable:
            return texts.unavailable(name, self._unavailable[name])
        return texts.unknown_tool(name)

    async def execute(
        self, name: str, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: Ask
    ) -> Execution:
        """Run the tool from its start. What the tool raises is not caught.

        Secret answers stand in ``answers`` as SecretAnswer. What the tool says is freed of them.
        A configured tool from outside shadows the built-in of its name (RFD 083, phase 1.3).
        """
        outside, builtin = self._outside.get(name), self._builtins.get(name)
        secrets = [value for value in answers.values() if isinstance(value, SecretAnswer)]

        async def asking_aside(question: Question) -> Answer | Declined:
            freed = _freed(question, secrets)
            settled = await ask(freed)
            if not isinstance(settled, Answer):
                return settled
            if not question.answer_type.KEEP:
                secrets.append(SecretAnswer(settled.value))
            return replace(settled, value=_own_value(question, freed, settled.value))

        if outside is not None:
            outcome = await outside.execute(arguments, answers, asking_aside)
        elif builtin is not None:
            outcome = await builtin.execute(arguments, _plain(answers))
        else:
            return Failed(self.missing(name) or texts.unknown_tool(name))
        resolved = _resolved(name, _without_secrets(outcome, secrets), outside, builtin)
        if isinstance(resolved, Asking) and isinstance(outcome, NeedsInput) and secrets:
            return replace(resolved, said=outcome.question)
        return resolved


def asking(name: str, question: Question, source: InquirySource) -> Asking | Failed:
    """Return the question with its source, or the failure where it cannot be put on record."""
    if not question.id or "." in question.id:
        return Failed(texts.bad_question_id(name))
    if HIDDEN in question.id:  # redacted, the tool would not find its answer
        return Failed(texts.secret_in_question_id(name))
    return Asking(question, source)


def _resolved(
    name: str, outcome: Outcome, outside: OutsideTool | None, builtin: BuiltinTool | None
) -> Execution:
    if not isinstance(outcome, NeedsInput):
        return outcome
    if outside is not None or builtin is None:
        return asking(name, outcome.question, InquirySource.tool(name))
    return asking(name, outcome.question, builtin.inquiry_source(name))


def _plain(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value.value if isinstance(value, SecretAnswer) else value
        for key, value in answers.items()
    }


def _without_secrets(outcome: Outcome, secrets: Sequence[SecretAnswer]) -> Outcome:
    match outcome:
        case Success(content):
            return Success(without(secrets, content))
        case Failed(message):
            return Failed(without(secrets, message))
        case NeedsInput(question):
            return NeedsInput(_freed(question, secrets))


def _freed(question: Question, secrets: Sequence[SecretAnswer]) -> Question:
    """Return the question without secrets, in every field: all of it is recorded."""
    kind = question.answer_type
    options = kind.options if isinstance(kind, Select) else ()
    said = (
        *(question.id, question.text, question.context),
        [option.value for option in options],
        [option.description for option in options],
        question.default,
    )
    question_id, text, context, values, descriptions, default = redacted(secrets, said)
    if isinstance(kind, Select):
        kind = Select(tuple(Option(*each) for each in zip(values, descriptions, strict=True)))
    return Question(
        *(question_id, text, kind, default, context),
        exclusive=question.exclusive,
        persistence=question.persistence,
    )


def _own_value(said: Question, freed: Question, value: Any) -> Any:
    """Return the value of the option that a person chose as the tool said it."""
    own, shown = said.answer_type, freed.answer_type
    if not (isinstance(own, Select) and isinstance(shown, Select)):
        return value
    pairs = zip(own.options, shown.options, strict=True)
    return next((o.value for o, s in pairs if Select((s,)).fits(value)), value)
