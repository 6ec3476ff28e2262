"""The gates of a tool: where a person stands between the model and what the tool does.

A file that opens one changes what a trusted command does without anybody looking, so gates are
shown, and trusted, with the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.spelling import visible
from jpweb.agent.config.values import (
    Detached,
    Mode,
    QuestionConfig,
    QuestionTarget,
    ToolConfig,
)

#: What people read of it, label and words.
Lines: TypeAlias = tuple[tuple[str, str], ...]

_KEYS = ("run", "result", "detached")
_OF_QUESTIONS = ("answer", "target", "exclusive")
_RUN: Mapping[Mode, str] = {
    Mode.ASK: "asks a person",
    Mode.UNATTENDED: "asks nobody",
    Mode.EDIT: "a person edits the arguments",
    Mode.SKIP: "is skipped",
}
_RESULT: Mapping[Mode, str] = {
    Mode.ASK: "goes to the model when a person lets it",
    Mode.UNATTENDED: "goes to the model",
    Mode.EDIT: "a person edits it",
    Mode.SKIP: "is withheld from the model",
}
_NOBODY = "where nobody can answer"
_DETACHED: Mapping[str, tuple[str, Mapping[Detached, str]]] = {
    "run": (
        f"before it runs, {_NOBODY}",
        {Detached.AUTO: "asks nobody", Detached.DENY: "refuses", Detached.DEFAULTS: "refuses"},
    ),
    "deliver": (
        f"its result, {_NOBODY}",
        {
            Detached.AUTO: "goes to the model",
            Detached.DENY: "is withheld from the model",
            Detached.DEFAULTS: "is withheld from the model",
        },
    ),
    "tool": (
        f"its questions, {_NOBODY}",
        {
            Detached.AUTO: "a second model answers",
            Detached.DENY: "are refused",
            Detached.DEFAULTS: "their own defaults answer",
        },
    ),
}


def ungated(layer: Layer) -> Layer:
    """Return the layer without what it says of gates: what an owner types is their own word."""
    conversation = layer.values.get("conversation")
    tools = conversation.get("tools") if isinstance(conversation, Mapping) else None
    if not isinstance(conversation, Mapping) or not isinstance(tools, Mapping):
        return layer
    entries = {name: _ungated(entry) for name, entry in tools.items()}
    return Layer(layer.name, {**layer.values, "conversation": {**conversation, "tools": entries}})


def lines(tool: ToolConfig) -> Lines:
    """Return the gates of a tool as people read them; never an answer."""
    said = [("before it runs", _RUN[tool.run]), ("its result", _RESULT[tool.result])]
    for kind, policy in _detached(tool).items():
        label, words = _DETACHED[kind]
        said.append((label, words[policy]))
    for name, question in tool.questions.items():
        words_of = _question(question)
        if words_of:
            said.append((f"question {visible(name)}", "; ".join(words_of)))
    return tuple(said)


def state(tool: ToolConfig) -> dict[str, Any]:
    """Return all of the gates, in JSON's values; what says nothing is left out."""
    questions = {
        name: {
            "target": each.target.value,
            "inquiry": asdict(each.inquiry),
            "answer": None if each.answer is None else [each.answer.value],
            "exclusive": each.exclusive,
        }
        for name, each in tool.questions.items()
        if _question(each)
    }
    return {
        "run": tool.run.value,
        "result": tool.result.value,
        "detached": _detached(tool),
        "questions": questions,
    }


def hidden(tool: ToolConfig) -> dict[str, Any]:
    """Return what of the gates is not shown: answers, and what a second model is told."""
    return {
        name: [[each.answer.value] if each.answer else None, asdict(each.inquiry)]
        for name, each in tool.questions.items()
        if _question(each)
    }


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


def _question(question: QuestionConfig) -> list[str]:
    said = []
    if question.answer is not None:
        said.append("the configuration answers (not shown)")
    if question.target is QuestionTarget.ASSISTANT:
        model, told = question.inquiry.model, question.inquiry.system_prompt
        named = f", {visible(f'{model.provider}/{model.name}')}" if model else ""
        said.append(f"a second model answers{named}{', told what is not shown' if told else ''}")
    if question.exclusive is not None:
        said.append("a person only" if question.exclusive else "not for a person only")
    return said


def _ungated(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    kept = {key: value for key, value in entry.items() if key not in _KEYS}
    questions = kept.get("questions")
    if isinstance(questions, Mapping):
        kept["questions"] = {name: _unasked(each) for name, each in questions.items()}
    return kept


def _unasked(question: Any) -> Any:
    if not isinstance(question, Mapping):
        return question
    return {key: value for key, value in question.items() if key not in _OF_QUESTIONS}
