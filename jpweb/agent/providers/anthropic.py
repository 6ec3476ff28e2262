"""Anthropic: the Messages API. Its reasoning comes signed and goes back signed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import anthropic
import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Reasoning
from jpweb.agent.providers.library.vendor import Vendor

_SIGNATURE = "anthropic_thinking_signature"
_REDACTED = "anthropic_redacted_thinking"
#: The library's id of a part that holds no text, only what Anthropic can read.
_REDACTED_ID = "redacted_thinking"


class Anthropic(Vendor):
    """Caches the prompt: a turn sends the same beginning again and again."""

    SYSTEM: ClassVar[str] = "anthropic"

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = anthropic.AsyncAnthropic(
            api_key=link.key,
            base_url=link.base_url.removesuffix("/v1"),
            http_client=http,
            max_retries=0,
        )
        return AnthropicModel(link.model.name, provider=AnthropicProvider(anthropic_client=client))

    def settings(
        self, link: Link, settings: dict[str, Any], reasoning: Reasoning
    ) -> dict[str, Any]:
        """Add the cache, the beta headers and a thinking budget."""
        settings["cache"] = True
        if link.beta_headers:
            settings["anthropic_betas"] = list(link.beta_headers)
        if reasoning.tokens is not None:
            budget = {"type": "enabled", "budget_tokens": reasoning.tokens}
            settings["anthropic_thinking"] = budget
            del settings["thinking"]
        return settings

    def noted(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature of reasoning, or what stands for it."""
        if not isinstance(part, ThinkingPart) or not part.signature:
            return {}
        return {_REDACTED if part.id == _REDACTED_ID else _SIGNATURE: part.signature}

    def thinking(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back what is signed; anything else would be refused."""
        if redacted := metadata.get(_REDACTED):
            return ThinkingPart("", id=_REDACTED_ID, signature=redacted, provider_name=self.SYSTEM)
        if signature := metadata.get(_SIGNATURE):
            return ThinkingPart(text, signature=signature, provider_name=self.SYSTEM)
        return None


VENDOR = Anthropic()
