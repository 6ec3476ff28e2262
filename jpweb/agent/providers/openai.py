"""OpenAI: the Responses API, nothing stored there. Reasoning goes back encrypted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.profiles.openai import openai_model_profile
from pydantic_ai.providers.openai import OpenAIProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import (
    LEVELS,
    ReasoningKind,
    ReasoningModel,
    choose_effort,
    convert_to_level,
    get_lower_level,
)
from jpweb.stream.events import ToolCallRequest

_ITEM_ID_KEY = "openai_item_id"
_ENCRYPTED_KEY = "openai_encrypted_content"
_PHASE_KEY = "openai_phase"
#: Settings that the Responses API has no field for.
_UNSUPPORTED_SETTINGS = ("stop_sequences", "top_k")
_KNOWN_MODEL = re.compile(r"gpt-|o[0-9]|codex|chatgpt")
#: GPT-5 refuses these while it reasons; so may a model that nobody knows.
_SAMPLING_SETTINGS = ("temperature", "top_p")
_SAMPLES_WHILE_REASONING = re.compile(r"gpt-[34]|gpt-5-nano|gpt-oss|o[0-9]|chatgpt-4")
_VERBOSITIES = ("low", "medium", "high")
#: The vendor's words for JP's levels, where they differ.
_VENDOR_EFFORTS: Mapping[str, str] = {"xlow": "minimal", "auto": "medium"}


class OpenAIAdapter(ProviderAdapter):
    """Sends items back with their ids; the items of one reply belong together."""

    SYSTEM: ClassVar[str] = "openai"
    HAS_ITEM_IDS: ClassVar[bool] = True

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = make_openai_client(endpoint, add_api_path(endpoint.base_url, "/v1"), http)
        return OpenAIResponsesModel(
            endpoint.model.name, provider=OpenAIProvider(openai_client=client)
        )

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add reasoning, verbosity and the cache's key; nothing is stored, long input is cut."""
        name, parameters = endpoint.model.name, endpoint.model.parameters
        settings |= {"openai_store": False, "openai_truncation": "auto"}
        if settings.get("cache") and settings.get("cache_key"):
            settings["openai_prompt_cache_key"] = settings["cache_key"]
        settings |= _make_reasoning(name, reasoning, parameters)
        if parameters.get("verbosity") in _VERBOSITIES:
            settings["openai_text_verbosity"] = parameters["verbosity"]
        is_reasoning = settings.get("openai_reasoning_effort", "none") != "none"
        if is_reasoning and not _SAMPLES_WHILE_REASONING.match(name):
            for key in _SAMPLING_SETTINGS:
                settings.pop(key, None)
        return {
            name: value for name, value in settings.items() if name not in _UNSUPPORTED_SETTINGS
        }

    def can_take_reasoning(self, endpoint: ModelEndpoint) -> bool:
        """Tell whether the model reasons: to another one the library sends it as text in tags."""
        return describe_model(endpoint.model.name).kind is not ReasoningKind.UNSUPPORTED

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the item's id, its signature and its phase."""
        metadata: dict[str, Any] = {}
        if isinstance(part, ThinkingPart | TextPart | ToolCallPart) and part.id:
            metadata[_ITEM_ID_KEY] = part.id
        if isinstance(part, ThinkingPart) and part.signature:
            metadata[_ENCRYPTED_KEY] = part.signature
        if isinstance(part, TextPart) and (phase := (part.provider_details or {}).get("phase")):
            metadata[_PHASE_KEY] = phase
        return metadata

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back encrypted reasoning: an id alone names nothing, since nothing is stored."""
        item, encrypted_content = metadata.get(_ITEM_ID_KEY), metadata.get(_ENCRYPTED_KEY)
        if not item or not encrypted_content:
            return None
        return ThinkingPart(text, id=item, signature=encrypted_content, provider_name=self.SYSTEM)

    def make_text_part(self, text: str, metadata: Mapping[str, Any]) -> TextPart | None:
        """Send a message back as the same item, unless it is empty."""
        if not text:
            return None
        phase = metadata.get(_PHASE_KEY)
        return TextPart(
            text,
            id=metadata.get(_ITEM_ID_KEY),
            provider_name=self.SYSTEM,
            provider_details={"phase": phase} if phase else None,
        )

    def make_call_part(self, call: ToolCallRequest, metadata: Mapping[str, Any]) -> ToolCallPart:
        """Send a call back as the same item."""
        return ToolCallPart(
            call.name,
            call.arguments,
            call.id,
            id=metadata.get(_ITEM_ID_KEY),
            provider_name=self.SYSTEM,
        )

    def adapt_reply(self, parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
        """Remove the ids of a reply whose reasoning is not sent: OpenAI would require it."""
        if any(isinstance(part, ThinkingPart) for part in parts):
            return list(parts)
        return [
            replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) else part
            for part in parts
        ]


def describe_model(name: str) -> ReasoningModel:
    """Return how a model reasons, by the library's profile of its name."""
    if not _KNOWN_MODEL.match(name):
        return ReasoningModel(ReasoningKind.UNKNOWN, LEVELS[:-1], can_disable=False)
    profile: Mapping[str, Any] = openai_model_profile(name) or {}
    if not profile.get("openai_supports_reasoning"):
        return ReasoningModel(ReasoningKind.UNSUPPORTED)
    can_disable = bool(profile.get("openai_supports_reasoning_effort_none"))
    accepted_efforts = profile.get("openai_reasoning_efforts")
    levels = [
        level
        for level in LEVELS
        if accepted_efforts is None or _VENDOR_EFFORTS.get(level, level) in accepted_efforts
    ]
    if not can_disable:
        levels = [level for level in levels if level != "none"]
    has_max = profile.get("openai_responses_supports_reasoning_mode")
    if not has_max and "max" in levels:
        levels.remove("max")
    return ReasoningModel(ReasoningKind.LEVELS, levels, can_disable)


def _make_reasoning(
    name: str, reasoning: ReasoningSettings, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of reasoning; without it, the least effort that the model takes."""
    model = describe_model(name)
    effort = choose_effort(reasoning, model)
    if effort is None:
        if model.kind is ReasoningKind.UNSUPPORTED:
            return {}
        if model.kind is ReasoningKind.UNKNOWN:
            is_off = reasoning.mode is ReasoningMode.OFF
            return {"openai_reasoning_effort": "none"} if is_off else {}
        least_effort = model.levels[0]
        return {
            "openai_reasoning_effort": _VENDOR_EFFORTS.get(least_effort, least_effort),
            "openai_reasoning_summary": "auto",
        }
    level = convert_to_level(effort, model.max_output)
    if level != "auto":
        level = get_lower_level(level, model.levels)
    settings: dict[str, Any] = {
        "openai_reasoning_effort": _VENDOR_EFFORTS.get(level, level),
        "openai_reasoning_summary": "auto",
    }
    profile: Mapping[str, Any] = openai_model_profile(name) or {}
    if profile.get("openai_responses_supports_reasoning_mode"):
        settings["openai_reasoning_context"] = "all_turns"
        if parameters.get("reasoning_mode") == "pro":
            settings["openai_reasoning_mode"] = "pro"
    return settings


VENDOR = OpenAIAdapter()
