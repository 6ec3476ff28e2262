"""The outside of a turn, made of lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from jpweb.agent.config import DetachedPolicy, QuestionConfig, RequestConfig
from jpweb.agent.event_writer import EventWriter
from jpweb.agent.interrupts import Interrupts
from jpweb.agent.ports import (
    Answer,
    AskQuestion,
    Declined,
    Delivered,
    DeliverPrompt,
    InquiryBackend,
    PartialVariant,
    PermissionSource,
    Permitted,
    ProviderEvent,
    ProviderRequest,
    QuestionPrompt,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.agent.tool_calls.coordinator import ToolCoordinator
from jpweb.agent.tool_calls.turn_state import TurnState
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.agent.turn import TurnEnd, TurnPorts, make_opening_events, resume_turn
from jpweb.agent.turn_setup import UNCONFIGURED_SETUP, TurnSetup, make_default_config
from jpweb.stream.answer_type import Boolean
from jpweb.stream.events import ConversationEvent, EventKind
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)
from jpweb.stream.inquiry import (
    InquiryOutcome as Ended,
)
from tests.agent.recorder import ListRecorder

AT = "2026-01-02 03:04:05.0"


def clock() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


Reply: TypeAlias = Answer | Declined | Awaitable[Answer | Declined]


@dataclass
class QueuePrompter:
    """Plays a person with a list of replies, and commits each response as the contract says."""

    recorder: ListRecorder
    replies: list[Reply] = field(default_factory=list)
    is_reachable: bool = True
    questions: list[QuestionPrompt] = field(default_factory=list)
    withdrawn: list[tuple[str, CancellationReason]] = field(default_factory=list)
    on_record_when_asked: list[list[EventKind]] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    decisions: list[Any] = field(default_factory=list)
    prompts: list[RunPrompt | DeliverPrompt] = field(default_factory=list)
    put_aside: list[RunPrompt | DeliverPrompt] = field(default_factory=list)

    async def has_reachable_person(self) -> bool:
        return self.is_reachable

    async def ask(self, prompt: QuestionPrompt) -> Answer | Declined:
        self.questions.append(prompt)
        self.on_record_when_asked.append(self.recorder.kinds)
        self.waiting.set()
        reply = self.replies.pop(0)
        if not isinstance(reply, Answer | Declined):
            reply = await reply
        await self._commit(prompt, reply)
        return reply

    async def withdraw(self, prompt: QuestionPrompt, reason: CancellationReason) -> None:
        if any(r.id == prompt.inquiry_id for r in self.recorder.of(InquiryResponse)):
            return
        self.withdrawn.append((prompt.inquiry_id, reason))
        await self._commit(prompt, Declined(reason))

    async def permit(self, prompt: RunPrompt) -> Permitted | Skipped:
        decision: Permitted | Skipped = await self._decide(prompt)
        return decision

    async def deliver(self, prompt: DeliverPrompt) -> Delivered | Withheld:
        decision: Delivered | Withheld = await self._decide(prompt)
        return decision

    async def close_prompt(self, prompt: RunPrompt | DeliverPrompt) -> None:
        self.put_aside.append(prompt)

    async def _decide(self, prompt: RunPrompt | DeliverPrompt) -> Any:
        self.prompts.append(prompt)
        decision = self.decisions.pop(0)
        return await decision if isinstance(decision, Awaitable) else decision

    async def _commit(self, prompt: QuestionPrompt, reply: Answer | Declined) -> None:
        outcome: Ended
        if isinstance(reply, Declined):
            outcome = Cancelled(reply.reason)
        elif prompt.question.answer_type.RECORDS_ANSWER:
            outcome = Answered(reply.value)
        else:
            outcome = Redacted()
        reply_note = {"note": reply.note} if isinstance(reply, Declined) and reply.note else {}
        note = {"jpweb": {"by": {"kind": "person"}, **reply_note}}
        response = InquiryResponse(prompt.inquiry_id, outcome)
        await self.recorder.record(ConversationEvent(AT, response, note))


@dataclass
class ListDisplay:
    partials: list[tuple[str, str]] = field(default_factory=list)

    async def show_partial(self, variant: PartialVariant, text: str) -> None:
        self.partials.append((variant, text))


@dataclass
class QueueProvider:
    """Plays prepared replies; an Event in a reply is waited for, an exception is raised."""

    replies: Sequence[Sequence[Any]]
    requests: list[ProviderRequest] = field(default_factory=list)
    closed_count: int = 0
    waiting: asyncio.Event | None = None
    NAME: str = "queue"

    def __post_init__(self) -> None:
        self._replies = list(self.replies)

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        self.requests.append(request)
        try:
            for step in self._replies.pop(0):
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, asyncio.Event):
                    self.waiting = step
                    await step.wait()
                else:
                    yield step
        finally:
            self.closed_count += 1


Run: TypeAlias = Callable[
    [Mapping[str, Any], Mapping[str, Any]], Awaitable[ToolOutcome] | ToolOutcome
]


@dataclass
class StubTool:
    """A tool made of a function; remembers the answers of each of its runs."""

    NAME: str
    run: Run
    QUESTIONS: Mapping[str, QuestionConfig] = field(default_factory=dict)
    source: InquirySource | None = None
    runs: list[Mapping[str, Any]] = field(default_factory=list)
    DESCRIPTION: str = "A tool of the tests."
    PARAMETERS: Mapping[str, Any] = field(default_factory=dict)

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        self.runs.append(answers)
        outcome = self.run(arguments, answers)
        if isinstance(outcome, Awaitable):
            return await outcome
        return outcome

    def make_inquiry_source(self, name: str) -> InquirySource:
        return self.source or InquirySource.for_tool(name)


CONFIRM = Question("confirm", "Overwrite?", Boolean())


def make_asker(
    *questions: Question, name: str = "tool", config: QuestionConfig | None = None
) -> StubTool:
    """Return a tool that asks the questions in turn, then says what it was given."""

    def run(arguments: Mapping[str, Any], answers: Mapping[str, Any]) -> ToolOutcome:
        for question in questions:
            if question.id not in answers:
                return NeedsInput(question)
        return Success("done")

    configs = {question.id: config for question in questions} if config else {}
    return StubTool(name, run, configs)


@dataclass
class OutsideStub:
    """A tool from outside made of a function, which may ask in the middle."""

    NAME: str
    run: Callable[[Mapping[str, Any], Mapping[str, Any], AskQuestion], Awaitable[ToolOutcome]]
    QUESTIONS: Mapping[str, QuestionConfig] = field(default_factory=dict)
    DESCRIPTION: str = "A tool from outside."
    PARAMETERS: Mapping[str, Any] = field(default_factory=dict)

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: AskQuestion
    ) -> ToolOutcome:
        return await self.run(arguments, answers, ask)


def setup_of(tools: Sequence[Any], changes: Mapping[str, Any], **options: Any) -> TurnSetup:
    """Return a setup of these tools, each with its name's changes to the configuration."""
    return TurnSetup(
        tools=tuple(replace(make_default_config(t), **changes.get(t.NAME, {})) for t in tools),
        builtins=tuple(t for t in tools if not isinstance(t, OutsideStub)),
        outside={t.NAME: t for t in tools if isinstance(t, OutsideStub)},
        **options,
    )


