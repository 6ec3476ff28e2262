"""Sends one request to a vendor and streams its reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import (
    Model,
    ModelRequestParameters,
    StreamedResponse,
    get_user_agent,
)
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from jpweb.agent.certificates import load_certificates
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import ProviderEvent, ProviderRequest, ReplyFinished, TokenUsage
from jpweb.agent.providers.adapter import network_reads, parameters
from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.error_mapping import (
    VENDOR_ERRORS,
    make_broken_call_failure,
    make_failure,
    map_error,
)
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.forced_tool import describe_nudge, offer_alone, soften_choice
from jpweb.agent.providers.adapter.messages import make_messages
from jpweb.agent.providers.adapter.parameters import ReasoningSettings
from jpweb.agent.providers.adapter.reply_parser import (
    ReplyParser,
    ReplyTooLong,
    choose_output_name,
)

#: Seconds. A model may reason for minutes before its first token; connecting is fast.
REQUEST_TIMEOUT = httpx2.Timeout(600, connect=10)
#: Tokens of one request above which a report is taken for an error.
_MAX_TOKENS = 2**40
_CUT_REASONS = {"length": FailureKind.TRUNCATED, "content_filter": FailureKind.REFUSAL}


async def converse(
    adapter: ProviderAdapter, endpoint: ModelEndpoint, request: ProviderRequest
) -> AsyncIterator[ProviderEvent]:
    """Yield the reply while it streams; closing the iterator closes the connection.

    Raises ProviderFailed.
    """
    output_name = choose_output_name({tool.name for tool in request.tools})
    parser = ReplyParser(adapter, request.schema is not None, request.max_bytes, output_name)
    http = await asyncio.to_thread(_open_http, request.idle_seconds)
    async with http:
        try:
            reasoning = parameters.read_reasoning(endpoint.model.parameters)
            closing_text = describe_nudge(request)
            if request.forces_tool:
                request = _adapt_choice(adapter, endpoint, request, reasoning)
            settings = _make_settings(adapter, endpoint, request, reasoning)
            model = await asyncio.to_thread(adapter.open_model, endpoint, http)
            async with model_request_stream(
                model,
                make_messages(
                    request.parts,
                    adapter,
                    closing_text,
                    offered_names={tool.name for tool in request.tools},
                    can_take_reasoning=adapter.can_take_reasoning(endpoint),
                ),
                model_settings=settings,
                model_request_parameters=_request_parameters(request, model, output_name),
            ) as stream:
                yield TokenUsage()  # the provider counts tokens from here on
                async for piece in stream:
                    for event in parser.take_event(piece):
                        yield event
                for event in _end_reply(parser, stream, endpoint):
                    yield event
        except ReplyTooLong as error:
            message = f"The reply from {endpoint.title} is {error}."
            raise ProviderFailed(message, FailureKind.TRUNCATED) from None
        except VENDOR_ERRORS as error:
            raise map_error(error, endpoint) from None


def _open_http(idle_seconds: float) -> httpx2.AsyncClient:
    """Return a client without connections; the first reads certificates, so call it in a thread.

    Every byte that arrives restarts the timeout, a vendor's keep-alive too.
    """
    timeout = httpx2.Timeout(idle_seconds, connect=10) if idle_seconds else REQUEST_TIMEOUT
    return httpx2.AsyncClient(
        timeout=timeout,
        headers={"User-Agent": get_user_agent()},
        verify=load_certificates(),
        event_hooks={"request": [network_reads.make_request_hook()]},
    )


def _adapt_choice(
    adapter: ProviderAdapter,
    endpoint: ModelEndpoint,
    request: ProviderRequest,
    reasoning: ReasoningSettings,
) -> ProviderRequest:
    """Return the request with its forced tool as the vendor takes it."""
    if adapter.is_forced_tool_refused(endpoint, reasoning):
        return soften_choice(request, is_nudge_first=adapter.IS_NUDGE_FIRST)
    return offer_alone(request) if adapter.IS_FORCED_TOOL_ALONE else request


def _make_settings(
    adapter: ProviderAdapter,
    endpoint: ModelEndpoint,
    request: ProviderRequest,
    reasoning: ReasoningSettings,
) -> ModelSettings:
    common_settings = parameters.make_settings(endpoint.model.parameters)
    common_settings |= {"cache": request.cache, "cache_key": request.cache_key}
    if request.tools:
        choice = request.tool_choice
        common_settings["tool_choice"] = (
            choice if choice in ("auto", "none", "required") else [choice]
        )
    settings: ModelSettings = adapter.adapt_settings(endpoint, common_settings, reasoning)  # type: ignore[assignment]  # keys differ by vendor
    return settings


def _request_parameters(
    request: ProviderRequest, model: Model[Any], output_name: str
) -> ModelRequestParameters:
    """Return tools and output mode: the schema natively, or as a tool's arguments."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.model_description or None,
            parameters_json_schema=dict(tool.parameters),
        )
        for tool in request.tools
    ]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    schema = dict(request.schema)
    profile: Mapping[str, Any] = model.profile
    # Gemini up to 2.x takes tools or a schema, not both.
    can_combine = not tools or profile.get("google_supports_tool_combination", True)
    if profile.get("supports_json_schema_output", False) and can_combine:
        form = OutputObjectDefinition(json_schema=schema, name=output_name)
        return ModelRequestParameters(
            function_tools=tools, output_mode="native", output_object=form
        )
    output = ToolDefinition(
        name=output_name,
        description="Gives the answer.",
        parameters_json_schema=schema,
        kind="output",
    )
    return ModelRequestParameters(
        function_tools=tools, output_mode="tool", output_tools=[output], allow_text_output=False
    )


def _end_reply(
    parser: ReplyParser, stream: StreamedResponse, endpoint: ModelEndpoint
) -> Iterator[ProviderEvent]:
    """Yield the remaining events of a reply whose stream is over. Raises ProviderFailed."""
    yield from parser.close()
    reason, details = stream.finish_reason, stream.provider_details or {}
    cut_reason = _CUT_REASONS.get(reason or "")
    if usage := _read_usage(stream):
        yield usage
    if cut_reason is FailureKind.REFUSAL:
        raise make_failure(
            cut_reason, endpoint, str(details.get("refusal") or details.get("block_reason") or "")
        )
    if (
        reason == "error"
        or not (details.get("finish_reason") or cut_reason)
        or stream.state != "complete"
    ):
        raise make_failure(FailureKind.BROKEN_OFF, endpoint)
    yield from parser.release_calls(is_cut=cut_reason is not None)
    if cut_reason:
        raise make_failure(cut_reason, endpoint)
    if (tool_name := parser.find_broken_call()) is not None:
        raise make_broken_call_failure(tool_name, endpoint)
    if parser.is_structured:
        data = parser.read_data()
        if data is None:
            raise make_failure(FailureKind.BROKEN_OFF, endpoint, "no data in the requested format")
        yield data
    yield ReplyFinished()


def _read_usage(stream: StreamedResponse) -> TokenUsage | None:
    """Return the reported tokens of a reply whose stream is over, None where it has none."""
    usage = stream.usage
    counts: tuple[Any, ...] = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    if not (stream.finish_reason and usage.input_tokens):
        return None
    are_valid = all(isinstance(count, int) and 0 <= count <= _MAX_TOKENS for count in counts)
    return TokenUsage(*counts) if are_valid else None
