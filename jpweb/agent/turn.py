"""Runs one turn: cycles of provider reply and tool calls until a reply calls no tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jpweb.agent.coordinator import ToolCoordinator
from jpweb.agent.errors import ProviderFailed
from jpweb.agent.ports import (
    CallTool,
    Delta,
    Display,
    Finished,
    Prompter,
    Provider,
    ProviderEvent,
    ProviderRequest,
    Recorder,
)
from jpweb.agent.reply import Reply
from jpweb.agent.scribe import Scribe, now
from jpweb.agent.setup import UNCONFIGURED, Setup
from jpweb.agent.state import TurnState
from jpweb.agent.stopping import Stopped, unless_stopped
from jpweb.agent.view import well_formed
from jpweb.stream.events import ChatRequest, TurnStart
from jpweb.stream.thread import Thread


class TurnEnd(StrEnum):
    """How a turn ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    CYCLE_LIMIT = "cycle_limit"


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """The outside of a turn."""

    provider: Provider
    prompter: Prompter
    recorder: Recorder
    display: Display
    clock: Callable[[], datetime] = now


async def run_turn(
    ports: TurnPorts,
    content: str,
    author: str | None,
    stop: asyncio.Event,
    setup: Setup = UNCONFIGURED,
) -> TurnEnd:
    """Record what the author says and run the turn to its end; returns how it ended.

    Setting ``stop`` ends the turn: text received so far is committed, open questions are closed,
    tool calls get a response. Raises ProviderFailed, with the text so far committed, and whatever
    a port or a tool raises; then, and when it is cancelled, nothing more is recorded.
    """
    scribe = Scribe(ports.recorder, ports.clock)
    await scribe.record(TurnStart(), ChatRequest(content, author=author))
    coordinator = ToolCoordinator(ports.prompter, scribe, setup, TurnState(), stop)
    for _ in range(setup.cycle_limit):
        reply = Reply(scribe, ports.display)
        await _receive(ports, setup, reply, stop)
        if reply.calls:
            await coordinator.run(reply.calls)
        elif reply.finished:
            return TurnEnd.COMPLETE
        if stop.is_set():
            return TurnEnd.STOPPED
    return TurnEnd.CYCLE_LIMIT


async def _receive(ports: TurnPorts, setup: Setup, reply: Reply, stop: asyncio.Event) -> None:
    """Send what the provider may see, and record its reply as it comes."""
    elements = well_formed(await ports.recorder.elements())
    request = ProviderRequest(Thread(setup.system, elements).into_parts(), setup.tools)
    stream = ports.provider.stream(request)
    try:
        await _read(stream, reply, stop)
    except ProviderFailed:
        await reply.flush()
        raise
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    await reply.flush()


async def _read(stream: AsyncIterator[ProviderEvent], reply: Reply, stop: asyncio.Event) -> None:
    """Take event after event. Only the wait for one can be stopped, never a commit."""
    while True:
        match await unless_stopped(_next(stream), stop):
            case Stopped():
                return
            case Finished():
                reply.finished = True
                return
            case None:
                raise ProviderFailed("The reply broke off before its end.")
            case Delta() as delta:
                await reply.add(delta)
            case CallTool() as call:
                await reply.call(call)


async def _next(stream: AsyncIterator[ProviderEvent]) -> ProviderEvent | None:
    return await anext(stream, None)
