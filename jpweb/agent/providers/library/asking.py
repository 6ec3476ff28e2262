"""One request to a vendor and its reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import (
    Model,
    ModelRequestParameters,
    StreamedResponse,
    create_async_httpx2_client,
)
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import Finished, ProviderEvent, ProviderRequest
from jpweb.agent.providers.library import parameters
from jpweb.agent.providers.library.failures import ERRORS, failed, failure
from jpweb.agent.providers.library.messages import messages
from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.receiving import OUTPUT, Reception, TooLong
from jpweb.agent.providers.library.vendor import Vendor

#: A model may think for minutes before it says a word; connecting takes no such time.
TIMEOUT = httpx2.Timeout(600, connect=10)
_CUT = {"length": FailureKind.TRUNCATED, "content_filter": FailureKind.REFUSAL}


async def converse(
    vendor: Vendor, link: Link, request: ProviderRequest
) -> AsyncIterator[ProviderEvent]:
    """Yield the reply as it comes; closing the iterator closes the connection.

    Raises ProviderFailed.
    """
    reception = Reception(vendor, request.schema is not None, request.most_bytes)
    http = await asyncio.to_thread(_http)
    async with http:
        try:
            settings = _settings(vendor, link, request)
            model = await asyncio.to_thread(vendor.open, link, http)
            async with model_request_stream(
                model,
                messages(request.parts, vendor),
                model_settings=settings,
                model_request_parameters=_wanted(request, model),
            ) as stream:
                async for piece in stream:
                    for event in reception.take(piece):
                        yield event
                for event in _ended(reception, stream, link):
                    yield event
        except TooLong as error:
            problem = f"The reply from {link.title} is {error}."
            raise ProviderFailed(problem, FailureKind.TRUNCATED) from None
        except ERRORS as error:
            raise failure(error, link) from None


def _http() -> httpx2.AsyncClient:
    """Open connections; reading the machine's certificates blocks, so this runs in a thread."""
    return create_async_httpx2_client(timeout=TIMEOUT)


def _settings(vendor: Vendor, link: Link, request: ProviderRequest) -> ModelSettings:
    reasoning = parameters.reasoning(link.model.parameters)
    common = parameters.settings(link.model.parameters, reasoning)
    if request.tools:
        choice = request.tool_choice
        common["tool_choice"] = choice if choice in ("auto", "none", "required") else [choice]
    settings: ModelSettings = vendor.settings(link, common, reasoning)  # type: ignore[assignment]  # keys differ by vendor
    return settings


def _wanted(request: ProviderRequest, model: Model[Any]) -> ModelRequestParameters:
    """Return tools and the reply's form: what the schema says, or by way of a tool's arguments."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.told or None,
            parameters_json_schema=dict(tool.parameters),
        )
        for tool in request.tools
    ]
    if request.schema is None:
        return ModelRequestParameters(function_tools=tools)
    schema = dict(request.schema)
    if model.profile.get("supports_json_schema_output", False):
        form = OutputObjectDefinition(json_schema=schema, name=OUTPUT)
        return ModelRequestParameters(
            function_tools=tools, output_mode="native", output_object=form
        )
    output = ToolDefinition(
        name=OUTPUT,
        description="Gives the answer.",
        parameters_json_schema=schema,
        kind="output",
    )
    return ModelRequestParameters(
        function_tools=tools, output_mode="tool", output_tools=[output], allow_text_output=False
    )


def _ended(reception: Reception, stream: StreamedResponse, link: Link) -> Iterator[ProviderEvent]:
    """Yield what is left of a reply whose stream is over. Raises ProviderFailed."""
    yield from reception.close()
    reason, details = stream.finish_reason, stream.provider_details or {}
    cut = _CUT.get(reason or "")
    if cut is FailureKind.REFUSAL:
        raise failed(cut, link, str(details.get("refusal") or details.get("block_reason") or ""))
    if reason == "error" or not (details.get("finish_reason") or cut) or stream.state != "complete":
        raise failed(FailureKind.BROKEN_OFF, link)
    yield from reception.calls(cut=cut is not None)
    if cut or reception.broken:
        raise failed(FailureKind.TRUNCATED, link)
    if reception.structured:
        data = reception.data()
        if data is None:
            raise failed(FailureKind.BROKEN_OFF, link, "no data in the requested format")
        yield data
    yield Finished()
