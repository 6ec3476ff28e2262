"""Gates of a tool: the places where a person approves a call, its result or an answer.

A file that opens a gate makes a trusted command run without a person's approval, so gates are
shown, and trusted, with the command.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

from jpweb.agent.config.display import escape_invisible
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.system_prompt import DEFAULT_PROMPT
from jpweb.agent.config.types import (
    ApprovalMode,
    AssistantConfig,
    Configuration,
    DetachedPolicy,
    InquiryConfig,
    QuestionConfig,
    QuestionTarget,
    ToolConfig,
)

#: Label and text of each line that describes a gate to people.
LabeledLines: TypeAlias = tuple[tuple[str, str], ...]

_GATE_KEYS = ("run", "result", "detached")
_QUESTION_KEYS = ("answer", "target", "exclusive")
_ASSISTANT_KEYS = ("model", "system_prompt", "system_prompt_sections", "instructions")
_RUN_TEXTS: Mapping[ApprovalMode, str] = {
    ApprovalMode.ASK: "required",
    ApprovalMode.UNATTENDED: "none",
    ApprovalMode.EDIT: "a person edits the arguments",
    ApprovalMode.SKIP: "always skipped",
}
_RESULT_TEXTS: Mapping[ApprovalMode, str] = {
    ApprovalMode.ASK: "sent to the model after approval",
    ApprovalMode.UNATTENDED: "sent to the model",
    ApprovalMode.EDIT: "a person edits it",
    ApprovalMode.SKIP: "not sent to the model",
}
_PERSON_TEXT = "answered by a person"
_WHEN_UNREACHABLE = "if no one can answer"
_DETACHED_TEXTS: Mapping[str, tuple[str, Mapping[DetachedPolicy, str]]] = {
    "run": (
        f"approval, {_WHEN_UNREACHABLE}",
        {
            DetachedPolicy.AUTO: "none",
            DetachedPolicy.DENY: "denied",
            DetachedPolicy.DEFAULTS: "denied",
        },
    ),
    "deliver": (
        f"result, {_WHEN_UNREACHABLE}",
        {
            DetachedPolicy.AUTO: "sent to the model",
            DetachedPolicy.DENY: "not sent to the model",
            DetachedPolicy.DEFAULTS: "not sent to the model",
        },
    ),
    "tool": (
        f"questions, {_WHEN_UNREACHABLE}",
        {
            DetachedPolicy.AUTO: "answered by a second model",
            DetachedPolicy.DENY: "declined",
            DetachedPolicy.DEFAULTS: "answered with their defaults",
        },
    ),
}


class ApprovalTexts(NamedTuple):
    """How a tool's calls, results and questions (by id) are approved, in words for people."""

    run: str
    result: str
    questions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SecondModel:
    """The model that answers questions in a person's place, as configured for all questions.

    Settings that a question lacks come from ``inquiry`` (``conversation.inquiry``), those that it
    lacks from the ``assistant``.
    """

    inquiry: InquiryConfig
    assistant: AssistantConfig

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> SecondModel:
        """Return the second model of a configuration."""
        return cls(configuration.inquiry, configuration.assistant)

    def get_settings(self, question: QuestionConfig) -> dict[str, Any]:
        """Return the model, the prompt and the limit that apply to a question, as JSON values."""
        merged_settings = question.inquiry.merge_over(self.inquiry)
        assistant = self.assistant
        model = (
            merged_settings.model.merge_over(assistant.model)
            if merged_settings.model
            else assistant.model
        )
        prompt = (
            assistant.system
            if merged_settings.system_prompt is None
            else (merged_settings.system_prompt,)
        )
        if prompt == (DEFAULT_PROMPT,):
            prompt = ()  # nobody's instructions
        return {
            "model": asdict(model),
            "system": [part if isinstance(part, str) else asdict(part) for part in prompt],
            "max_response_bytes": merged_settings.max_response_bytes,
        }

    def describe_answer(self, question: QuestionConfig) -> str:
        """Return the sentence for people; the prompt is not part of it."""
        settings = self.get_settings(question)
        model = settings["model"]
        name = (
            f", {escape_invisible('{provider}/{name}'.format(**model))}"
            if model["provider"]
            else ""
        )
        prompt_note = ", with instructions not shown" if settings["system"] else ""
        return f"answered by a second model{name}{prompt_note}"


def remove_gates(layer: Layer) -> Layer:
    """Return the layer without its gates: an owner's own values need no trust.

    The second model answers in a person's place, so its model and prompt are removed as well.
    """
    values = dict(layer.values)
    if isinstance(values.get("assistant"), Mapping):
        values["assistant"] = _remove_keys(values["assistant"], _ASSISTANT_KEYS)
    if isinstance(values.get("conversation"), Mapping):
        conversation = _remove_keys(values["conversation"], ("inquiry",))
        if isinstance(conversation.get("tools"), Mapping):
            entries = conversation["tools"].items()
            conversation["tools"] = {name: _remove_tool_gates(entry) for name, entry in entries}
        values["conversation"] = conversation
    return Layer(layer.name, values)


