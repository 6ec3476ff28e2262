"""What a turn needs from outside. The runtime satisfies these by shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from jpweb.agent.config import QuestionConfig, ToolConfig
from jpweb.agent.outcome import Outcome, Question
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.inquiry import CancellationReason, InquirySource
from jpweb.stream.thread import ThreadParts


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text as it comes; ``variant`` as in ChatResponse."""

    variant: Literal["message", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """A complete tool call."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's reply ended as it should."""


ProviderEvent: TypeAlias = Delta | CallTool | Finished


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What one cycle sends."""

    parts: ThreadParts
    tools: tuple[ToolConfig, ...]


class Provider(Protocol):
    """A model's vendor, or the script that plays one."""

    NAME: str

    def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the reply as it comes. Raises ProviderFailed."""
        ...


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose request is on record and that waits for a person."""

    inquiry_id: str
    question: Question
    source: InquirySource
    tool_name: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's typed answer; ``remember`` for the rest of the turn."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """No answer, and why."""

    reason: CancellationReason


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


class Recorder(Protocol):
    """The journal."""

    async def record(self, *events: ConversationEvent) -> None:
        """Commit the events in order, all or none; returns after the commit."""
        ...

    async def elements(self) -> tuple[Element, ...]:
        """Return the whole stream as committed so far."""
        ...


class Display(Protocol):
    """Shows text before it is on record. Best effort; may drop."""

    async def partial(self, variant: Literal["message", "reasoning"], text: str) -> None:
        """Show the text so far of the reply that is being received."""
        ...