@dataclass
class ToolBench:
    """A coordinator with its surroundings; ``changes`` are to the configurations, by tool."""

    tools: tuple[Any, ...]
    replies: list[Any] = field(default_factory=list)
    state: TurnState = field(default_factory=TurnState)
    recorder: ListRecorder = field(default_factory=ListRecorder)
    stop: Interrupts = field(default_factory=Interrupts)
    changes: Mapping[str, Any] = field(default_factory=dict)
    detached: DetachedPolicy = DetachedPolicy.AUTO
    backend: InquiryBackend | None = None
    permission_sources: Mapping[tuple[str, str], PermissionSource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.prompter = QueuePrompter(self.recorder, self.replies)
        setup = setup_of(self.tools, self.changes, detached=self.detached)
        setup = replace(setup, permission_sources=self.permission_sources)
        event_writer = EventWriter(self.recorder, clock)
        self.coordinator = ToolCoordinator(
            self.prompter, event_writer, setup, self.state, self.stop, self.backend
        )
        self.run = self.coordinator.run_calls

    @property
    def asked_ids(self) -> list[str]:
        return [request.id for request in self.recorder.of(InquiryRequest)]


@dataclass
class TurnBench:
    """A turn's ports, and what it runs with."""

    provider: Any
    tools: tuple[Any, ...] = ()
    replies: list[Any] = field(default_factory=list)
    recorder: ListRecorder = field(default_factory=ListRecorder)
    display: ListDisplay = field(default_factory=ListDisplay)
    stop: Interrupts = field(default_factory=Interrupts)
    cycle_limit: int = 50
    backend: InquiryBackend | None = None
    request: RequestConfig = field(default_factory=RequestConfig)
    pauses: list[float] = field(default_factory=list)
    tool_choice: str = "auto"

    def __post_init__(self) -> None:
        self.prompter = QueuePrompter(self.recorder, self.replies)
        self.ports = TurnPorts(
            self.provider,
            self.prompter,
            self.recorder,
            self.display,
            clock,
            self.backend,
            self.pause,
        )
        self.setup = setup_of(
            self.tools,
            {},
            system=("Be brief.",),
            cycle_limit=self.cycle_limit,
            request=self.request,
            tool_choice=self.tool_choice,
        )

    async def pause(self, seconds: float) -> None:
        """Note a pause instead of making it."""
        self.pauses.append(seconds)


async def run_turn(
    ports: TurnPorts,
    content: str,
    author: str | None,
    interrupts: Interrupts,
    setup: TurnSetup = UNCONFIGURED_SETUP,
) -> TurnEnd:
    """Begin a turn with what the author says, as the runtime does, and run it to its end."""
    await ports.recorder.record(*make_opening_events(content, author, ports.clock()))
    return await resume_turn(ports, interrupts, setup)


async def wait_forever(*_: Any) -> Any:
    """Wait for something that does not come."""
    await asyncio.Event().wait()


async def wait_until(condition: Callable[[], object]) -> None:
    """Let the others run until the condition holds, which it must soon."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise TimeoutError("what was waited for did not come")


def other_tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks besides the one that asks."""
    return asyncio.all_tasks() - {asyncio.current_task()}
