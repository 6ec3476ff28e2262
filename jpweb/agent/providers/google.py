"""Google: the Gemini API. What it signs, a text or a call, goes back signed."""

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

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Reasoning
from jpweb.agent.providers.library.vendor import Vendor
from jpweb.stream.events import ToolCallRequest

_SIGNATURE = "google_thought_signature"
#: What the library calls it.
_THEIRS = "thought_signature"
_MILLISECONDS = 600_000


class Google(Vendor):
    """Signatures stand on a call, on a text, or on a thought."""

    SYSTEM: ClassVar[str] = "google"

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model. ``other`` parameters become fields of the request's body."""
        options = HttpOptions(
            base_url=link.base_url.removesuffix("/v1beta"),
            httpx_async_client=http,
            timeout=_MILLISECONDS,
            extra_body=dict(link.model.parameters.get("other") or {}) or None,
        )
        client = Client(vertexai=False, api_key=link.key, http_options=options)
        return GoogleModel(link.model.name, provider=GoogleProvider(client=client))

    def settings(
        self, _link: Link, settings: dict[str, Any], reasoning: Reasoning
    ) -> dict[str, Any]:
        """Say how many tokens to think for, where a number is configured."""
        settings.pop("extra_body", None)
        if reasoning.tokens is not None:
            settings["google_thinking_config"] = {
                "include_thoughts": not reasoning.exclude,
                "thinking_budget": reasoning.tokens,
            }
            del settings["thinking"]
        return settings

    def noted(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature, if the part has one."""
        signature = (getattr(part, "provider_details", None) or {}).get(_THEIRS)
        return {_SIGNATURE: signature} if signature else {}

    def thinking(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a thought that is signed; others were for people to read."""
        details = _details(metadata)
        if not text or not details:
            return None
        return ThinkingPart(text, provider_name=self.SYSTEM, provider_details=details)

    def text(self, text: str, metadata: Mapping[str, Any]) -> TextPart | None:
        """Send a text back with its signature; one without text may still have one."""
        details = _details(metadata)
        if not text and not details:
            return None
        return TextPart(text, provider_name=self.SYSTEM, provider_details=details)

    def call(self, call: ToolCallRequest, metadata: Mapping[str, Any]) -> ToolCallPart:
        """Send a call back with its signature."""
        return ToolCallPart(
            call.name,
            call.arguments,
            call.id,
            provider_name=self.SYSTEM,
            provider_details=_details(metadata),
        )


def _details(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    signature = metadata.get(_SIGNATURE)
    return {_THEIRS: signature} if signature else None


VENDOR = Google()
