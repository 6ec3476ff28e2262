"""Runs one turn: cycles of provider reply and tool calls until a reply calls no tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from jpweb.agent.calls.coordinator import ToolCoordinator
from jpweb.agent.calls.result import Left
from jpweb.agent.calls.state import PermissionKey, TurnState
from jpweb.agent.errors import PASSING, ProviderFailed
from jpweb.agent.ports import (
    Display,
    Finished,
    Format,
    InquiryBackend,
    Prompter,
    Provider,
    ProviderEvent,
    ProviderRequest,
    Recorder,
)
from jpweb.agent.reply import Reply
from jpweb.agent.resting import Resting
from jpweb.agent.scribe import Scribe, now
from jpweb.agent.setup import UNCONFIGURED, Setup
from jpweb.agent.stopping import Interrupt, Interrupts, Respond, Stop, Stopped, unless_stopped
from jpweb.agent.view import well_formed
from jpweb.stream import timestamps
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    TurnStart,
)
from jpweb.stream.thread import Thread
from jpweb.stream.turns import Executing, WaitingForInput, split, unfinished

#: A pause is doubled at most so often, whatever number of retries somebody configures.
_DOUBLINGS = 20


class TurnEnd(StrEnum):
    """How a turn ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    CYCLE_LIMIT = "cycle_limit"


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """The outside of a turn. ``resting`` tells those outside when it could be put down."""

    provider: Provider
    prompter: Prompter
    recorder: Recorder
    display: Display
    clock: Callable[[], datetime] = now
    backend: InquiryBackend | None = None
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    resting: Resting = field(default_factory=Resting)


def opening(content: str, author: str | None, at: datetime) -> tuple[ConversationEvent, ...]:
    """Return the events of a turn that begins with what the author says."""
    stamp = timestamps.written(at)
    kinds = (TurnStart(), ChatRequest(content, author=author))
    return tuple(ConversationEvent(stamp, kind) for kind in kinds)


async def resume_turn(
    ports: TurnPorts,
    interrupts: Interrupts,
    setup: Setup = UNCONFIGURED,
    *,
    waiting: frozenset[str] = frozenset(),
    crashed: bool = False,
    permissions: Mapping[tuple[str, str], bool] | None = None,
) -> TurnEnd:
    """Run the last turn of the journal from where it stands to its end (RFD 023).

    Tool calls without a response are run first, but for those whose results are kept. ``waiting``
    names calls that waited for a prompt's decision, whether it has come meanwhile or not.
    ``crashed``: the turn was not put down at rest; its process ended. ``permissions``: what people
    decided about tools for the rest of the turn, by their names and definitions. Returns how the
    turn ended.
    A stop ends it: text received so far is committed, open questions are closed, tool calls get a
    response. Raises ProviderFailed, with the text so far committed, and whatever a port or a tool
    raises; then, and when it is cancelled, nothing more is recorded.
    """
    elements = await ports.recorder.elements()
    turns = split(elements)
    state = TurnState.resumed(elements[turns[-1].start :] if turns else (), crashed=crashed)
    state.resting = ports.resting
    for key, may_run in (permissions or {}).items():
        state.remembered_permission_decisions[PermissionKey(*key)] = may_run
    calls = _open_calls(elements)
    left = Left(await ports.recorder.kept() if calls else {}, waiting)
    return await _Turn(ports, setup, state, interrupts).run(calls, left)


def _open_calls(elements: Sequence[Element]) -> tuple[ToolCallRequest, ...]:
    left = unfinished(elements)
    if left is not None and isinstance(left.phase, Executing | WaitingForInput):
        return tuple(call for _, call in left.phase.calls)
    return ()


