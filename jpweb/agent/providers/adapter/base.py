"""Base class of the vendors' adapters; by default no metadata is sent back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import openai
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model

from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings
from jpweb.stream.events import ToolCallRequest


class ProviderAdapter(ABC):
    """Adapts requests and replies to one vendor's API."""

    #: Its name in pydantic-ai. Parts without this name are treated as another vendor's.
    SYSTEM: ClassVar[str]
    #: Whether consecutive parts with one item id are pieces of one text, sent back as one.
    HAS_ITEM_IDS: ClassVar[bool] = False

    #: Whether a softened choice puts its nudge before the system prompt, not after it.
    IS_NUDGE_FIRST: ClassVar[bool] = False

    #: Whether a tool that is forced by name is offered alone: the vendor reads no name as a choice.
    IS_FORCED_TOOL_ALONE: ClassVar[bool] = False

    #: Whether messages of people in a row are sent as one: templates may want roles in turn.
    ARE_USER_TEXTS_JOINED: ClassVar[bool] = False

    #: Whether earlier reasoning is sent back while the tools that it led to are called.
    IS_LOOP_REASONING_SENT: ClassVar[bool] = False

    @abstractmethod
    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model; all its requests go through ``http``."""

    @abstractmethod
    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Return the settings of a request, adapted to the vendor."""

    def is_forced_tool_refused(
        self, _endpoint: ModelEndpoint, _reasoning: ReasoningSettings
    ) -> bool:
        """Tell whether the vendor takes no forced tool with this model and reasoning."""
        return False

    def can_take_reasoning(self, _endpoint: ModelEndpoint) -> bool:
        """Tell whether the model takes reasoning of earlier replies, perhaps of another model."""
        return True

    def read_metadata(self, _part: ModelResponsePart) -> dict[str, Any]:
        """Return the metadata that the vendor wants back with a part, under JP's names."""
        return {}

    @abstractmethod
    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Return the part that sends earlier reasoning back, or None where it is not sent."""

    def make_text_part(self, text: str, _metadata: Mapping[str, Any]) -> TextPart | None:
        """Return the part that sends an earlier message back, or None where it is not sent."""
        return TextPart(text) if text else None

    def make_call_part(self, call: ToolCallRequest, _metadata: Mapping[str, Any]) -> ToolCallPart:
        """Return the part that sends an earlier tool call back."""
        return ToolCallPart(call.name, call.arguments, call.id)

    def adapt_reply(self, parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
        """Return the parts of one earlier reply as the vendor accepts them together."""
        return list(parts)


class _OpenAIClient(openai.AsyncOpenAI):
    """Sends the headers of its caller alone: its address need not be OpenAI's.

    The library adds ``OPENAI_CUSTOM_HEADERS``, ``OPENAI_ORG_ID`` and ``OPENAI_PROJECT_ID``.
    """

    def __init__(self, *, default_headers: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(default_headers=default_headers, **options)
        self._custom_headers = default_headers or {}
        self.organization = self.project = None


def add_api_path(url: str, path: str) -> str:
    """Return the URL with the path of its API, where it names a host alone."""
    return url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}{path}"


def make_openai_client(
    endpoint: ModelEndpoint,
    base_url: str,
    http: httpx2.AsyncClient,
    headers: Mapping[str, str] | None = None,
) -> openai.AsyncOpenAI:
    """Return a client for OpenAI's API at any address. It reads nothing from the environment."""
    return _OpenAIClient(
        api_key=endpoint.key or "none",  # the client requires a key, local servers do not
        base_url=base_url,
        http_client=http,
        max_retries=0,
        default_headers=headers,
    )
