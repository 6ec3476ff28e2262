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

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Reasoning
from jpweb.agent.providers.library.vendor import Vendor, openai_client, rooted
from jpweb.stream.events import ToolCallRequest

_ITEM = "openai_item_id"
_ENCRYPTED = "openai_encrypted_content"
_PHASE = "openai_phase"
#: What this API has no field for.
_UNKNOWN = ("stop_sequences", "top_k")


class OpenAI(Vendor):
    """Items have ids; those of one reply belong together."""

    SYSTEM: ClassVar[str] = "openai"
    ITEMS: ClassVar[bool] = True

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = openai_client(link, rooted(link.base_url, "/v1"), http)
        return OpenAIResponsesModel(link.model.name, provider=OpenAIProvider(openai_client=client))

    def settings(
        self, _link: Link, settings: dict[str, Any], reasoning: Reasoning
    ) -> dict[str, Any]:
        """Ask for readable reasoning where it is wanted; keep nothing at OpenAI."""
        settings["openai_store"] = False
        if reasoning.shown:
            settings["openai_reasoning_summary"] = "auto"
        return {name: value for name, value in settings.items() if name not in _UNKNOWN}

    def noted(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the item's id, and what else came with it."""
        noted: dict[str, Any] = {}
        if isinstance(part, ThinkingPart | TextPart | ToolCallPart) and part.id:
            noted[_ITEM] = part.id
        if isinstance(part, ThinkingPart) and part.signature:
            noted[_ENCRYPTED] = part.signature
        if isinstance(part, TextPart) and (phase := (part.provider_details or {}).get("phase")):
            noted[_PHASE] = phase
        return noted

    def thinking(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back what is encrypted: an id alone names nothing, since nothing is stored."""
        item, encrypted = metadata.get(_ITEM), metadata.get(_ENCRYPTED)
        if not item or not encrypted:
            return None
        return ThinkingPart(text, id=item, signature=encrypted, provider_name=self.SYSTEM)

    def text(self, text: str, metadata: Mapping[str, Any]) -> TextPart | None:
        """Send a message back as the item that it was, unless it is empty."""
        if not text:
            return None
        phase = metadata.get(_PHASE)
        return TextPart(
            text,
            id=metadata.get(_ITEM),
            provider_name=self.SYSTEM,
            provider_details={"phase": phase} if phase else None,
        )

    def call(self, call: ToolCallRequest, metadata: Mapping[str, Any]) -> ToolCallPart:
        """Send a call back as the item that it was."""
        return ToolCallPart(
            call.name, call.arguments, call.id, id=metadata.get(_ITEM), provider_name=self.SYSTEM
        )

    def settled(self, parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
        """Take the ids off a reply whose reasoning is not sent: OpenAI would look for it."""
        if any(isinstance(part, ThinkingPart) for part in parts):
            return list(parts)
        return [
            replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) else part
            for part in parts
        ]


VENDOR = OpenAI()
