"""Client of MCP servers. It and what only it imports use the official SDK, which takes 1 s."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Transport
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    Implementation,
    TextContent,
    TextResourceContents,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from jpweb import data_folder
from jpweb.agent.certificates import load_certificates
from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.mcp import command_transport, message_limit, network_limit, open_requests
from jpweb.agent.tools.mcp.elicitation import Elicitation
from jpweb.agent.tools.mcp.error_text import find_first_error
from jpweb.agent.tools.mcp.message_limit import MessagePace
from jpweb.agent.tools.mcp.overlay import ListedTool

#: The first protocol version with elicitations.
_ELICITATION_SINCE = "2025-06-18"
#: Limit of the requests for input with which a server may answer one call.
_MAX_INPUT_ROUNDS = 100
#: Seconds to connect; reading has no limit, because an answer may wait for a person.
_HTTP_TIMEOUT = httpx2.Timeout(30.0, read=None)
#: Sets the umask and executes the server, also a script without ``#!``, as JP does.
_SHELL, _WITH_UMASK = "/bin/sh", 'umask "$0" && exec "$@"'
_HEADER_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")
#: Part of the error with which a server refuses the expired state of a call.
_REFUSED_STATE_TEXT = "requestState"
#: The SDK's error for a server that no longer knows the session (HTTP 404): it has restarted.
_LOST_SESSION = (INVALID_REQUEST, "Session terminated")
#: How the errors begin that the SDK itself makes, by codes that servers use too. They may hold
#: pieces of the data it received.
_SDK_ERROR_STARTS = {
    CONNECTION_CLOSED: ("Connection closed", "SSE stream "),
    PARSE_ERROR: ("Failed to parse ",),
}
#: Sentences for the SDK's errors. It raises RuntimeError about a server's invalid answer.
_ERROR_SENTENCES = (
    ((httpx2.HTTPError, httpx2.InvalidURL), "its address can't be reached"),
    ((MCPError,), "it returned an error"),
    ((ValidationError, RuntimeError), "its reply doesn't follow the protocol"),
)
#: Elicitation of the running call, where the SDK's callback runs in the call's own task.
_elicitation: ContextVar[Elicitation] = ContextVar("_elicitation")


class McpSession:
    """A connected server.

    An elicitation belongs to a call. Since 2026-07-28 the protocol names that call. Before, it does
    not, so that the calls of such a server run one by one. ``reconnect`` is awaited before a call
    while no connection is open.
    """

    def __init__(self, reconnect: Callable[[], Awaitable[None]]) -> None:
        self._reconnect = reconnect
        self._client: Client | None = None
        self._lost_event = asyncio.Event()
        self._call_lock = asyncio.Lock()
        self._current_elicitation: Elicitation | None = None
        self._loss_text = ""

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None

    async def wait_lost(self) -> None:
        """Wait until a server that no longer knows the session has said so."""
        await self._lost_event.wait()

    def note_limit(self, description: str) -> None:
        """Remember that the connection ends because of a message over a limit."""
        self._loss_text = description

    def end_for_open_requests(self) -> None:
        """End the connection because of requests that the server left open."""
        self._loss_text = open_requests.describe_limit()
        self._lost_event.set()

    @contextmanager
    def name_loss(self) -> Iterator[None]:
        """Raise ToolUnavailable in place of the SDK's error where the loss has a known cause."""
        try:
            yield
        except (MCPError, ExceptionGroup) as error:
            if self._loss_text and not _is_reply(error):
                raise ToolUnavailable(self._loss_text) from error
            raise

    @property
    def _connected_client(self) -> Client:
        if self._client is None:
            raise ToolUnavailable(
                self._loss_text or "it is no longer connected; the next turn connects it again"
            )
        return self._client

    @asynccontextmanager
    async def connect_over(self, transport: Transport) -> AsyncIterator[None]:
        """Connect over the transport, in the task that enters."""
        self._loss_text = ""
        client = Client(
            open_requests.limit_requests(transport, self.end_for_open_requests),
            elicitation_callback=self._answer_elicitation,
            input_required_max_rounds=_MAX_INPUT_ROUNDS,
            client_info=Implementation(name="jpweb", version="1"),
            cache=None,
        )
        async with client:
            client.session.validate_tool_result = _accept_result  # type: ignore[method-assign]  # below
            self._client = client
            self._lost_event.clear()
            try:
                yield
            finally:
                self._client = None

    async def list_tools(self) -> dict[str, ListedTool]:
        """Return the server's tools by name. Raises ToolUnavailable beyond the limits."""
        tools: dict[str, ListedTool] = {}
        cursor: str | None = None
        size = 0
        for _ in range(message_limit.MAX_TOOL_PAGES):
            page = await self._connected_client.list_tools(cursor=cursor)
            size += len(page.model_dump_json())
            for tool in page.tools:
                text_size = len(tool.model_dump_json(include={"description", "input_schema"}))
                tools[tool.name] = ListedTool(
                    tool.name, tool.description or "", tool.input_schema, text_size
                )
            if len(tools) > message_limit.MAX_TOOLS:
                raise ToolUnavailable(f"it lists more than {message_limit.MAX_TOOLS:,} tools")
            if size > message_limit.MAX_MESSAGE_BYTES:
                raise ToolUnavailable(message_limit.describe_limit())
            cursor = page.next_cursor
            if cursor is None:
                return tools
        raise ToolUnavailable(
            f"it lists its tools on more than {message_limit.MAX_TOOL_PAGES} pages"
        )

    @asynccontextmanager
    async def hold_call_slot(self, elicitation: Elicitation) -> AsyncIterator[None]:
        """Wait until a call may be made; in the block, the server's elicitations go to this one.

        Raises ToolUnavailable.
        """
        if not self.is_connected:
            await self._reconnect()
        version = self._connected_client.protocol_version
        is_ambiguous = version in HANDSHAKE_PROTOCOL_VERSIONS and version >= _ELICITATION_SINCE
        async with self._call_lock if is_ambiguous else nullcontext():
            if not self.is_connected:  # the call before it has lost the session
                await self._reconnect()
            mark = _elicitation.set(elicitation)
            self._current_elicitation = elicitation if is_ambiguous else None
            try:
                yield
            finally:
                self._current_elicitation = None
                _elicitation.reset(mark)

    async def call_tool(self, tool: str, arguments: Mapping[str, Any]) -> Success | Failed:
        """Call a tool; a cancelled call notifies the server. Raises the SDK's errors.

        Where a person answered later than the server keeps the state of a call (600 s in the
        official SDK), the call is repeated with its earlier answers. The server refuses the state
        before the tool continues, so that no step runs twice that the protocol runs once.
        """
        elicitation = self._current_elicitation or _elicitation.get(None)
        result = None
        while result is None:
            try:
                with self.name_loss():
                    result = await self._connected_client.call_tool(tool, dict(arguments))
            except MCPError as error:
                if (error.code, error.message) == _LOST_SESSION:
                    self._client = None
                    self._lost_event.set()
                is_state_expired = (
                    error.code == INVALID_PARAMS and _REFUSED_STATE_TEXT in error.message
                )
                if not (is_state_expired and elicitation is not None and elicitation.begin_again()):
                    raise
        text = "\n\n".join(_list_text_parts(result))
        return Failed(text) if result.is_error else Success(text)

    async def _answer_elicitation(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        elicitation = self._current_elicitation or _elicitation.get(None)
        if elicitation is None or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        reply = await elicitation.answer_form(params.message, params.requested_schema)
        return ElicitResult(action=reply.action, content=reply.content)


@asynccontextmanager
async def connect_stdio(
    session: McpSession,
    program: str,
    server: McpServer,
    variables: Mapping[str, str],
    folder: Path,
    errors: command_transport.OutputEnd,
) -> AsyncIterator[None]:
    """Start the server and connect to it. Its environment is the SDK's minimum plus the variables.

    Its files get the modes that its user's umask gives, not this process's closed one.
    """
    umask = f"{data_folder.USER_UMASK:04o}"
    command = (_SHELL, "-c", _WITH_UMASK, umask, program, *server.arguments)
    transport = command_transport.run_command(
        command, variables, folder, errors, session.note_limit
    )
    with session.name_loss():
        async with session.connect_over(transport):
            yield


@asynccontextmanager
async def connect_http(
    session: McpSession, url: str, headers: Mapping[str, str]
) -> AsyncIterator[None]:
    """Connect to a server that runs elsewhere. Raises ToolUnavailable for invalid headers."""
    pace = MessagePace()
    async with (
        httpx2.AsyncClient(
            headers=_clean_headers(headers) | message_limit.UNCODED_HEADERS,
            timeout=_HTTP_TIMEOUT,
            verify=load_certificates(),
            event_hooks={
                "request": [network_limit.make_request_hook(pace, session.note_limit)],
                "response": [message_limit.make_response_hook(pace, session.note_limit)],
            },
        ) as client,
        session.connect_over(
            streamable_http_client(
                url, http_client=client, max_sse_event_size=message_limit.MAX_MESSAGE_BYTES
            )
        ),
    ):
        yield


def describe_error(error: BaseException) -> str:
    """Return a description of an error in jpweb's words: others may repeat a key or a secret."""
    match find_first_error(error):
        case ToolUnavailable() as unavailability:
            return str(unavailability)
        case failure if limit := message_limit.find_limit(failure):
            return limit
        case MCPError(code=code) as failure if code == CONNECTION_CLOSED and not _is_reply(failure):
            return "it ended, or the connection to it was lost"
        case OSError(strerror=str(reason)):
            return f"it can't be reached: {reason}"
        case failure:
            sentences = (
                sentence for kinds, sentence in _ERROR_SENTENCES if isinstance(failure, kinds)
            )
            return next(sentences, f"it failed ({type(failure).__name__})")


def describe_call_error(error: BaseException) -> str:
    """Return a description of a failed call: the server's words where these are its answer."""
    match find_first_error(error):
        case MCPError(message=message) as failure if message and _is_reply(failure):
            return message
        case _:
            return describe_error(error)


def _is_reply(error: Exception) -> bool:
    """Tell whether an error is a server's reply, and not the SDK's own."""
    return isinstance(error, MCPError) and not error.message.startswith(
        _SDK_ERROR_STARTS.get(error.code, ())
    )


def _clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without space around them. Raises ToolUnavailable; no value is shown."""
    cleaned_headers = {name: value.strip() for name, value in headers.items()}
    for name, value in cleaned_headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ToolUnavailable(f"its header {name!a} contains characters that can't be sent")
    return cleaned_headers


async def _accept_result(name: str, result: CallToolResult) -> None:
    """Accept the structured content of a result, of which nothing is used.

    The SDK would match it with patterns of the server's own output schema, which can take for ever.
    """


def _list_text_parts(result: CallToolResult) -> list[str]:
    texts: list[str] = []
    for part in result.content:
        match part:
            case TextContent(text=text):
                texts.append(text)
            case EmbeddedResource(resource=TextResourceContents(text=text)):
                texts.append(text)
            case _:
                pass  # images and audio: the stream has no field for them
    return texts
