"""Runs one turn: cycles of provider reply and tool calls until a reply calls no tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from jpweb.agent.errors import TRANSIENT_FAILURES, ProviderFailed
from jpweb.agent.event_writer import EventWriter, get_utc_now
from jpweb.agent.history import normalize_history
from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.interrupts import (
    Interrupt,
    InterruptedResult,
    Interrupts,
    Respond,
    Restart,
    Stop,
    run_interruptible,
)
from jpweb.agent.ports import (
    MAX_NUDGES,
    Display,
    FormatArguments,
    InquiryBackend,
    Prompter,
    Provider,
    ProviderEvent,
    ProviderRequest,
    Recorder,
    ReplyFinished,
)
from jpweb.agent.reply import ReplyRecorder
from jpweb.agent.tool_calls.coordinator import ToolCoordinator
from jpweb.agent.tool_calls.result import ResumedCalls
from jpweb.agent.tool_calls.turn_state import PermissionKey, TurnState
from jpweb.agent.turn_setup import UNCONFIGURED_SETUP, TurnSetup
from jpweb.stream import timestamps
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    TurnStart,
)
from jpweb.stream.thread import Thread
from jpweb.stream.turns import Executing, WaitingForInput, find_unfinished_turn, split_turns

#: Limit of the doublings in exponential backoff, however many retries are configured.
_MAX_DOUBLINGS = 20


class TurnEnd(StrEnum):
    """How a turn ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    CYCLE_LIMIT = "cycle_limit"


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """The ports of a turn. ``idle_tracker`` tells the runtime when it could be parked."""

    provider: Provider
    prompter: Prompter
    recorder: Recorder
    display: Display
    clock: Callable[[], datetime] = get_utc_now
    backend: InquiryBackend | None = None
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    idle_tracker: IdleTracker = field(default_factory=IdleTracker)


def make_opening_events(
    content: str, author: str | None, moment: datetime
) -> tuple[ConversationEvent, ...]:
    """Return the events of a turn that begins with a message of the author."""
    stamp = timestamps.format_timestamp(moment)
    kinds = (TurnStart(), ChatRequest(content, author=author))
    return tuple(ConversationEvent(stamp, kind) for kind in kinds)


async def resume_turn(
    ports: TurnPorts,
    interrupts: Interrupts,
    setup: TurnSetup = UNCONFIGURED_SETUP,
    *,
    waiting_call_ids: frozenset[str] = frozenset(),
    has_crashed: bool = False,
    permissions: Mapping[tuple[str, str], bool] | None = None,
) -> TurnEnd:
    """Run the last turn of the journal from its present state to its end (RFD 023).

    Tool calls without a response are run first, unless their results are saved.
    ``waiting_call_ids`` names calls that waited for a prompt's decision, decided since or not.
    ``has_crashed``: the turn was not parked; its process ended. ``permissions``: people's decisions
    about tools for the rest of the turn, by their names and definitions. Returns how the turn
    ended. A stop ends it: text received so far is committed, open questions are closed, tool calls
    get a response. Raises ProviderFailed, with the text so far committed, and any error of a port
    or tool; then, and when it is cancelled, no further event is recorded.
    """
    elements = await ports.recorder.load_elements()
    turns = split_turns(elements)
    start = turns[-1].start if turns else len(elements)
    boundaries = await ports.recorder.load_boundaries()
    state = TurnState.from_elements(elements[start:], boundaries, start, has_crashed=has_crashed)
    state.idle_tracker = ports.idle_tracker
    for key, may_run in (permissions or {}).items():
        state.remembered_permission_decisions[PermissionKey(*key)] = may_run
    calls = _find_open_calls(elements)
    resumption = ResumedCalls(
        await ports.recorder.load_progress() if calls else {}, waiting_call_ids
    )
    return await _Turn(ports, setup, state, interrupts).run_to_end(calls, resumption)