class _Turn:
    """A turn under way."""

    def __init__(
        self, ports: TurnPorts, setup: Setup, state: TurnState, interrupts: Interrupts
    ) -> None:
        self.scribe = Scribe(ports.recorder, ports.clock)
        self._ports = ports
        self._setup = setup
        self._interrupts = interrupts
        self._formatters = {
            name: _interruptible(form, interrupts) for name, form in setup.formatters.items()
        }
        self._coordinator = ToolCoordinator(
            ports.prompter,
            self.scribe,
            replace(setup, formatters=self._formatters),
            state,
            interrupts,
            ports.backend,
        )

    async def run(self, calls: Sequence[ToolCallRequest], left: Left) -> TurnEnd:
        """Run the calls that were left, then cycle after cycle to the end of the turn."""
        if calls and isinstance(await self._run_calls(calls, left), Stop):
            return TurnEnd.STOPPED
        for _ in range(self._setup.cycle_limit):
            reply = await self._hear()
            if self._is_last(reply):
                return TurnEnd.COMPLETE
            if isinstance(await self._run_calls(reply.calls), Stop):
                return TurnEnd.STOPPED
        return TurnEnd.CYCLE_LIMIT

    async def _run_calls(
        self, calls: Sequence[ToolCallRequest], left: Left | None = None
    ) -> Interrupt | None:
        """Run the calls, take what was said meanwhile, and see that the model is told of it."""
        if calls:
            await self._coordinator.run(calls, left)
        return await self._take()

    async def _take(self) -> Interrupt | None:
        """Take what was said; words that the model was not told of become its next request."""
        said = self._interrupts.take()
        if isinstance(said, Respond) and said.text:
            await self.scribe.record(ChatRequest(said.text, author=said.author))
        return said

    async def _hear(self) -> Reply:
        """Return a reply. Where there is none, what somebody said meanwhile is not lost."""
        try:
            return await self._receive()
        except ProviderFailed:
            await self._take()
            raise

    def _is_last(self, reply: Reply) -> bool:
        return reply.finished and not reply.calls and not self._has_more_to_say()

    def _has_more_to_say(self) -> bool:
        """Tell whether somebody's words came too late for the reply, which then is not the last."""
        said = self._interrupts.pending
        return isinstance(said, Respond) and bool(said.text)

    async def _receive(self) -> Reply:
        """Return a reply, asked for again after failures that may pass before any of it came."""
        limits = self._setup.request
        tried = 0
        while True:
            reply = Reply(self.scribe, self._ports.display, self._formatters)
            try:
                await self._ask(reply)
            except ProviderFailed as failure:
                if reply.begun or failure.kind not in PASSING or tried == limits.max_retries:
                    raise
                pause = min(limits.base_backoff * 2.0 ** min(tried, _DOUBLINGS), limits.max_backoff)
                advised = pause if failure.retry_after is None else failure.retry_after
                if advised > limits.max_backoff:
                    raise
            else:
                return reply
            tried += 1
            await unless_stopped(_pausing(self._ports, advised), self._interrupts)
            if self._interrupts.is_set():
                return reply

    async def _ask(self, reply: Reply) -> None:
        """Send what the provider may see, and record its reply as it comes."""
        elements = await self._ports.recorder.elements()
        request = ProviderRequest(
            Thread(self._setup.system, well_formed(elements)).into_parts(),
            self._setup.tools,
            self._setup.tool_choice if _is_first(elements) else "auto",
            _schema(elements),
        )
        stream = self._ports.provider.stream(request)
        try:
            await _read(stream, reply, self._interrupts)
        except ProviderFailed:
            await reply.close()
            raise
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        await reply.close(calls_stand=self._answers_calls(), last=self._is_last(reply))

    def _answers_calls(self) -> bool:
        """Tell whether what somebody said ends a reply and answers its calls.

        These interruptions stay in the database until those answers are on record, so a process
        that takes the turn over answers the calls too, and runs none of them.
        """
        said = self._interrupts.pending
        return isinstance(said, Stop) or (isinstance(said, Respond) and bool(said.text))


def _interruptible(form: Format, interrupts: Interrupts) -> Format:
    """Return the formatter, giving nothing where somebody interrupts the turn meanwhile."""

    async def shown(arguments: Mapping[str, Any]) -> str | None:
        made = await unless_stopped(_formatted(form, arguments), interrupts)
        return None if isinstance(made, Stopped) else made

    return shown


async def _formatted(form: Format, arguments: Mapping[str, Any]) -> str | None:
    return await form(arguments)


async def _pausing(ports: TurnPorts, seconds: float) -> None:
    await ports.pause(seconds)


def _is_first(elements: Sequence[Element]) -> bool:
    """Tell whether no tool has been called in the turn; a choice of tool holds until one was."""
    turns = split(elements)
    return not any(
        isinstance(event.kind, ToolCallRequest)
        for element in (elements[turns[-1].start :] if turns else ())
        for event in element.events
    )


def _schema(elements: Sequence[Element]) -> Mapping[str, Any] | None:
    """Return what the turn's first request wants the reply to look like, if it says so."""
    turns = split(elements)
    for element in elements[turns[-1].start :] if turns else ():
        for event in element.events:
            if isinstance(event.kind, ChatRequest):
                return event.kind.schema
    return None


async def _read(stream: AsyncIterator[ProviderEvent], reply: Reply, stop: Interrupts) -> None:
    """Take event after event. Only the wait for one can be interrupted, never a commit."""
    while True:
        match await unless_stopped(_next(stream), stop):
            case Stopped():
                return
            case Finished():
                reply.finished = True
                return
            case None:
                raise ProviderFailed("The reply ended before it was complete.")
            case event:
                await reply.take(event)


async def _next(stream: AsyncIterator[ProviderEvent]) -> ProviderEvent | None:
    return await anext(stream, None)
