"""Anthropic: the Messages API. Its reasoning comes signed and goes back signed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import anthropic
import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.providers.anthropic import AnthropicProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import (
    LEVELS,
    ReasoningKind,
    ReasoningModel,
    choose_effort,
    convert_to_budget,
    convert_to_level,
    get_lower_level,
)

_SIGNATURE_KEY = "anthropic_thinking_signature"
_REDACTED_KEY = "anthropic_redacted_thinking"
#: pydantic-ai's id of redacted reasoning: no text, only data encrypted for Anthropic.
_REDACTED_ID = "redacted_thinking"
#: Models from before extended thinking.
_WITHOUT_THINKING = re.compile(r"claude-(?:instant|[12]\b|3-(?!7))")
#: Models that take a budget of thinking; later ones refuse it.
_WITH_BUDGET = re.compile(r"claude-(?:3-7|4-|(?:opus|sonnet|haiku)-4\b(?!-[6-9]\b))")
#: Output limit where neither the configuration nor the library names one; JP's too.
_DEFAULT_MAX_TOKENS = 2048
#: The fewest tokens that Anthropic takes as a budget.
_MIN_BUDGET_TOKENS = 1024


class _AnthropicClient(anthropic.AsyncAnthropic):
    """Sends the headers of its caller alone; the library adds ``ANTHROPIC_CUSTOM_HEADERS``."""

    def __init__(self, *, default_headers: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(default_headers=default_headers, **options)
        self._custom_headers = default_headers or {}


class AnthropicAdapter(ProviderAdapter):
    """Sends a context that the vendor caches: the requests of a turn share a prefix."""

    SYSTEM: ClassVar[str] = "anthropic"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = _AnthropicClient(
            api_key=endpoint.key,
            base_url=endpoint.base_url.removesuffix("/v1"),
            http_client=http,
            max_retries=0,
        )
        return AnthropicModel(
            endpoint.model.name, provider=AnthropicProvider(anthropic_client=client)
        )

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add the beta headers, the output limit and the thinking."""
        if endpoint.beta_headers:
            settings["anthropic_betas"] = list(endpoint.beta_headers)
        name = endpoint.model.name
        model = describe_model(name)
        settings.setdefault("max_tokens", model.max_output or _DEFAULT_MAX_TOKENS)
        off_settings = _make_off(name)
        return settings | _make_thinking(model, reasoning, settings["max_tokens"], off_settings)

    def is_forced_tool_refused(self, endpoint: ModelEndpoint, reasoning: ReasoningSettings) -> bool:
        """Tell whether the model thinks, cannot be kept from it, or takes no forced tool at all."""
        name = endpoint.model.name
        model = describe_model(name)
        takes_forced_tool = _read_profile(name).get("supports_forced_tool_choice", True)
        is_thinking = choose_effort(reasoning, model) is not None or not model.can_disable
        return is_thinking or not takes_forced_tool

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature of reasoning, or the redacted reasoning."""
        if not isinstance(part, ThinkingPart) or not part.signature:
            return {}
        return {_REDACTED_KEY if part.id == _REDACTED_ID else _SIGNATURE_KEY: part.signature}

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back signed reasoning; anything else would be refused."""
        if redacted_data := metadata.get(_REDACTED_KEY):
            return ThinkingPart(
                "", id=_REDACTED_ID, signature=redacted_data, provider_name=self.SYSTEM
            )
        if signature := metadata.get(_SIGNATURE_KEY):
            return ThinkingPart(text, signature=signature, provider_name=self.SYSTEM)
        return None


def describe_model(name: str) -> ReasoningModel:
    """Return how a model reasons, by the library's profile of its name."""
    if _WITHOUT_THINKING.match(name):
        return ReasoningModel(ReasoningKind.UNSUPPORTED)
    profile = _read_profile(name)
    max_output = profile.get("anthropic_max_output_tokens")
    if not profile.get("anthropic_supports_adaptive_thinking"):
        if _WITH_BUDGET.match(name):
            return ReasoningModel(ReasoningKind.BUDGET, max_output=max_output)
        return ReasoningModel(ReasoningKind.UNKNOWN, can_disable=False, max_output=max_output)
    levels = [level for level in LEVELS if profile.get(f"anthropic_supports_{level}_effort", True)]
    can_disable = not profile.get("thinking_always_enabled")
    return ReasoningModel(ReasoningKind.ADAPTIVE, levels, can_disable, max_output)


def _read_profile(name: str) -> Mapping[str, Any]:
    """Return the library's description of a model."""
    return anthropic_model_profile(name) or {}


def _make_off(name: str) -> dict[str, str]:
    """Return the thinking that a model is told where none is wanted."""
    is_between = _read_profile(name).get("anthropic_disables_thinking_with_between_tools")
    return {"type": "between_tools" if is_between else "disabled"}


def _make_thinking(
    model: ReasoningModel,
    reasoning: ReasoningSettings,
    max_tokens: int,
    off_settings: Mapping[str, str],
) -> dict[str, Any]:
    """Return the settings of thinking. A budget stays below the output limit, or is refused."""
    effort = choose_effort(reasoning, model)
    if effort is None:
        is_off = reasoning.mode is ReasoningMode.OFF
        is_unknown = model.kind is ReasoningKind.UNKNOWN
        may_say_off = is_off if is_unknown else model.can_disable
        if model.kind is ReasoningKind.UNSUPPORTED or not may_say_off:
            return {}
        return {"anthropic_thinking": off_settings}
    if model.kind is ReasoningKind.BUDGET:
        budget = min(max(convert_to_budget(effort, max_tokens), _MIN_BUDGET_TOKENS), max_tokens - 1)
        if budget < _MIN_BUDGET_TOKENS:
            return {"anthropic_thinking": off_settings}
        thinking = {"type": "enabled", "budget_tokens": budget, "display": "summarized"}
        return {"anthropic_thinking": thinking}
    settings: dict[str, Any] = {"anthropic_thinking": {"type": "adaptive", "display": "summarized"}}
    level = convert_to_level(effort, model.max_output)
    if level != "auto":
        accepted_levels = [name for name in model.levels if name not in ("none", "xlow")]
        settings["anthropic_effort"] = get_lower_level(level, accepted_levels)
    return settings


VENDOR = AnthropicAdapter()
