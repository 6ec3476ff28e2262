"""Built-in tool that demonstrates secret questions: a vault that asks for a passphrase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config import QuestionConfig
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.stream.answer_type import Secret
from jpweb.stream.inquiry import InquirySource

_QUESTION_ID = "passphrase"


class DemoVault:
    """Accepts any passphrase; its result tells nothing about it."""

    NAME = "demo_vault"
    DESCRIPTION = (
        "A demonstration of secret questions. It asks the user for a passphrase and then reports "
        "that a vault is open. There is no vault, any passphrase will do, and neither you nor the "
        "record of the conversation gets to see it."
    )
    PARAMETERS: Mapping[str, Any] = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    QUESTIONS: Mapping[str, QuestionConfig] = {}

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        """Ask for the passphrase; with it, succeed with a text that does not depend on it."""
        if _QUESTION_ID in answers:
            return Success("The demonstration vault is open.")
        return NeedsInput(
            Question(
                _QUESTION_ID,
                "What is the vault passphrase?",
                Secret(),
                context="This is a demonstration. Any passphrase works; do not enter a real one.",
            )
        )

    def make_inquiry_source(self, name: str) -> InquirySource:
        """Return the tool: the question is its own."""
        return InquirySource.for_tool(name)
