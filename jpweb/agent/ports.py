"""What a turn needs from outside. The runtime satisfies these by shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from jpweb.agent.config import ModelConfig, QuestionConfig, ToolConfig
from jpweb.agent.outcome import Kept, Outcome, Question
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest
from jpweb.stream.inquiry import CancellationReason, InquirySource
from jpweb.stream.thread import ThreadParts


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text as it comes; ``variant`` as in ChatResponse."""

    variant: Literal["message", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class Noted:
    """What the provider wants back with the text before it, under JP's metadata names.

    It ends that text: what follows is another event, be it of the same variant. Where no text
    came before it (redacted reasoning), an empty event of the variant carries it.
    """

    variant: Literal["message", "reasoning"]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool call that is still coming: its name, and its arguments' JSON so far. Display only."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """A complete tool call; ``metadata`` as in Noted."""

    id: str
    name: str
    arguments: dict[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Data:
    """The complete structured reply to a request with a schema."""

    value: Any


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's reply ended as it should."""


ProviderEvent: TypeAlias = Delta | Noted | Calling | CallTool | Data | Finished


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What one cycle sends.

    ``tool_choice`` is ``auto``, ``none``, ``required`` or a tool's name. With a ``schema`` (JSON
    schema of an object) the reply is one Data event. ``most_bytes`` is how long the reply may be
    in all, thoughts included; 0 sets no limit.
    """

    parts: ThreadParts
    tools: tuple[ToolConfig, ...]
    tool_choice: str = "auto"
    schema: Mapping[str, Any] | None = None
    most_bytes: int = 0


class Provider(Protocol):
    """A model of some vendor, or the script that plays one."""

    NAME: str

    def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the reply as it comes. Raises ProviderFailed."""
        ...


#: Opens a model; raises ProviderFailed where that is not possible (no key, no such provider).
OpenModel: TypeAlias = Callable[[ModelConfig], Provider]


class BuiltinTool(Protocol):
    """A tool that is part of jpweb. Runs from the start each time, with more answers."""

    NAME: str
    DESCRIPTION: str
    PARAMETERS: Mapping[str, Any]
    QUESTIONS: Mapping[str, QuestionConfig]

    async def execute(self, arguments: Mapping[str, Any], answers: Mapping[str, Any]) -> Outcome:
        """Run once. ``answers`` maps the tool's own question ids to typed values."""
        ...

    def inquiry_source(self, name: str) -> InquirySource:
        """Return the provenance of this tool's questions (RFD 082 *Source attribution*)."""
        ...


#: How a tool asks while it runs: the typed answer, or why there is none.
Ask: TypeAlias = Callable[[Question], Awaitable["Answer | Declined"]]


#: Shows a call's arguments to people; None where it cannot.
Format: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[str | None]]


class OutsideTool(Protocol):
    """A tool that is not part of jpweb: a subprocess, or a tool of an MCP server.

    Its questions come from the tool (``InquirySource.tool``), whatever it says of itself.
    """

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: Ask
    ) -> Outcome:
        """Run once. May return NeedsInput, or ``ask`` in the middle and go on."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose request is on record and that waits for a person.

    ``expires_after`` so many seconds from when it was first asked; never, where it is None.
    """

    inquiry_id: str
    question: Question
    source: InquirySource
    tool_name: str
    label: str | None
    expires_after: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's typed answer; ``remember`` for the rest of the turn."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """No answer, and why; ``note`` is what the person said beside a decline."""

    reason: CancellationReason
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunPrompt:
    """Asks whether a call may run (RFD 018 *RunTool*); ``edit``: after editing its arguments.

    ``shown`` is what the tool's formatter made of the arguments, where it has one. The decision
    holds for a tool of this ``definition``.
    """

    tool_call_id: str
    tool_name: str
    described: str
    arguments: Mapping[str, Any]
    edit: bool = False
    shown: str | None = None
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Permitted:
    """The call may run, with these arguments; ``remember``: so may the turn's later ones."""

    arguments: Mapping[str, Any]
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """The call may not run."""

    reason: str = ""
    remember: bool = False


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
    """The model may see it, as it is (``content`` is None) or as the person has edited it."""

    content: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The model may not see it."""


class Prompter(Protocol):
    """Carries a question to a person.

    **It commits the inquiry_response itself**, with the decision: when ``ask`` returns, and when
    ``withdraw`` returns, the response is on record.
    """

    async def reachable(self) -> bool:
        """Tell whether a person can answer (the *client available* of RFD 082)."""
        ...

    async def ask(self, asked: Asked) -> Answer | Declined:
        """Wait until a person decides. May be cancelled; then call ``withdraw``."""
        ...

    async def withdraw(self, asked: Asked, reason: CancellationReason) -> None:
        """Close the question with a reason; does nothing where it is settled already."""
        ...

    async def permit(self, prompt: RunPrompt) -> Permitted | Skipped:
        """Wait until a person decides. May be cancelled; then call ``put_away``."""
        ...

    async def deliver(self, prompt: DeliverPrompt) -> Delivered | Withheld:
        """Wait until a person decides. May be cancelled; then call ``put_away``."""
        ...

    async def put_away(self, prompt: RunPrompt | DeliverPrompt) -> None:
        """Close a prompt that nobody has decided; does nothing where somebody has."""
        ...


class Recorder(Protocol):
    """The journal."""

    async def record(self, *events: ConversationEvent, last: bool = False) -> None:
        """Commit the events in order, all or none; returns after the commit.

        Raises Settled, and commits nothing, where a response among them comes second. With the
        ``last`` ones, of which there may be none, it is committed that the turn is complete: the
        journal alone does not tell a whole reply from a part of one.
        """
        ...

    async def elements(self) -> tuple[Element, ...]:
        """Return the whole stream as committed so far."""
        ...

    async def keep(self, tool_call_id: str, kept: Kept) -> None:
        """Hold what a call has come to until its response is on record; replaces what was held.

        Not an event. Returns once it is committed.
        """
        ...

    async def kept(self) -> Mapping[str, Kept]:
        """Return what is held of the last turn's calls, by call id."""
        ...

    async def forget(self) -> None:
        """Throw away what is held: the calls run again."""
        ...


class Display(Protocol):
    """Shows text before it is on record. Best effort; may drop."""

    async def partial(
        self, variant: Literal["message", "reasoning", "tool_call"], text: str
    ) -> None:
        """Show the text so far of the reply, or of the tool call, that is being received."""
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
