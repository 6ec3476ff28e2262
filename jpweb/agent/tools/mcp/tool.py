"""A tool of a connected MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.ports import AskQuestion
from jpweb.agent.redaction import SecretAnswer, redact_text
from jpweb.agent.tool_outcome import Failed, Success, ToolOutcome
from jpweb.agent.tools.mcp.elicitation import Elicitation
from jpweb.agent.tools.mcp.error_text import to_single_line

if TYPE_CHECKING:
    from jpweb.agent.tools.mcp.client import McpSession


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The time that a call may take, without a person's time, and the size of its result."""

    seconds: float = 600.0
    max_chars: int = 4 * 1024 * 1024


class McpTool:
    """Makes one call for each execution. It asks while it runs, and is not run again."""

    def __init__(
        self,
        session: McpSession,
        server: str,
        tool: str,
        limits: CallLimits,
        secrets: tuple[SecretAnswer, ...] = (),
    ) -> None:
        self._session = session
        self._server = server
        self._tool = tool
        self._limits = limits
        self._hidden = secrets

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: AskQuestion
    ) -> ToolOutcome:
        """Run once. Raises the errors of ``ask``; any other error becomes an outcome."""
        timeout = PausableTimeout(self._limits.seconds)
        elicitation = Elicitation(ask, timeout.set_paused)
        try:
            async with self._session.hold_call_slot(elicitation):
                outcome = await self._call_tool(arguments, elicitation, timeout)
        except ToolUnavailable as error:
            return self._make_failure(error, elicitation)
        finally:
            elicitation.close()
        match outcome:
            case Success(text):
                return Success(redact_text(elicitation.secrets, text))
            case Failed(text):
                return Failed(redact_text(elicitation.secrets, text))

    async def _call_tool(
        self,
        arguments: Mapping[str, Any],
        elicitation: Elicitation,
        pausable_timeout: PausableTimeout,
    ) -> Success | Failed:
        """Wait for the result, the failure of a question, or the timeout."""
        call = asyncio.create_task(self._session.call_tool(self._tool, arguments))
        failure = elicitation.failure
        futures: set[asyncio.Future[Any]] = {call, failure}
        try:
            async with pausable_timeout:
                await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return Failed(
                f"The MCP server {self._server} did not answer within "
                f"{self._limits.seconds:g} seconds. Retry only with less for it to do."
            )
        finally:
            elicitation.close()
            call.cancel()  # the SDK notifies the server
            await asyncio.wait({call})
        if not failure.cancelled():
            failure.result()
        error = call.exception()
        if error is not None:
            return self._make_failure(error, elicitation)
        return self._limit_size(call.result())

    def _make_failure(self, error: BaseException, elicitation: Elicitation) -> Failed:
        from jpweb.agent.tools.mcp.client import describe_call_error  # noqa: PLC0415  loaded by the connection

        reason = to_single_line(describe_call_error(error), (*self._hidden, *elicitation.secrets))
        return Failed(f"The call to the MCP server {self._server} failed: {reason}")

    def _limit_size(self, outcome: Success | Failed) -> Success | Failed:
        text = outcome.content if isinstance(outcome, Success) else outcome.message
        if len(text) <= self._limits.max_chars:
            return outcome
        return Failed(
            f"The result of the MCP server {self._server} is longer than {self._limits.max_chars} "
            "characters. Retry only in a way that returns less."
        )


class PausableTimeout:
    """A time limit that is paused while people are asked, and starts over afterwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(None)
        self._is_over = False

    def set_paused(self, is_paused: bool) -> None:
        """Pause the limit, or start it again; does nothing once it is over."""
        if not (self._is_over or self._limit.expired()):
            loop_time = asyncio.get_running_loop().time()
            self._limit.reschedule(None if is_paused else loop_time + self._seconds)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self.set_paused(is_paused=False)

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        await self._limit.__aexit__(error_type, error, trace)
