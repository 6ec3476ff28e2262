"""The official SDK, and the only module that imports it: that takes most of a second."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
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

from jpweb import datafolder
from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.outcome import Failed, Success
from jpweb.agent.tools.mcp.elicitation import Elicitation
from jpweb.agent.tools.mcp.overlay import Listed
from jpweb.agent.tools.mcp.reasons import first

#: The first protocol that lets a server ask.
_ASKS_SINCE = "2025-06-18"
#: How often a server may answer a call with a request for input.
_ROUNDS = 100
#: A connection is waited for; an answer may take as long as a person takes.
_PATIENCE = httpx2.Timeout(30.0, read=None)
#: Becomes the server with another umask: ``stdio_client`` takes none.
_SHELL, _WITH_UMASK = "/bin/sh", 'umask "$0" && exec "$@"'
_HEADER_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")
#: In the message of a server that no longer takes the state of a call, which has expired.
_REFUSED_STATE = "requestState"
#: Errors that the SDK itself makes, out of pieces of what it got.
_BY_THE_SDK = (CONNECTION_CLOSED, PARSE_ERROR)
#: What errors of the SDK are to others. A RuntimeError is its own complaint of what a server said.
_TOLD = (
    ((httpx2.HTTPError, httpx2.InvalidURL), "its address cannot be reached"),
    ((MCPError,), "it answered with an error"),
    ((ValidationError, RuntimeError), "what it answered is not as the protocol wants it"),
)
#: Set around a call: where the SDK answers within the call's own task, it is found here.
_elicitation: ContextVar[Elicitation] = ContextVar("_elicitation")


class Session:
    """A server that is connected.

    What a server asks belongs to the call that it asks in. Since 2026-07-28 the protocol says
    which call that is. Before, it does not, so that the calls of such a server run one by one.
    """

    def __init__(self) -> None:
        self._client: Client | None = None
        self._one = asyncio.Lock()
        self._current: Elicitation | None = None

    @property
    def _entered(self) -> Client:
        if self._client is None:
            raise ToolUnavailable("it is no longer connected")
        return self._client

    @asynccontextmanager
    async def over(self, transport: Any) -> AsyncIterator[None]:
        """Be connected over the transport, in the task that enters."""
        client = Client(
            transport,
            elicitation_callback=self._elicit,
            input_required_max_rounds=_ROUNDS,
            client_info=Implementation(name="jpweb", version="1"),
            cache=None,
        )
        async with client:
            self._client = client
            try:
                yield
            finally:
                self._client = None

    async def tools(self) -> dict[str, Listed]:
        """Return what the server offers, by name."""
        found: dict[str, Listed] = {}
        cursor: str | None = None
        while True:
            page = await self._entered.list_tools(cursor=cursor)
            for tool in page.tools:
                found[tool.name] = Listed(tool.name, tool.description or "", tool.input_schema)
            cursor = page.next_cursor
            if cursor is None:
                return found

    @asynccontextmanager
    async def turn(self, elicitation: Elicitation) -> AsyncIterator[None]:
        """Wait until a call may be made; in the block, what the server asks is put there."""
        version = self._entered.protocol_version
        ambiguous = version in HANDSHAKE_PROTOCOL_VERSIONS and version >= _ASKS_SINCE
        async with self._one if ambiguous else nullcontext():
            mark = _elicitation.set(elicitation)
            self._current = elicitation if ambiguous else None
            try:
                yield
            finally:
                self._current = None
                _elicitation.reset(mark)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Success | Failed:
        """Call a tool. Cancelled, it tells the server. Raises what the SDK raises.

        Where a person answered later than the server keeps the state of a call (600 s in the
        official SDK), the call is made again with the answers it had. The server refuses the state
        before the tool runs on, so that nothing is done twice that the protocol does once.
        """
        elicitation = self._current or _elicitation.get(None)
        result = None
        while result is None:
            try:
                result = await self._entered.call_tool(tool, dict(arguments))
            except MCPError as error:
                late = error.code == INVALID_PARAMS and _REFUSED_STATE in error.message
                if not (late and elicitation is not None and elicitation.begin_again()):
                    raise
        text = "\n\n".join(_texts(result))
        return Failed(text) if result.is_error else Success(text)

    async def _elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        elicitation = self._current or _elicitation.get(None)
        if elicitation is None or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        reply = await elicitation.answer(params.message, params.requested_schema)
        return ElicitResult(action=reply.action, content=reply.content)


@asynccontextmanager
async def stdio(
    program: str, server: McpServer, variables: Mapping[str, str], folder: Path, errors: TextIO
) -> AsyncIterator[Session]:
    """Start the server and be connected to it. Its environment is the SDK's least, and these.

    What it writes gets the modes that its user's umask gives, not this process's closed one.
    """
    umask = f"{datafolder.USER_UMASK:04o}"
    parameters = StdioServerParameters(
        command=_SHELL,
        args=["-c", _WITH_UMASK, umask, program, *server.arguments],
        env=dict(variables),
        cwd=folder,
    )
    session = Session()
    async with session.over(stdio_client(parameters, errlog=errors)):
        yield session


@asynccontextmanager
async def http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Session]:
    """Be connected to a server that runs elsewhere. Raises ToolUnavailable for odd headers."""
    session = Session()
    async with (
        httpx2.AsyncClient(headers=_sendable(headers), timeout=_PATIENCE) as client,
        session.over(streamable_http_client(url, http_client=client)),
    ):
        yield session


def told(error: BaseException) -> str:
    """Say what went wrong in words of our own: those of others may repeat a key, or a secret."""
    match first(error):
        case ToolUnavailable() as ours:
            return str(ours)
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            return "it ended, or the connection to it was lost"
        case OSError(strerror=str(why)):
            return f"it cannot be reached: {why}"
        case other:
            sentences = (sentence for kinds, sentence in _TOLD if isinstance(other, kinds))
            return next(sentences, f"it failed ({type(other).__name__})")


def said(error: BaseException) -> str:
    """Say why a call failed: in the server's words where these are its answer."""
    match first(error):
        case MCPError(code=code, message=message) if code not in _BY_THE_SDK and message:
            return message
        case _:
            return told(error)


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without space around them. Raises ToolUnavailable; no value is shown."""
    made = {name: value.strip() for name, value in headers.items()}
    for name, value in made.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ToolUnavailable(f"its header {name!a} holds characters that cannot be sent")
    return made


def _texts(result: CallToolResult) -> list[str]:
    texts: list[str] = []
    for part in result.content:
        match part:
            case TextContent(text=text):
                texts.append(text)
            case EmbeddedResource(resource=TextResourceContents(text=text)):
                texts.append(text)
            case _:
                pass  # pictures and sounds: the stream has no place for them
    return texts
