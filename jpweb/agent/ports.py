"""Ports of a turn: the protocols that the runtime implements, and the values they exchange."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from jpweb.agent.config import ModelConfig, QuestionConfig, ToolConfig
from jpweb.agent.tool_outcome import CallBoundaries, CallProgress, Question, ToolOutcome
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest
from jpweb.stream.inquiry import CancellationReason, InquirySource
from jpweb.stream.thread import ThreadParts


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of streamed text; ``variant`` as in ChatResponse."""

    variant: Literal["message", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class ReplyMetadata:
    """The metadata that the provider wants back with the text before it, under JP's names.

    It ends that text: the next one is another event, even of the same variant. Where no text came
    before it (redacted reasoning), an empty event of the variant carries it.
    """

    variant: Literal["message", "reasoning"]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PartialToolCall:
    """A tool call that is still streaming: its name and its JSON arguments so far. Display only."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CompleteToolCall:
    """A complete tool call; ``metadata`` as in ReplyMetadata."""

    id: str
    name: str
    arguments: dict[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StructuredReply:
    """The complete structured reply to a request with a schema."""

    value: Any


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one request and its reply, as the provider reported them; None until it does.

    ``input_count`` includes those that were read from a cache or written to one.
    """

    input_count: int | None = None
    output_count: int | None = None
    cache_read_count: int = 0
    cache_write_count: int = 0


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The provider's reply ended normally."""


#: Parts of a reply.
ReplyEvent: TypeAlias = (
    TextDelta | ReplyMetadata | PartialToolCall | CompleteToolCall | StructuredReply | TokenUsage
)
ProviderEvent: TypeAlias = ReplyEvent | ReplyFinished


#: Times that a reply without the forced call is requested again (docs/jp-format.md, Forced tool).
MAX_NUDGES = 3


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """The request of one cycle.

    ``tool_choice`` is ``auto``, ``none``, ``required`` or a tool's name. With a ``schema`` (JSON
    schema of an object) the reply is one StructuredReply. ``max_bytes`` limits the whole reply,
    reasoning included; 0 sets no limit. The reply fails after ``idle_seconds`` in which nothing
    arrives; 0 leaves that to the provider. ``nudge_count`` counts the replies before this request
    that did not call the tool that ``tool_choice`` forces. ``cache`` is that of RequestConfig, and
    ``cache_key`` the same for all requests of a conversation.
    """

    parts: ThreadParts
    tools: tuple[ToolConfig, ...]
    tool_choice: str = "auto"
    schema: Mapping[str, Any] | None = None
    max_bytes: int = 0
    idle_seconds: float = 0.0
    nudge_count: int = 0
    cache: bool | str = True
    cache_key: str = ""

    @property
    def forces_tool(self) -> bool:
        """Whether the choice leaves the model nothing but to call a tool."""
        return bool(self.tools) and self.tool_choice not in ("auto", "none")


class Provider(Protocol):
    """A model of a vendor, or the script that plays one."""

    NAME: str

    def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the events of the reply while they arrive. Raises ProviderFailed."""
        ...


#: Opens a model. Raises ProviderFailed without a key or for an unknown provider.
OpenModel: TypeAlias = Callable[[ModelConfig], Provider]


class BuiltinTool(Protocol):
    """A tool that is part of jpweb. It runs from the start each time, with more answers."""

    NAME: str
    DESCRIPTION: str
    PARAMETERS: Mapping[str, Any]
    QUESTIONS: Mapping[str, QuestionConfig]

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        """Run once. ``answers`` maps the tool's own question ids to typed values."""
        ...

    def make_inquiry_source(self, name: str) -> InquirySource:
        """Return the provenance of this tool's questions (RFD 082 *Source attribution*)."""
        ...


#: Asks a question while the tool runs; returns the typed answer, or the reason for none.
AskQuestion: TypeAlias = Callable[[Question], Awaitable["Answer | Declined"]]


#: Formats a call's arguments for people; returns None where it cannot.
FormatArguments: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[str | None]]
#: Formats a call's arguments, without the secrets of the turn; None without a formatter, too.
FormatCall: TypeAlias = Callable[[ToolCallRequest], Awaitable[str | None]]


class OutsideTool(Protocol):
    """A tool that is not part of jpweb: a subprocess, or a tool of an MCP server.

    Its questions come from the tool (``InquirySource.for_tool``), whatever source it claims.
    """

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: AskQuestion
    ) -> ToolOutcome:
        """Run once. May return NeedsInput, or call ``ask`` while it runs and continue."""
        ...


