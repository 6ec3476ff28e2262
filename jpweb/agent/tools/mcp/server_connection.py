"""The connection to one MCP server."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.redaction import SecretAnswer, redact_cut_start, redact_text
from jpweb.agent.tools.mcp.error_text import find_first_error, list_server_secrets, to_single_line
from jpweb.agent.tools.mcp.overlay import ListedTool
from jpweb.agent.tools.mcp.program_file import find_program

if TYPE_CHECKING:
    from jpweb.agent.tools.mcp.client import McpSession
    from jpweb.agent.tools.mcp.command_transport import OutputEnd

#: The end of a server's stderr that is kept (bytes), and that is logged (characters).
_MAX_STDERR_BYTES, _MAX_LOGGED_CHARS = 65536, 1000
#: Seconds for a server's end before it is cut off: over HTTP those of one request (DELETE). A
#: command has more than the 12 seconds that the SDK takes to kill it: that must not be cut off.
_SESSION_END_SECONDS, _COMMAND_END_SECONDS = 3.0, 20.0
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectedServer:
    """A connected server and its tools. ``hidden`` holds the secrets that it was given."""

    session: McpSession
    tools: Mapping[str, ListedTool]
    hidden: tuple[SecretAnswer, ...] = field(default=(), repr=False)


class ServerConnection:
    """Holds a connection in a task of its own: one task must enter and leave the SDK's contexts.

    A request over HTTP that fails ends the SDK's whole session. The next call opens another; the
    one that failed is not repeated, because the server may have run it.

    ``problem`` is for models and the journal, in jpweb's words. The server's own stderr is for the
    administrator, and goes to the log.
    """

    def __init__(self, config: McpServer, folder: Path, leave_event: asyncio.Event) -> None:
        self.name = config.name
        self.server: ConnectedServer | None = None
        self.problem = ""
        self._config = config
        self._folder = folder
        self._leave_event = leave_event
        #: Set while the connection is open.
        self._ready_event = asyncio.Event()
        self._reconnect_lock = asyncio.Lock()
        self._session: McpSession | None = None
        self._stderr_end: OutputEnd | None = None
        self._has_ended = False
        self._task = self._start_task()

    async def wait_started(self) -> None:
        """Wait until the server is connected, or has a problem."""
        await self._wait_ready()
        if self.server is None:
            self.cancel_start()
            await self.wait_ended()

    def cancel_start(self) -> None:
        """Cancel a server that is not connected yet."""
        if self.server is None:
            self._task.cancel()

    async def wait_ended(self) -> None:
        """Wait until the server has ended; one that never connected has its problem then.

        A server that does not answer the end of its session is cut off: a turn waits for this.
        """
        error = await self._end_task()
        if self._has_ended:
            return
        self._has_ended = True
        if self.server is None and (error is not None or self.problem):
            self._log_failure(error)

    def _start_task(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._run_connection(), name=f"mcp {self.name}")

    async def _wait_ready(self) -> None:
        """Wait until the connection is open, has failed, or its time to start is over."""
        seconds = self._config.start_seconds or None
        ready_task = asyncio.create_task(self._ready_event.wait())
        try:
            await asyncio.wait(
                {self._task, ready_task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ready_task.cancel()
        if not self._ready_event.is_set():
            self.problem = f"it did not answer within {seconds or 0:g} seconds"

    async def _end_task(self) -> BaseException | None:
        """Wait until the task has ended, and cut it off if it lasts; return its error."""
        seconds = _COMMAND_END_SECONDS if self._config.url is None else _SESSION_END_SECONDS
        while not self._task.done():
            await asyncio.wait({self._task}, timeout=seconds)
            self._task.cancel()
        return None if self._task.cancelled() else self._task.exception()

    async def _reconnect(self) -> None:
        """Connect to an address again; calls that come meanwhile wait. Raises ToolUnavailable."""
        async with self._reconnect_lock:
            if self._config.url is None or (self._session and self._session.is_connected):
                return
            error = await self._end_task()
            if self._leave_event.is_set():
                return
            if error is not None and not self.problem:
                self._log_failure(error)
            self._task = self._start_task()
            try:
                await self._wait_ready()
            finally:
                if not self._ready_event.is_set():
                    self._task.cancel()
                    error = await self._end_task()
            if not self._ready_event.is_set():
                self._log_failure(error)
                raise ToolUnavailable(self.problem)
            self.problem = ""

    def _log_failure(self, error: BaseException | None) -> None:
        from jpweb.agent.tools.mcp import client  # noqa: PLC0415  the SDK takes most of a second

        secrets = list_server_secrets(self._config)
        error_text = ""
        if error is not None:
            self.problem = client.describe_error(error)
            # pydantic repeats pieces of its input, and redaction does not find a piece of a key.
            error_text = (
                ""
                if isinstance(find_first_error(error), ValueError)
                else to_single_line(str(find_first_error(error)), secrets)
            )
        stderr_text = " ".join(self._read_stderr(secrets).split())
        parts = dict.fromkeys(
            (self.problem, error_text, redact_text(secrets, stderr_text)[-_MAX_LOGGED_CHARS:])
        )
        logger.warning(
            "MCP server %s is not available: %s", self.name, "; ".join(filter(None, parts))
        )

    def _read_stderr(self, secrets: tuple[SecretAnswer, ...]) -> str:
        """Return the end of the server's stderr, redacted."""
        if self._stderr_end is None:
            return ""
        end = self._stderr_end.decode()
        if self._stderr_end.is_cut:
            end = redact_cut_start(secrets, end.lstrip("\N{REPLACEMENT CHARACTER}"))
        return redact_text(secrets, end)

    async def _run_connection(self) -> None:
        async with self._open_session() as session:
            if self.server is None:
                self.server = ConnectedServer(
                    session, await session.list_tools(), list_server_secrets(self._config)
                )
            self._ready_event.set()
            ends = [
                asyncio.create_task(end) for end in (self._leave_event.wait(), session.wait_lost())
            ]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._ready_event.clear()
                for end in ends:
                    end.cancel()

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[McpSession]:
        from jpweb.agent.tools.mcp import client, command_transport  # noqa: PLC0415  the SDK's import

        config = self._config
        session = self._session = self._session or client.McpSession(self._reconnect)
        if config.url is not None:
            async with client.connect_http(session, config.url, config.headers):
                yield session
            return
        program = await asyncio.to_thread(find_program, config, self._folder)
        variables = {name: os.environ[name] for name in config.variables if name in os.environ}
        self._stderr_end = command_transport.OutputEnd(_MAX_STDERR_BYTES)
        async with client.connect_stdio(
            session, program, config, variables, self._folder, self._stderr_end
        ):
            yield session
