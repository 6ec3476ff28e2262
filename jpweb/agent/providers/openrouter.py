"""OpenRouter: chat completions of many vendors. Their reasoning goes back as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.openrouter import OpenRouterProvider

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Reasoning
from jpweb.agent.providers.library.vendor import Vendor, openai_client, rooted

#: Ours: JP has no name for what OpenRouter wants back with reasoning.
_REASONING = "openrouter_reasoning"
_DETAILS = ("type", "format", "index")


class OpenRouter(Vendor):
    """Says which app is asking, where it has a name."""

    SYSTEM: ClassVar[str] = "openrouter"

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        headers = {"X-Title": link.app_name} if link.app_name else {}
        client = openai_client(link, rooted(link.base_url, "/api/v1"), http, headers)
        provider = OpenRouterProvider(openai_client=client)
        return OpenRouterModel(link.model.name, provider=provider)

    def settings(
        self, _link: Link, settings: dict[str, Any], reasoning: Reasoning
    ) -> dict[str, Any]:
        """Cache the prompt where the vendor behind does so on request; how to reason."""
        settings["cache"] = True
        if reasoning.tokens is not None or reasoning.exclude:
            said = settings.pop("thinking", None)
            settings["openrouter_reasoning"] = {"enabled": True, "exclude": reasoning.exclude} | (
                {"max_tokens": reasoning.tokens}
                if reasoning.tokens is not None
                else ({"effort": said} if isinstance(said, str) else {})
            )
        return settings

    def noted(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return a piece of reasoning without its text."""
        if not isinstance(part, ThinkingPart) or not part.provider_details:
            return {}
        details = {name: part.provider_details.get(name) for name in _DETAILS}
        noted = {"id": part.id, "signature": part.signature} | details
        return {_REASONING: {name: value for name, value in noted.items() if value is not None}}

    def thinking(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a piece of reasoning that came from here."""
        noted = metadata.get(_REASONING)
        if not isinstance(noted, Mapping):
            return None
        return ThinkingPart(
            text,
            id=noted.get("id"),
            signature=noted.get("signature"),
            provider_name=self.SYSTEM,
            provider_details={name: noted.get(name) for name in _DETAILS},
        )


VENDOR = OpenRouter()
