"""llama.cpp's server, by its endpoint for OpenAI's chat completions. It wants nothing back."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.vendor import Vendor, openai_client, rooted


class LlamaCpp(Vendor):
    """Needs no key; one is sent where it is configured."""

    SYSTEM: ClassVar[str] = "openai"

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = openai_client(link, rooted(link.base_url, "/v1"), http)
        return OpenAIChatModel(link.model.name, provider=OpenAIProvider(openai_client=client))


VENDOR = LlamaCpp()
