"""OpenAI: the Responses API, nothing stored there. Reasoning goes back encrypted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings
from jpweb.stream.events import ToolCallRequest

_ITEM_ID_KEY = "openai_item_id"
_ENCRYPTED_KEY = "openai_encrypted_content"
_PHASE_KEY = "openai_phase"
#: Settings that the Responses API has no field for.
_UNSUPPORTED_SETTINGS = ("stop_sequences", "top_k")


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
        self, _endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Request reasoning summaries where they are shown; disable storage at OpenAI."""
        settings["openai_store"] = False
        if reasoning.is_shown:
            settings["openai_reasoning_summary"] = "auto"
        return {
            name: value for name, value in settings.items() if name not in _UNSUPPORTED_SETTINGS
        }

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
        item, encrypted = metadata.get(_ITEM_ID_KEY), metadata.get(_ENCRYPTED_KEY)
        if not item or not encrypted:
            return None
        return ThinkingPart(text, id=item, signature=encrypted, provider_name=self.SYSTEM)

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


VENDOR = OpenAIAdapter()