@dataclass(frozen=True, slots=True)
class QuestionPrompt:
    """A question whose request is on record and that waits for a person.

    It expires ``expires_after`` seconds after it was first asked; never, where that is None.
    """

    inquiry_id: str
    question: Question
    source: InquirySource
    tool_name: str
    label: str | None
    expires_after: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The person who gave an answer, for later questions of the turn that it holds for."""

    person_name: str
    person_id: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's typed answer; with ``remember`` it holds for the rest of the turn."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs
    remember: bool = False
    source: AnswerSource | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Declined:
    """No answer, and the reason; ``note`` is the person's text beside a decline."""

    reason: CancellationReason
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunPrompt:
    """Asks whether a call may run (RFD 018 *RunTool*); ``edit``: after editing its arguments.

    ``formatted_arguments`` is the text of the tool's formatter, where it has one. The decision
    holds for a tool of this ``definition``.
    """

    tool_call_id: str
    tool_name: str
    description: str
    arguments: Mapping[str, Any]
    edit: bool = False
    formatted_arguments: str | None = None
    definition: str = ""


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """The approval by which a person decided, for later calls of the turn that it holds for."""

    approval_id: int
    person_name: str
    person_id: int | None


@dataclass(frozen=True, slots=True)
class Permitted:
    """The call may run with these arguments; ``remember``: the turn's later calls may as well."""

    arguments: Mapping[str, Any]
    remember: bool = False
    source: PermissionSource | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """The call may not run."""

    reason: str = ""
    remember: bool = False
    source: PermissionSource | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DeliverPrompt:
    """Asks whether the model may see a result (RFD 018 *DeliverToolResult*)."""

    tool_call_id: str
    tool_name: str
    content: str
    is_error: bool
    edit: bool = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """The model may see the result, unchanged (``content`` is None) or as a person edited it."""

    content: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The model may not see the result."""


class Prompter(Protocol):
    """Carries a question to a person.

    **It commits the inquiry_response itself**, with the decision: when ``ask`` returns, and when
    ``withdraw`` returns, the response is on record.
    """

    async def has_reachable_person(self) -> bool:
        """Tell whether a person can answer (the *client available* of RFD 082)."""
        ...

    async def ask(self, prompt: QuestionPrompt) -> Answer | Declined:
        """Wait until a person decides. May be cancelled; then call ``withdraw``."""
        ...

    async def withdraw(self, prompt: QuestionPrompt, reason: CancellationReason) -> None:
        """Close the question with a reason; does nothing where it is settled already."""
        ...

    async def permit(self, prompt: RunPrompt) -> Permitted | Skipped:
        """Wait until a person decides. May be cancelled; then call ``close_prompt``."""
        ...

    async def deliver(self, prompt: DeliverPrompt) -> Delivered | Withheld:
        """Wait until a person decides. May be cancelled; then call ``close_prompt``."""
        ...

    async def close_prompt(self, prompt: RunPrompt | DeliverPrompt) -> None:
        """Close an undecided prompt; does nothing where it is decided already."""
        ...


class Recorder(Protocol):
    """The journal."""

    async def record(
        self,
        *events: ConversationEvent,
        is_last: bool = False,
        usage: TokenUsage | None = None,
        interrupt_ids: Sequence[int] = (),
    ) -> None:
        """Commit the events in order, all or none; returns after the commit.

        Raises SettlementConflict, and commits nothing, where a question among them is settled
        already. ``is_last`` commits that the turn is complete, also without events: the journal
        alone does not tell a whole reply from a part of one. ``usage`` is that of the reply which
        ends with these events; it is in no event. ``interrupt_ids`` are the interrupts whose text
        the events carry, or that the turn has acted on without an event: they are handled with the
        commit.
        """
        ...

    async def load_elements(self) -> tuple[Element, ...]:
        """Return the whole committed stream."""
        ...

    async def save_progress(self, tool_call_id: str, progress: CallProgress) -> None:
        """Save a call's progress until its response is on record; replaces the saved one.

        Not an event. Returns once it is committed.
        """
        ...

    async def load_progress(self) -> Mapping[str, CallProgress]:
        """Return the saved progress of the last turn's calls, by call id."""
        ...

    async def restart_calls(self, interrupt_ids: Sequence[int]) -> None:
        """Delete the saved progress, and save the stream's length as the boundary ``restart``.

        ``interrupt_ids`` are the interrupts that restart the calls: they are handled with the
        commit. A process that resumes the turn before it is given them again.
        """
        ...

    async def load_boundaries(self) -> CallBoundaries:
        """Return the saved boundaries."""
        ...


#: Texts shown before they are on record; of ``retry`` the seconds until the next request, its
#: number, the highest number, and the failure, each after a space.
PartialVariant: TypeAlias = Literal["message", "reasoning", "tool_call", "retry"]


class Display(Protocol):
    """Shows text before it is on record. Best effort; may drop."""

    async def show_partial(self, variant: PartialVariant, text: str) -> None:
        """Show the text so far of the reply, or of the tool call, that is streaming."""
        ...


class InquiryBackend(Protocol):
    """A secondary assistant that answers questions (RFD 028, 034)."""

    async def inquire(
        self,
        elements: Sequence[Element],
        call: ToolCallRequest,
        question: Question,
        config: QuestionConfig,
    ) -> Any:
        """Return a typed answer that fits the question. Raises InquiryFailed."""
        ...
