"""llama.cpp's server, by its endpoint for OpenAI's chat completions.

No metadata is sent back; reasoning is, while its tools are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings

_REASONING_FIELD = "reasoning_content"


class LlamaCppAdapter(ProviderAdapter):
    """Needs no key; one is sent where it is configured."""

    SYSTEM: ClassVar[str] = "openai"
    IS_LOOP_REASONING_SENT: ClassVar[bool] = True
    IS_FORCED_TOOL_ALONE: ClassVar[bool] = True
    ARE_USER_TEXTS_JOINED: ClassVar[bool] = True

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = make_openai_client(endpoint, add_api_path(endpoint.base_url, "/v1"), http)
        return OpenAIChatModel(endpoint.model.name, provider=OpenAIProvider(openai_client=client))

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Switch reasoning on or off; older servers read no ``max_completion_tokens``."""
        is_on = reasoning.mode in (ReasoningMode.AUTO, ReasoningMode.SET)
        body: dict[str, Any] = {
            "reasoning_format": "deepseek" if is_on else "none",
            "chat_template_kwargs": {"enable_thinking": is_on},
        }
        if "max_tokens" in settings:
            body["max_tokens"] = settings.pop("max_tokens")
        settings["extra_body"] = body | dict(settings.get("extra_body") or {})
        return settings

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Return the reasoning for the field in which the server sent it."""
        if not text.strip():
            return None
        return ThinkingPart(text, id=_REASONING_FIELD, provider_name=self.SYSTEM)


VENDOR = LlamaCppAdapter()
