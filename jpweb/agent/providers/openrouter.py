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

#: JP's key of the data that OpenRouter wants back with reasoning; signatures are under the vendor's
#: key, so that the same reasoning can go back to that vendor.
_METADATA_KEY = "openrouter_metadata"
_VENDOR_KEYS: Mapping[tuple[str, str], str] = {
    ("reasoning.text", "anthropic-claude-v1"): "anthropic_thinking_signature",
    ("reasoning.encrypted", "anthropic-claude-v1"): "anthropic_redacted_thinking",
    ("reasoning.text", "google-gemini-v1"): "google_thought_signature",
    ("reasoning.encrypted", "openai-responses-v1"): "openai_encrypted_content",
}
_KINDS_BY_VENDOR_KEY = {key: kind for kind, key in _VENDOR_KEYS.items()}
#: jpweb's key for data for which JP has no name.
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
            minimum = "none" if is_forced else "minimal"  # no reasoning model takes a forced tool
            settings["openrouter_reasoning"] = {"exclude": True, "effort": minimum}
        else:
            level = convert_to_level(effort, settings.get("max_tokens"))
            vendor_effort = _VENDOR_EFFORTS.get(level, level)
            settings["openrouter_reasoning"] = {"exclude": False, "effort": vendor_effort}
        return settings

    def is_forced_tool_refused(self, endpoint: ModelEndpoint, reasoning: ReasoningSettings) -> bool:
        """Tell whether the routed model reasons, or cannot be kept from it."""
        model = describe_model(endpoint.model.name)
        return choose_effort(reasoning, model) is not None or not model.can_disable

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return a piece of reasoning without its text."""
        if not isinstance(part, ThinkingPart) or not part.provider_details:
            return {}
        details = {name: part.provider_details.get(name) for name in _DETAIL_KEYS}
        vendor_key = _VENDOR_KEYS.get((str(details["type"]), str(details["format"])))
        if vendor_key and part.signature:
            place = _leave_out_absent({"id": part.id, "index": details["index"]})
            return {vendor_key: part.signature, _METADATA_KEY: [place | {"field": vendor_key}]}
        metadata = {"id": part.id, "signature": part.signature} | details
        return {_REASONING_KEY: _leave_out_absent(metadata)}

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a piece of OpenRouter's own reasoning."""
        reasoning_part = _find_signed(metadata) or metadata.get(_REASONING_KEY)
        if not isinstance(reasoning_part, Mapping):
            return None
        return ThinkingPart(
            text,
            id=reasoning_part.get("id"),
            signature=reasoning_part.get("signature"),
            provider_name=self.SYSTEM,
            provider_details={name: reasoning_part.get(name) for name in _DETAIL_KEYS},
        )


def _leave_out_absent(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _find_signed(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the signed piece of reasoning that JP's metadata describes, None where it does not."""
    places = metadata.get(_METADATA_KEY)
    for place in places if isinstance(places, list) else ():
        field = place.get("field") if isinstance(place, Mapping) else None
        kind = _KINDS_BY_VENDOR_KEY.get(field) if isinstance(field, str) else None
        signature = metadata.get(str(field))
        if kind and isinstance(signature, str):
            type_, format_ = kind
            return {
                "id": place.get("id"),
                "signature": signature,
                "type": type_,
                "format": format_,
                "index": place.get("index"),
            }
    return None


def describe_model(name: str) -> ReasoningModel:
    """Return how a routed model reasons, by the library's profile of its name."""
    profile: Mapping[str, Any] = OpenRouterProvider.model_profile(name) or {}
    is_known = bool(profile.get("supports_thinking"))
    kind = ReasoningKind.LEVELS if is_known else ReasoningKind.UNKNOWN
    return ReasoningModel(kind, can_disable=not profile.get("thinking_always_enabled"))


VENDOR = OpenRouterAdapter()