def describe_gates(tool: ToolConfig, second_model: SecondModel) -> LabeledLines:
    """Return the gates of a tool as lines for people; never an answer."""
    labeled_lines = [("approval", _RUN_TEXTS[tool.run]), ("result", _RESULT_TEXTS[tool.result])]
    for kind, policy in _select_detached_policies(tool).items():
        label, texts = _DETACHED_TEXTS[kind]
        by_model = kind == "tool" and policy is DetachedPolicy.AUTO
        labeled_lines.append(
            (label, second_model.describe_answer(QuestionConfig()) if by_model else texts[policy])
        )
    for name, question in tool.questions.items():
        question_texts = _describe_question(question, second_model)
        if question_texts:
            labeled_lines.append((f"question {escape_invisible(name)}", "; ".join(question_texts)))
    return tuple(labeled_lines)


def describe_approval(tool: ToolConfig, second_model: SecondModel) -> ApprovalTexts:
    """Return the words for a tool's settings that ``describe_gates`` has, questions with them."""
    questions = {}
    for name, question in tool.questions.items():
        texts = _describe_question(question, second_model)
        if question.target is QuestionTarget.USER and question.answer is None:
            texts.insert(0, _PERSON_TEXT)
        questions[name] = "; ".join(texts)
    return ApprovalTexts(_RUN_TEXTS[tool.run], _RESULT_TEXTS[tool.result], questions)


def collect_gates(tool: ToolConfig, second_model: SecondModel) -> dict[str, Any]:
    """Return all gates of a tool as JSON values; questions without a gate are left out."""
    questions = {
        name: {
            "target": question.target.value,
            "answer": None if question.answer is None else [question.answer.value],
            "exclusive": question.exclusive,
        }
        for name, question in tool.questions.items()
        if _describe_question(question, second_model)
    }
    return {
        "run": tool.run.value,
        "result": tool.result.value,
        "detached": _select_detached_policies(tool),
        "questions": questions,
        "second": _read_second_settings(tool, second_model),
    }


def collect_hidden(tool: ToolConfig, second_model: SecondModel) -> dict[str, Any]:
    """Return the gates that are not shown: answers, and the second model's settings."""
    answers = {n: [q.answer.value] for n, q in tool.questions.items() if q.answer is not None}
    return {"answers": answers, "second": _read_second_settings(tool, second_model)}


def is_opened(tool: ToolConfig, baseline: ToolConfig) -> bool:
    """Tell whether a person approves in fewer places than in the tool's own configuration."""
    modes = ((tool.run, baseline.run), (tool.result, baseline.result))
    if any(
        mode is ApprovalMode.UNATTENDED and mode is not baseline_mode
        for mode, baseline_mode in modes
    ):
        return True
    if {DetachedPolicy.AUTO, DetachedPolicy.DEFAULTS} & set(tool.detached.values()):
        return True
    return any(
        _is_question_opened(question, baseline.get_question(name))
        for name, question in tool.questions.items()
    )


def _is_question_opened(question: QuestionConfig, baseline: QuestionConfig) -> bool:
    return (
        (question.answer is not None and question.answer != baseline.answer)
        or (question.target is QuestionTarget.ASSISTANT and baseline.target is not question.target)
        or (question.exclusive is False and baseline.exclusive is not False)
    )


def _select_detached_policies(tool: ToolConfig) -> dict[str, DetachedPolicy]:
    policies = tool.detached.items()
    return {kind: policy for kind, policy in sorted(policies) if policy is not DetachedPolicy.WAIT}


def _read_second_settings(tool: ToolConfig, second_model: SecondModel) -> dict[str, Any]:
    """Return the settings of the second model by question id; "" means all questions."""
    questions = {n: q for n, q in tool.questions.items() if q.target is QuestionTarget.ASSISTANT}
    if tool.detached.get("tool") is DetachedPolicy.AUTO:
        questions[""] = QuestionConfig()
    return {name: second_model.get_settings(question) for name, question in questions.items()}


def _describe_question(question: QuestionConfig, second_model: SecondModel) -> list[str]:
    texts = []
    if question.answer is not None:
        texts.append("configured answer (not shown)")
    if question.target is QuestionTarget.ASSISTANT:
        texts.append(second_model.describe_answer(question))
    if question.exclusive is not None:
        texts.append("human answer required" if question.exclusive else "human answer not required")
    return texts


def _remove_tool_gates(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    remaining_entry = _remove_keys(entry, _GATE_KEYS)
    questions = remaining_entry.get("questions")
    if isinstance(questions, Mapping):
        remaining_entry["questions"] = {
            name: _remove_question_gates(question) for name, question in questions.items()
        }
    return remaining_entry


def _remove_question_gates(question: Any) -> Any:
    if not isinstance(question, Mapping):
        return question
    return _remove_keys(question, _QUESTION_KEYS)


def _remove_keys(table: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
