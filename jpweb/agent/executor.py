"""Runs a tool once. The only place where a question's provenance is fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jpweb.agent import texts
from jpweb.agent.config import ToolConfig
from jpweb.agent.outcome import Failed, NeedsInput, Question, Success
from jpweb.agent.ports import BuiltinTool
from jpweb.stream.inquiry import InquirySource


@dataclass(frozen=True, slots=True)
class Asking:
    """The tool asks; ``source`` is resolved, and nobody above decides it again."""

    question: Question
    source: InquirySource


Execution: TypeAlias = Success | Failed | Asking


class Executor:
    """Finds tools by name among the built-ins that are offered, and runs them."""

    def __init__(self, builtins: Iterable[BuiltinTool], offered: Collection[str]) -> None:
        self._tools = {tool.NAME: tool for tool in builtins if tool.NAME in offered}

    async def execute(
        self, name: str, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> Execution:
        """Run the tool from its start. What the tool raises is not caught."""
        tool = self._tools.get(name)
        if tool is None:
            return Failed(texts.unknown_tool(name))
        outcome = await tool.execute(arguments, answers)
        if not isinstance(outcome, NeedsInput):
            return outcome
        question = outcome.question
        if not question.id or "." in question.id:
            return Failed(texts.bad_question_id(name))
        return Asking(question, tool.inquiry_source(name))


def default_config(tool: BuiltinTool) -> ToolConfig:
    """Return the configuration of a built-in that nobody has configured."""
    return ToolConfig(tool.NAME, tool.DESCRIPTION, tool.PARAMETERS, tool.QUESTIONS)
