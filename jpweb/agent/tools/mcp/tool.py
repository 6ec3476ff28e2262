"""A tool of an MCP server that is connected."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.outcome import Failed, Outcome, Success
from jpweb.agent.ports import Ask
from jpweb.agent.redaction import SecretAnswer, without
from jpweb.agent.tools.mcp.elicitation import Elicitation
from jpweb.agent.tools.mcp.reasons import line

if TYPE_CHECKING:
    from jpweb.agent.tools.mcp.client import Session


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may take, the time that people need not counted, and how much it may say."""

    seconds: float = 600.0
    output: int = 4 * 1024 * 1024


class McpTool:
    """Makes one call for each execution. It asks while it runs, and is not run again for it."""

    def __init__(
        self,
        session: Session,
        server: str,
        tool: str,
        patience: Patience,
        hidden: tuple[SecretAnswer, ...] = (),
    ) -> None:
        self._session = session
        self._server = server
        self._tool = tool
        self._patience = patience
        self._hidden = hidden

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: Ask
    ) -> Outcome:
        """Run once. Raises what ``ask`` raises; whatever else happens comes to an outcome."""
        clock = Clock(self._patience.seconds)
        elicitation = Elicitation(ask, clock.pause)
        try:
            async with self._session.turn(elicitation):
                outcome = await self._call(arguments, elicitation, clock)
        except ToolUnavailable as error:
            return self._failed(error, elicitation)
        finally:
            elicitation.close()
        match outcome:
            case Success(text):
                return Success(without(elicitation.secrets, text))
            case Failed(text):
                return Failed(without(elicitation.secrets, text))

    async def _call(
        self, arguments: Mapping[str, Any], elicitation: Elicitation, clock: Clock
    ) -> Success | Failed:
        """Wait for the result, for a question that could not be put, or for the time to be up."""
        call = asyncio.create_task(self._session.call(self._tool, arguments))
        failure = elicitation.failure
        either: set[asyncio.Future[Any]] = {call, failure}
        try:
            async with clock:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return Failed(
                f"The MCP server {self._server} did not answer within "
                f"{self._patience.seconds:g} seconds. Retry only with less for it to do."
            )
        finally:
            elicitation.close()
            call.cancel()  # which tells the server
            await asyncio.wait({call})
        if not failure.cancelled():
            failure.result()
        error = call.exception()
        if error is not None:
            return self._failed(error, elicitation)
        return self._capped(call.result())

    def _failed(self, error: BaseException, elicitation: Elicitation) -> Failed:
        from jpweb.agent.tools.mcp.client import said  # noqa: PLC0415  loaded by who connected

        why = line(said(error), (*self._hidden, *elicitation.secrets))
        return Failed(f"The call to the MCP server {self._server} failed: {why}")

    def _capped(self, outcome: Success | Failed) -> Success | Failed:
        text = outcome.content if isinstance(outcome, Success) else outcome.message
        if len(text) <= self._patience.output:
            return outcome
        return Failed(
            f"The result of the MCP server {self._server} is longer than {self._patience.output} "
            "characters. Retry only in a way that returns less."
        )


class Clock:
    """A time limit that stands still while people are asked, and then begins anew."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(None)

    def pause(self, waiting: bool) -> None:
        """Stop the clock, or start it again."""
        if not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if waiting else now + self._seconds)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self.pause(waiting=False)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._limit.__aexit__(kind, error, trace)