def _find_open_calls(elements: Sequence[Element]) -> tuple[ToolCallRequest, ...]:
    unfinished_turn = find_unfinished_turn(elements)
    if unfinished_turn is not None and isinstance(
        unfinished_turn.phase, Executing | WaitingForInput
    ):
        return tuple(call for _, call in unfinished_turn.phase.calls)
    return ()


class _Turn:
    """A running turn."""

    def __init__(
        self, ports: TurnPorts, setup: TurnSetup, state: TurnState, interrupts: Interrupts
    ) -> None:
        self.event_writer = EventWriter(ports.recorder, ports.clock)
        self._ports = ports
        self._setup = setup
        self._interrupts = interrupts
        #: Whether the reply has to call the forced tool, and the replies that did not.
        self._lacks_forced_call, self._nudge_count = False, 0
        formatters = {
            name: _make_interruptible(formatter, interrupts)
            for name, formatter in setup.formatters.items()
        }
        self._coordinator = ToolCoordinator(
            ports.prompter,
            self.event_writer,
            replace(setup, formatters=formatters),
            state,
            interrupts,
            ports.backend,
        )

    async def run_to_end(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls
    ) -> TurnEnd:
        """Run the resumed calls, then cycle after cycle to the end of the turn."""
        if calls and isinstance(await self._run_calls(calls, resumption), Stop):
            return TurnEnd.STOPPED
        for _ in range(self._setup.cycle_limit):
            reply = await self._receive_reply()
            if self._is_last_reply(reply):
                return TurnEnd.COMPLETE
            if reply.is_finished and not reply.calls:
                self._nudge_count += 1
            if isinstance(await self._run_calls(reply.calls), Stop):
                return TurnEnd.STOPPED
        return TurnEnd.CYCLE_LIMIT

    async def _run_calls(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls | None = None
    ) -> Interrupt | None:
        """Run the calls, take the pending interrupt, and record its text for the model."""
        if calls:
            await self._coordinator.run_calls(calls, resumption)
        return await self._take_interrupt()

    async def _take_interrupt(self) -> Interrupt | None:
        """Take the interrupt; each text that no call's response holds becomes a request."""
        interrupt = self._interrupts.take_pending()
        if not isinstance(interrupt, Respond | Restart):
            return interrupt
        parts = interrupt.list_parts() if isinstance(interrupt, Respond) else ()
        if parts or interrupt.interrupt_ids:
            await self.event_writer.write_events(
                *(ChatRequest(part.text, author=part.author) for part in parts),
                interrupt_ids=interrupt.interrupt_ids,
            )
        return interrupt

    async def _receive_reply(self) -> ReplyRecorder:
        """Return a reply. Where it fails, a pending response is recorded before the error."""
        try:
            return await self._receive_with_retries()
        except ProviderFailed:
            await self._take_interrupt()
            raise

    def _is_last_reply(self, reply: ReplyRecorder) -> bool:
        return (
            reply.is_finished
            and not reply.calls
            and not self._has_pending_response()
            and not self._lacks_forced_call
        )

    def _has_pending_response(self) -> bool:
        """Tell whether a response came too late for the reply, which then is not the last."""
        interrupt = self._interrupts.pending
        return isinstance(interrupt, Respond) and bool(interrupt.text)

    async def _receive_with_retries(self) -> ReplyRecorder:
        """Return a reply, requested again after transient failures (docs/jp-format.md, Retries).

        Text that arrived is kept, and the next request asks to continue it.
        """
        limits = self._setup.request
        attempt = 0
        while True:
            format_call = self._coordinator.format_call
            reply = ReplyRecorder(self.event_writer, self._ports.display, format_call)
            try:
                await self._request_reply(reply)
            except ProviderFailed as failure:
                problem = str(failure)
                if (
                    reply.has_data
                    or failure.kind not in TRANSIENT_FAILURES
                    or attempt == limits.max_retries
                ):
                    raise
                backoff_seconds = min(
                    limits.base_backoff * 2.0 ** min(attempt, _MAX_DOUBLINGS), limits.max_backoff
                )
                delay_seconds = (
                    backoff_seconds
                    if failure.retry_after is None
                    else min(failure.retry_after, limits.max_backoff)
                )
            else:
                return reply
            attempt += 1
            await self._show_retry(f"{delay_seconds:.0f} {attempt} {limits.max_retries} {problem}")
            await run_interruptible(_run_pause(self._ports, delay_seconds), self._interrupts)
            await self._show_retry("")
            if self._interrupts.is_set():
                return reply

    async def _show_retry(self, text: str) -> None:
        """Show that a request will be sent again, or with an empty text that it is."""
        await self._ports.display.show_partial("retry", text)

    async def _request_reply(self, reply: ReplyRecorder) -> None:
        """Send the visible part of the stream, and record the reply while it streams."""
        elements = await self._ports.recorder.load_elements()
        request = ProviderRequest(
            Thread(self._setup.system, normalize_history(elements)).build_parts(),
            self._setup.tools,
            self._setup.tool_choice if _is_first_cycle(elements) else "auto",
            _find_requested_schema(elements),
            self._setup.request.max_response_bytes,
            self._setup.request.idle_seconds,
            self._nudge_count,
            self._setup.request.cache,
            self._setup.cache_key,
        )
        self._lacks_forced_call = (
            request.forces_tool and request.schema is None and self._nudge_count < MAX_NUDGES
        )
        stream = self._ports.provider.stream(request)
        try:
            await _read_stream(stream, reply, self._interrupts)
        except ProviderFailed:
            await reply.close()
            raise
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        await reply.close(
            calls_stand=self._is_answering_calls(), is_last=self._is_last_reply(reply)
        )

    def _is_answering_calls(self) -> bool:
        """Tell whether the pending interrupt ends a reply and answers its calls.

        These interrupts stay in the database until those answers are on record, so a process that
        takes the turn over answers the calls too, and runs none of them.
        """
        interrupt = self._interrupts.pending
        return isinstance(interrupt, Stop) or (
            isinstance(interrupt, Respond) and bool(interrupt.text)
        )


