"""Google: the Gemini API. A signed text or call goes back signed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from google.genai import Client
from google.genai.types import HttpOptions
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.profiles.google import google_model_profile
from pydantic_ai.providers.google import GoogleProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import (
    Effort,
    ReasoningKind,
    ReasoningModel,
    choose_effort,
    convert_to_budget,
    convert_to_level,
)
from jpweb.stream.events import ToolCallRequest

_SIGNATURE_KEY = "google_thought_signature"
#: pydantic-ai's name of ``_SIGNATURE_KEY``.
_PROVIDER_SIGNATURE_KEY = "thought_signature"
#: The most tokens of a budget, and the output limit that it is a share of where none is set.
_MAX_BUDGET_TOKENS, _DEFAULT_MAX_TOKENS = 24_576, 32_000
#: The fewest tokens of a budget; only Flash can do without.
_MIN_BUDGET_TOKENS = 512
#: Google's levels from the least to the most, and those of JP's levels.
_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
_LEVELS_BY_EFFORT: Mapping[str, str] = {
    "none": "MINIMAL", "xlow": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH",
    "xhigh": "HIGH", "max": "HIGH",
}  # fmt: skip


class GoogleAdapter(ProviderAdapter):
    """Sends back the signature of a call, a text or a thought."""

    SYSTEM: ClassVar[str] = "google"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model. ``other`` parameters become fields of the request's body."""
        options = HttpOptions(
            base_url=endpoint.base_url.removesuffix("/v1beta"),
            httpx_async_client=http,
            timeout=round((http.timeout.read or 0) * 1000) or None,
            extra_body=dict(endpoint.model.parameters.get("other") or {}) or None,
        )
        client = Client(vertexai=False, api_key=endpoint.key, http_options=options)
        return GoogleModel(endpoint.model.name, provider=GoogleProvider(client=client))

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add the thinking, as a level or a budget."""
        settings.pop("extra_body", None)
        thinking = _make_thinking(endpoint.model.name, reasoning, settings.get("max_tokens"))
        if thinking is not None:
            settings["google_thinking_config"] = thinking
        return settings

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature, if the part has one."""
        signature = (getattr(part, "provider_details", None) or {}).get(_PROVIDER_SIGNATURE_KEY)
        return {_SIGNATURE_KEY: signature} if signature else {}

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a signed thought; others were for people to read."""
        details = _make_signature_details(metadata)
        if not text or not details:
            return None
        return ThinkingPart(text, provider_name=self.SYSTEM, provider_details=details)

    def make_text_part(self, text: str, metadata: Mapping[str, Any]) -> TextPart | None:
        """Send a text back with its signature; one without text may still have one."""
        details = _make_signature_details(metadata)
        if not text and not details:
            return None
        return TextPart(text, provider_name=self.SYSTEM, provider_details=details)

    def make_call_part(self, call: ToolCallRequest, metadata: Mapping[str, Any]) -> ToolCallPart:
        """Send a call back with its signature."""
        return ToolCallPart(
            call.name,
            call.arguments,
            call.id,
            provider_name=self.SYSTEM,
            provider_details=_make_signature_details(metadata),
        )


def _make_signature_details(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    signature = metadata.get(_SIGNATURE_KEY)
    return {_PROVIDER_SIGNATURE_KEY: signature} if signature else None


def describe_model(name: str) -> ReasoningModel:
    """Return how a model reasons, by the library's profile of its name."""
    if not name.startswith("gemini-"):
        return ReasoningModel(ReasoningKind.UNKNOWN, can_disable=False)
    profile: Mapping[str, Any] = google_model_profile(name) or {}
    if not profile.get("supports_thinking"):
        return ReasoningModel(ReasoningKind.UNSUPPORTED)
    if not profile.get("google_supports_thinking_level"):
        return ReasoningModel(ReasoningKind.BUDGET)
    return ReasoningModel(ReasoningKind.LEVELS, can_disable=False)


def _make_thinking(
    name: str, reasoning: ReasoningSettings, max_tokens: int | None
) -> dict[str, Any] | None:
    """Return the thinking configuration; None where Google decides."""
    model = describe_model(name)
    effort = choose_effort(reasoning, model)
    is_wanted = effort is not None
    if model.kind is ReasoningKind.UNSUPPORTED:
        return None
    if model.kind is ReasoningKind.BUDGET:
        can_do_without = "flash" in name and "lite" not in name
        budget = 0 if can_do_without else _MIN_BUDGET_TOKENS
        if effort is not None:
            effort_budget = convert_to_budget(effort, max_tokens or _DEFAULT_MAX_TOKENS)
            budget = max(min(effort_budget, _MAX_BUDGET_TOKENS), budget)
        return {"include_thoughts": is_wanted, "thinking_budget": budget}
    if effort is None:
        if model.kind is ReasoningKind.LEVELS:
            return {"include_thoughts": False, "thinking_level": _list_levels(name)[0]}
        is_off = reasoning.mode is ReasoningMode.OFF
        return {"include_thoughts": False, "thinking_budget": 0} if is_off else None
    level = _choose_level(name, model, effort)
    return {"include_thoughts": True} | ({"thinking_level": level} if level else {})


def _choose_level(name: str, model: ReasoningModel, effort: Effort) -> str | None:
    """Return the level; HIGH for one that the model lacks, but the least for one below its own."""
    level = convert_to_level(effort, model.max_output)
    accepted_levels = _list_levels(name)
    if level == "auto":
        return None if model.kind is ReasoningKind.UNKNOWN else "HIGH"
    vendor_level = _LEVELS_BY_EFFORT[level]
    if vendor_level in accepted_levels:
        return vendor_level
    return (
        accepted_levels[0]
        if _LEVELS.index(vendor_level) < _LEVELS.index(accepted_levels[0])
        else "HIGH"
    )


def _list_levels(name: str) -> list[str]:
    profile: Mapping[str, Any] = google_model_profile(name) or {}
    accepted_levels = profile.get("google_thinking_levels")
    has_minimal = "pro" not in name
    return [
        level
        for level in _LEVELS
        if (level in accepted_levels if accepted_levels else level != "MINIMAL" or has_minimal)
    ]


VENDOR = GoogleAdapter()
