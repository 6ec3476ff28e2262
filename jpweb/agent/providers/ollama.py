"""Ollama, by its own API for chats. No metadata is sent back; reasoning is, in a loop of calls.

Its API like OpenAI's ignores the context window, cuts long conversations silently, and unloads the
model when it likes (https://github.com/ollama/ollama/blob/main/docs/api.md).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx2
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings

#: Bytes of an error's body that are read.
_MAX_ERROR_BYTES = 64 * 1024
#: Names of a request's options, by their names in pydantic-ai.
_OPTION_NAMES: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "num_predict",
    "stop_sequences": "stop",
}


class OllamaAdapter(ProviderAdapter):
    """Needs no key; one is sent where it is configured, to Ollama's own servers for instance."""

    SYSTEM: ClassVar[str] = "ollama"
    IS_LOOP_REASONING_SENT: ClassVar[bool] = True

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model. An address may end with ``/v1``, the path of the other API."""
        base_url = endpoint.base_url.removesuffix("/v1").removesuffix("/api")
        return OllamaChatModel(endpoint.model.name, base_url, http, endpoint.key)

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add Ollama's own settings; it takes reasoning on or off, without an effort."""
        parameters = endpoint.model.parameters
        body: dict[str, Any] = {"think": reasoning.mode in (ReasoningMode.AUTO, ReasoningMode.SET)}
        window, keep_alive = parameters.get("context_window"), parameters.get("keep_alive")
        if isinstance(window, int) and not isinstance(window, bool) and window > 0:
            body["options"] = {"num_ctx": window}
        if isinstance(keep_alive, str) and keep_alive:
            body["keep_alive"] = keep_alive
        settings["extra_body"] = body | dict(settings.get("extra_body") or {})
        return settings

    def is_forced_tool_refused(
        self, _endpoint: ModelEndpoint, _reasoning: ReasoningSettings
    ) -> bool:
        """Return True: Ollama's API has no choice of a tool."""
        return True

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Return the reasoning as it was."""
        return ThinkingPart(text) if text.strip() else None


class OllamaChatModel(Model[httpx2.AsyncClient]):
    """A model of an Ollama server. Requests go through ``http``, a key as a bearer token."""

    def __init__(
        self, name: str, base_url: str, http: httpx2.AsyncClient, key: str | None = None
    ) -> None:
        super().__init__(profile=OllamaProvider.model_profile(name))
        self._name, self._http = name, http
        self._url = f"{base_url}/api/chat"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    @property
    def model_name(self) -> str:
        """The model's name at the server."""
        return self._name

    @property
    def system(self) -> str:
        """The vendor's name in the library."""
        return "ollama"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the whole reply."""
        async with self.request_stream(
            messages, model_settings, model_request_parameters
        ) as response:
            async for _ in response:
                pass
            return response.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        _run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        """Open the stream of a reply. Raises ModelHTTPError, HTTPError."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        body = self._make_body(messages, settings or {}, parameters)
        async with self._http.stream("POST", self._url, json=body, headers=self._headers) as reply:
            if reply.status_code != httpx2.codes.OK:
                raise ModelHTTPError(
                    reply.status_code,
                    self._name,
                    await _read_error(reply),
                    headers=reply.headers,
                )
            yield OllamaReply(parameters, self._name, self._url, reply)

    def _make_body(
        self,
        messages: Sequence[ModelMessage],
        settings: Mapping[str, Any],
        parameters: ModelRequestParameters,
    ) -> dict[str, Any]:
        """Return the body of a request; ``extra_body`` adds to it, and to its options."""
        extra_body = dict(settings.get("extra_body") or {})
        options = {
            name: settings[library_name]
            for library_name, name in _OPTION_NAMES.items()
            if library_name in settings
        }
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [line for message in messages for line in _make_lines(message)],
            "options": options | dict(extra_body.pop("options", {})),
            "stream": True,
        }
        if parameters.output_mode == "native" and parameters.output_object is not None:
            body["format"] = parameters.output_object.json_schema
        tools = (*parameters.function_tools, *parameters.output_tools)
        # In a format no tool is called, and the prompt's cache lasts where the tools stay.
        if tools and ("format" in body or settings.get("tool_choice") != "none"):
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description or "",
                        "parameters": tool.parameters_json_schema,
                    },
                }
                for tool in tools
            ]
        return body | extra_body


