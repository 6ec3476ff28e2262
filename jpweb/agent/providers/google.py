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
from pydantic_ai.providers.google import GoogleProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings
from jpweb.stream.events import ToolCallRequest

_SIGNATURE_KEY = "google_thought_signature"
#: pydantic-ai's name of ``_SIGNATURE_KEY``.
_PROVIDER_SIGNATURE_KEY = "thought_signature"
_TIMEOUT_MS = 600_000


class GoogleAdapter(ProviderAdapter):
    """Sends back the signature of a call, a text or a thought."""

    SYSTEM: ClassVar[str] = "google"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model. ``other`` parameters become fields of the request's body."""
        options = HttpOptions(
            base_url=endpoint.base_url.removesuffix("/v1beta"),
            httpx_async_client=http,
            timeout=_TIMEOUT_MS,
            extra_body=dict(endpoint.model.parameters.get("other") or {}) or None,
        )
        client = Client(vertexai=False, api_key=endpoint.key, http_options=options)
        return GoogleModel(endpoint.model.name, provider=GoogleProvider(client=client))

    def adapt_settings(
        self, _endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Set the thinking budget in tokens, where a number is configured."""
        settings.pop("extra_body", None)
        if reasoning.tokens is not None:
            settings["google_thinking_config"] = {
                "include_thoughts": not reasoning.exclude,
                "thinking_budget": reasoning.tokens,
            }
            del settings["thinking"]
        return settings

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature, if the part has one."""
        signature = (getattr(part, "provider_details", None) or {}).get(_PROVIDER_SIGNATURE_KEY)
        return {_SIGNATURE_KEY: signature} if signature else {}

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a signed thought; others were for people to read."""
        details = _signature_details(metadata)
        if not text or not details:
            return None
        return ThinkingPart(text, provider_name=self.SYSTEM, provider_details=details)

    def make_text_part(self, text: str, metadata: Mapping[str, Any]) -> TextPart | None:
        """Send a text back with its signature; one without text may still have one."""
        details = _signature_details(metadata)
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
            provider_details=_signature_details(metadata),
        )


def _signature_details(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    signature = metadata.get(_SIGNATURE_KEY)
    return {_PROVIDER_SIGNATURE_KEY: signature} if signature else None


VENDOR = GoogleAdapter()