def _make_interruptible(formatter: FormatArguments, interrupts: Interrupts) -> FormatArguments:
    """Return the formatter, returning None where the turn is interrupted meanwhile."""

    async def format_or_none(arguments: Mapping[str, Any]) -> str | None:
        arguments_text = await run_interruptible(_run_formatter(formatter, arguments), interrupts)
        return None if isinstance(arguments_text, InterruptedResult) else arguments_text

    return format_or_none


async def _run_formatter(formatter: FormatArguments, arguments: Mapping[str, Any]) -> str | None:
    return await formatter(arguments)


async def _run_pause(ports: TurnPorts, seconds: float) -> None:
    await ports.pause(seconds)


def _is_first_cycle(elements: Sequence[Element]) -> bool:
    """Tell whether no tool was called in the turn; a choice of tool holds until one is."""
    turns = split_turns(elements)
    return not any(
        isinstance(event.kind, ToolCallRequest)
        for element in (elements[turns[-1].start :] if turns else ())
        for event in element.events
    )


def _find_requested_schema(elements: Sequence[Element]) -> Mapping[str, Any] | None:
    """Return the reply's JSON schema of the turn's first request, if it has one."""
    turns = split_turns(elements)
    for element in elements[turns[-1].start :] if turns else ():
        for event in element.events:
            if isinstance(event.kind, ChatRequest):
                return event.kind.schema
    return None


async def _read_stream(
    stream: AsyncIterator[ProviderEvent], reply: ReplyRecorder, interrupts: Interrupts
) -> None:
    """Process event after event. Only the wait for one can be interrupted, never a commit."""
    while True:
        match await run_interruptible(_receive_next_event(stream), interrupts):
            case InterruptedResult():
                return
            case ReplyFinished():
                reply.is_finished = True
                return
            case None:
                raise ProviderFailed("The reply ended before it was complete.")
            case event:
                await reply.take_event(event)


async def _receive_next_event(stream: AsyncIterator[ProviderEvent]) -> ProviderEvent | None:
    return await anext(stream, None)