@dataclass
class OllamaReply(StreamedResponse):
    """A reply that arrives as lines of JSON. An error inside it counts as one of the server."""

    _name: str
    _url: str
    _reply: httpx2.Response

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        """Yield the events of the reply. Raises ModelHTTPError for an error inside it."""
        async for line in self._reply.aiter_lines():
            if not line.strip():
                continue
            piece = json.loads(line)
            if "error" in piece:
                status = httpx2.codes.INTERNAL_SERVER_ERROR
                raise ModelHTTPError(status, self._name, piece, in_stream=True)
            for event in self._take_message(piece.get("message") or {}):
                yield event
            if piece.get("done"):
                reason = piece.get("done_reason") or "stop"
                self.finish_reason = "length" if reason == "length" else "stop"
                self.provider_details = {"finish_reason": reason}
                self._usage = RequestUsage(
                    input_tokens=piece.get("prompt_eval_count") or 0,
                    output_tokens=piece.get("eval_count") or 0,
                )

    def _take_message(self, message: Mapping[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        if message.get("thinking"):
            yield from manager.handle_thinking_delta(
                vendor_part_id=None, content=message["thinking"]
            )
        if message.get("content"):
            yield from manager.handle_text_delta(vendor_part_id=None, content=message["content"])
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield manager.handle_tool_call_part(
                vendor_part_id=None,
                tool_name=function["name"],
                args=function.get("arguments") or {},
                tool_call_id=call.get("id") or None,
            )

    async def close_stream(self) -> None:
        """Close the connection."""
        await self._reply.aclose()

    @property
    def model_name(self) -> str:
        """The model's name at the server."""
        return self._name

    @property
    def provider_name(self) -> str:
        """The vendor's name in the library."""
        return "ollama"

    @property
    def provider_url(self) -> str:
        """The address of the request."""
        return self._url

    @property
    def timestamp(self) -> datetime:
        """No time: the library asks for one, and a turn has its own clock."""
        return datetime.min.replace(tzinfo=UTC)


def _make_lines(message: ModelMessage) -> Iterator[dict[str, Any]]:
    """Yield the messages of Ollama that one of the library becomes."""
    if isinstance(message, ModelResponse):
        yield _make_reply_line(message)
        return
    yield from _make_request_lines(message)


def _make_request_lines(message: ModelRequest) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        match part:
            case SystemPromptPart(content=text):
                yield {"role": "system", "content": text}
            case UserPromptPart(content=str(text)):
                yield {"role": "user", "content": text}
            case ToolReturnPart(tool_name=name, tool_call_id=id_):
                text = part.model_response_str()
                yield {"role": "tool", "content": text, "tool_name": name, "tool_call_id": id_}
            case _:
                raise TypeError(f"{part.part_kind} is no part of a thread")


def _make_reply_line(message: ModelResponse) -> dict[str, Any]:
    line: dict[str, Any] = {
        "role": "assistant",
        "content": "\n\n".join(p.content for p in message.parts if isinstance(p, TextPart)),
    }
    thinking = "\n\n".join(p.content for p in message.parts if isinstance(p, ThinkingPart))
    calls = [
        {
            "id": part.tool_call_id,
            "function": {"name": part.tool_name, "arguments": part.args_as_dict()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return (
        line
        | ({"thinking": thinking} if thinking else {})
        | ({"tool_calls": calls} if calls else {})
    )


async def _read_error(reply: httpx2.Response) -> Any:
    """Return the body of an error, as JSON where it is that."""
    content = b""
    async for piece in reply.aiter_bytes():
        content += piece
        if len(content) > _MAX_ERROR_BYTES:
            break
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


VENDOR = OllamaAdapter()
