"""The gates of a tool: where a person stands between the model and what the tool does.

A file that opens one changes what a trusted command does without anybody looking, so gates are
shown, and trusted, with the command.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.spelling import visible
from jpweb.agent.config.values import (
    Assistant,
    Configuration,
    Detached,
    InquiryConfig,
    Mode,
    QuestionConfig,
    QuestionTarget,
    ToolConfig,
)

#: What people read of it, label and words.
Lines: TypeAlias = tuple[tuple[str, str], ...]

_KEYS = ("run", "result", "detached")
_OF_QUESTIONS = ("answer", "target", "exclusive")
_OF_ASSISTANT = ("model", "system_prompt", "system_prompt_sections", "instructions")
_RUN: Mapping[Mode, str] = {
    Mode.ASK: "required",
    Mode.UNATTENDED: "none",
    Mode.EDIT: "a person edits the arguments",
    Mode.SKIP: "always skipped",
}
_RESULT: Mapping[Mode, str] = {
    Mode.ASK: "sent to the model after approval",
    Mode.UNATTENDED: "sent to the model",
    Mode.EDIT: "a person edits it",
    Mode.SKIP: "not sent to the model",
}
_NOBODY = "if no one can answer"
_DETACHED: Mapping[str, tuple[str, Mapping[Detached, str]]] = {
    "run": (
        f"approval, {_NOBODY}",
        {Detached.AUTO: "none", Detached.DENY: "denied", Detached.DEFAULTS: "denied"},
    ),
    "deliver": (
        f"result, {_NOBODY}",
        {
            Detached.AUTO: "sent to the model",
            Detached.DENY: "not sent to the model",
            Detached.DEFAULTS: "not sent to the model",
        },
    ),
    "tool": (
        f"questions, {_NOBODY}",
        {
            Detached.AUTO: "answered by a second model",
            Detached.DENY: "declined",
            Detached.DEFAULTS: "answered with their defaults",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class SecondModel:
    """The model that answers questions in a person's place, as configured for all questions.

    What a question does not set comes from ``inquiry`` (``conversation.inquiry``), and what that
    does not set from the ``assistant``.
    """

    inquiry: InquiryConfig
    assistant: Assistant

    @classmethod
    def of(cls, configuration: Configuration) -> SecondModel:
        """Return the second model of a configuration."""
        return cls(configuration.inquiry, configuration.assistant)

    def settings(self, question: QuestionConfig) -> dict[str, Any]:
        """Return the model, the prompt and the limit that apply to a question, as JSON values."""
        merged = question.inquiry.laid_over(self.inquiry)
        assistant = self.assistant
        prompt = assistant.system if merged.system_prompt is None else (merged.system_prompt,)
        return {
            "model": asdict(merged.model or assistant.model),
            "system": [part if isinstance(part, str) else asdict(part) for part in prompt],
            "max_response_bytes": merged.max_response_bytes,
        }

    def words(self, question: QuestionConfig) -> str:
        """Return the sentence that people read; the prompt is not part of it."""
        settings = self.settings(question)
        model = settings["model"]
        name = f", {visible('{provider}/{name}'.format(**model))}" if model["provider"] else ""
        told = ", with instructions not shown" if settings["system"] else ""
        return f"answered by a second model{name}{told}"


def ungated(layer: Layer) -> Layer:
    """Return the layer without what it says of gates: what an owner types is their own word.

    The second model stands where a person would, so its model and prompt are left out as well.
    """
    values = dict(layer.values)
    if isinstance(values.get("assistant"), Mapping):
        values["assistant"] = _left_out(values["assistant"], _OF_ASSISTANT)
    if isinstance(values.get("conversation"), Mapping):
        conversation = _left_out(values["conversation"], ("inquiry",))
        if isinstance(conversation.get("tools"), Mapping):
            entries = conversation["tools"].items()
            conversation["tools"] = {name: _ungated(entry) for name, entry in entries}
        values["conversation"] = conversation
    return Layer(layer.name, values)


def lines(tool: ToolConfig, second: SecondModel) -> Lines:
    """Return the gates of a tool as people read them; never an answer."""
    said = [("approval", _RUN[tool.run]), ("result", _RESULT[tool.result])]
    for kind, policy in _detached(tool).items():
        label, words = _DETACHED[kind]
        by_model = kind == "tool" and policy is Detached.AUTO
        said.append((label, second.words(QuestionConfig()) if by_model else words[policy]))
    for name, question in tool.questions.items():
        words_of = _question(question, second)
        if words_of:
            said.append((f"question {visible(name)}", "; ".join(words_of)))
    return tuple(said)


def state(tool: ToolConfig, second: SecondModel) -> dict[str, Any]:
    """Return all of the gates, in JSON's values; what says nothing is left out."""
    questions = {
        name: {
            "target": each.target.value,
            "answer": None if each.answer is None else [each.answer.value],
            "exclusive": each.exclusive,
        }
        for name, each in tool.questions.items()
        if _question(each, second)
    }
    return {
        "run": tool.run.value,
        "result": tool.result.value,
        "detached": _detached(tool),
        "questions": questions,
        "second": _second(tool, second),
    }


def hidden(tool: ToolConfig, second: SecondModel) -> dict[str, Any]:
    """Return what of the gates is not shown: answers, and what a second model is told."""
    answers = {n: [q.answer.value] for n, q in tool.questions.items() if q.answer is not None}
    return {"answers": answers, "second": _second(tool, second)}


def opened(tool: ToolConfig, own: ToolConfig) -> bool:
    """Tell whether a person stands in fewer places than in the tool's own configuration."""
    modes = ((tool.run, own.run), (tool.result, own.result))
    if any(now is Mode.UNATTENDED and now is not before for now, before in modes):
        return True
    if {Detached.AUTO, Detached.DEFAULTS} & set(tool.detached.values()):
        return True
    return any(_opened(each, own.question(name)) for name, each in tool.questions.items())


def _opened(now: QuestionConfig, own: QuestionConfig) -> bool:
    return (
        (now.answer is not None and now.answer != own.answer)
        or (now.target is QuestionTarget.ASSISTANT and own.target is not now.target)
        or (now.exclusive is False and own.exclusive is not False)
    )


def _detached(tool: ToolConfig) -> dict[str, Detached]:
    said = tool.detached.items()
    return {kind: policy for kind, policy in sorted(said) if policy is not Detached.WAIT}


def _second(tool: ToolConfig, second: SecondModel) -> dict[str, Any]:
    """Return the settings of the second model by the questions it answers; "" stands for all."""
    asked = {n: q for n, q in tool.questions.items() if q.target is QuestionTarget.ASSISTANT}
    if tool.detached.get("tool") is Detached.AUTO:
        asked[""] = QuestionConfig()
    return {name: second.settings(question) for name, question in asked.items()}


def _question(question: QuestionConfig, second: SecondModel) -> list[str]:
    said = []
    if question.answer is not None:
        said.append("configured answer (not shown)")
    if question.target is QuestionTarget.ASSISTANT:
        said.append(second.words(question))
    if question.exclusive is not None:
        said.append("human answer required" if question.exclusive else "human answer not required")
    return said


def _ungated(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    kept = _left_out(entry, _KEYS)
    questions = kept.get("questions")
    if isinstance(questions, Mapping):
        kept["questions"] = {name: _unasked(each) for name, each in questions.items()}
    return kept


def _unasked(question: Any) -> Any:
    if not isinstance(question, Mapping):
        return question
    return _left_out(question, _OF_QUESTIONS)


def _left_out(table: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
