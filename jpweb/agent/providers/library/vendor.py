"""What a vendor's own file says; the defaults are those of a vendor that wants nothing back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import openai
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Reasoning
from jpweb.stream.events import ToolCallRequest


class Vendor(ABC):
    """One vendor's dialect."""

    #: What the library calls it. Parts without this name are treated as another vendor's.
    SYSTEM: ClassVar[str]
    #: Whether consecutive parts of one id are pieces of one text, and come back as one.
    ITEMS: ClassVar[bool] = False

    @abstractmethod
    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model; all its requests go through ``http``."""

    def settings(
        self, _link: Link, settings: dict[str, Any], _reasoning: Reasoning
    ) -> dict[str, Any]:
        """Return the settings of a request, with what this vendor adds or does not take."""
        return settings

    def noted(self, _part: ModelResponsePart) -> dict[str, Any]:
        """Return what the vendor wants back with a part, under JP's metadata names."""
        return {}

    def thinking(self, _text: str, _metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Return earlier reasoning as it is sent back, or None where it is not."""
        return None

    def text(self, text: str, _metadata: Mapping[str, Any]) -> TextPart | None:
        """Return an earlier message as it is sent back."""
        return TextPart(text) if text else None

    def call(self, call: ToolCallRequest, _metadata: Mapping[str, Any]) -> ToolCallPart:
        """Return an earlier tool call as it is sent back."""
        return ToolCallPart(call.name, call.arguments, call.id)

    def settled(self, parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
        """Return the parts of one earlier reply as the vendor accepts them together."""
        return list(parts)


def rooted(url: str, path: str) -> str:
    """Return the URL with the path of its API, where it names a host alone."""
    return url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}{path}"


def openai_client(
    link: Link, base_url: str, http: httpx2.AsyncClient, headers: Mapping[str, str] | None = None
) -> openai.AsyncOpenAI:
    """Return a client for OpenAI's API, whoever offers it. No key is looked for elsewhere."""
    return openai.AsyncOpenAI(
        api_key=link.key or "none",  # the client wants one, local servers do not
        base_url=base_url,
        http_client=http,
        max_retries=0,
        default_headers=headers,
    )
