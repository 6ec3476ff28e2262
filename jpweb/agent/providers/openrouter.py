"""OpenRouter: chat completions of many vendors. Their reasoning goes back unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.openrouter import OpenRouterProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import (
    ReasoningKind,
    ReasoningModel,
    choose_effort,
    convert_to_level,
)

#: jpweb's key: JP has none for the details that OpenRouter wants back with reasoning.
_REASONING_KEY = "openrouter_reasoning"
_DETAIL_KEYS = ("type", "format", "index")
#: OpenRouter's words for JP's levels, where they differ.
_VENDOR_EFFORTS: Mapping[str, str] = {
    "none": "minimal", "xlow": "minimal", "auto": "medium", "max": "xhigh",
}  # fmt: skip


class OpenRouterAdapter(ProviderAdapter):
    """Names the app that sends the request, where it has a name."""

    SYSTEM: ClassVar[str] = "openrouter"
    IS_NUDGE_FIRST: ClassVar[bool] = True

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        headers = {"X-Title": endpoint.app_name} if endpoint.app_name else {}
        client = make_openai_client(
            endpoint, add_api_path(endpoint.base_url, "/api/v1"), http, headers
        )
        provider = OpenRouterProvider(openai_client=client)
        return OpenRouterModel(endpoint.model.name, provider=provider)

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add the reasoning.

        Some models have no off: without reasoning they get the least effort, and send none of it.
        """
        effort = choose_effort(reasoning, describe_model(endpoint.model.name))
        if effort is None:
            is_forced = settings.get("tool_choice", "auto") not in ("auto", "none")
            least = "none" if is_forced else "minimal"  # no reasoning model takes a forced tool
            settings["openrouter_reasoning"] = {"exclude": True, "effort": least}
        else:
            level = convert_to_level(effort, settings.get("max_tokens"))
            vendor_effort = _VENDOR_EFFORTS.get(level, level)
            settings["openrouter_reasoning"] = {"exclude": False, "effort": vendor_effort}
        return settings

    def refuses_forced_tool(self, endpoint: ModelEndpoint, reasoning: ReasoningSettings) -> bool:
        """Tell whether the routed model reasons, or cannot be kept from it."""
        model = describe_model(endpoint.model.name)
        return choose_effort(reasoning, model) is not None or not model.can_disable

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return a piece of reasoning without its text."""
        if not isinstance(part, ThinkingPart) or not part.provider_details:
            return {}
        details = {name: part.provider_details.get(name) for name in _DETAIL_KEYS}
        metadata = {"id": part.id, "signature": part.signature} | details
        return {
            _REASONING_KEY: {name: value for name, value in metadata.items() if value is not None}
        }

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a piece of OpenRouter's own reasoning."""
        reasoning_part = metadata.get(_REASONING_KEY)
        if not isinstance(reasoning_part, Mapping):
            return None
        return ThinkingPart(
            text,
            id=reasoning_part.get("id"),
            signature=reasoning_part.get("signature"),
            provider_name=self.SYSTEM,
            provider_details={name: reasoning_part.get(name) for name in _DETAIL_KEYS},
        )


def describe_model(name: str) -> ReasoningModel:
    """Return how a routed model reasons, by the library's profile of its name."""
    profile: Mapping[str, Any] = OpenRouterProvider.model_profile(name) or {}
    is_known = bool(profile.get("supports_thinking"))
    kind = ReasoningKind.LEVELS if is_known else ReasoningKind.UNKNOWN
    return ReasoningModel(kind, can_disable=not profile.get("thinking_always_enabled"))


VENDOR = OpenRouterAdapter()
