"""The event kinds. ``EventKind`` is the complete list; everything else reads it.

What else a new kind takes is in the table of ``CONTRIBUTING.md``, *Where to add things*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import (
    EventKindBase,
    Fields,
    read_flag,
    read_mapping,
    read_number,
    read_optional_text,
    read_text,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse


@dataclass(frozen=True, slots=True)
class TurnStart(EventKindBase):
    """Opens a turn. Has no fields; JP refuses any."""

    TAG: ClassVar[str] = "turn_start"
    CATEGORY: ClassVar[str] = "turn"

    @classmethod
    def from_fields(cls, _fields: Fields) -> Self:
        """Ignore extra keys, which newer versions may write."""
        return cls()

    def to_fields(self) -> dict[str, Any]:
        """Return no field."""
        return {}


@dataclass(frozen=True, slots=True)
class ChatRequest(EventKindBase):
    """The message of a person."""

    TAG: ClassVar[str] = "chat_request"
    CATEGORY: ClassVar[str] = "person"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    content: str
    schema: dict[str, Any] | None = None
    author: str | None = None

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises MalformedElement."""
        schema = read_mapping(fields, "schema") if fields.get("schema") is not None else None
        return cls(read_text(fields, "content"), schema, read_optional_text(fields, "author"))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order, absent ones left out."""
        optional_fields = {"schema": self.schema, "author": self.author}
        return {"content": self.content} | {
            k: v for k, v in optional_fields.items() if v is not None
        }


ResponseVariant: TypeAlias = Literal["message", "reasoning", "data"]
_CATEGORY_BY_VARIANT: dict[ResponseVariant, str] = {
    "message": "message",
    "reasoning": "reasoning",
    "data": "structure",
}


@dataclass(frozen=True, slots=True)
class ChatResponse(EventKindBase):
    """A reply of the assistant: a message, its reasoning, or structured data."""

    TAG: ClassVar[str] = "chat_response"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    variant: ResponseVariant
    content: Any

    @property
    def category(self) -> str:
        """The category of the variant."""
        return _CATEGORY_BY_VARIANT[self.variant]

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Take the first of message, reasoning, data that fits. Raises MalformedElement."""
        if isinstance(fields.get("message"), str):
            return cls("message", fields["message"])
        if isinstance(fields.get("reasoning"), str):
            return cls("reasoning", fields["reasoning"])
        if "data" in fields:
            return cls("data", fields["data"])
        raise MalformedElement("a chat_response needs “message”, “reasoning” or “data”")

    def to_fields(self) -> dict[str, Any]:
        """Return the one field of the variant."""
        return {self.variant: self.content}


@dataclass(frozen=True, slots=True)
class ToolCallRequest(EventKindBase):
    """The assistant calls a tool. ``id`` is the provider's and may repeat in a turn."""

    TAG: ClassVar[str] = "tool_call_request"
    CATEGORY: ClassVar[str] = "call"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    ENCODED: ClassVar[frozenset[str]] = frozenset({"arguments"})
    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises MalformedElement."""
        return cls(
            read_text(fields, "id"), read_text(fields, "name"), read_mapping(fields, "arguments")
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class ToolCallResponse(EventKindBase):
    """The result of a tool call."""

    TAG: ClassVar[str] = "tool_call_response"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    ENCODED: ClassVar[frozenset[str]] = frozenset({"content"})
    id: str
    content: str
    is_error: bool

    @property
    def category(self) -> str:
        """Results apart from failures."""
        return "failure" if self.is_error else "result"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises MalformedElement."""
        return cls(
            read_text(fields, "id"), read_text(fields, "content"), read_flag(fields, "is_error")
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"id": self.id, "content": self.content, "is_error": self.is_error}


#: Keys of a flattened config_delta that are not configuration.
_ENVELOPE_KEYS = frozenset({"type", "timestamp", "metadata", "event_id", "request_id", "delta"})


@dataclass(frozen=True, slots=True)
class ConfigDelta(EventKindBase):
    """A change of JP's configuration; applies to later events. Read leniently."""

    TAG: ClassVar[str] = "config_delta"
    CATEGORY: ClassVar[str] = "configuration"
    OVERLAY: ClassVar[bool] = True
    delta: dict[str, Any]

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Take ``delta``, or the flattened keys of the oldest layouts. Never fails."""
        delta = fields.get("delta")
        if isinstance(delta, dict):
            return cls(delta)
        return cls({key: value for key, value in fields.items() if key not in _ENVELOPE_KEYS})

    def to_fields(self) -> dict[str, Any]:
        """Return the nested form."""
        return {"delta": self.delta}


@dataclass(frozen=True, slots=True)
class Compaction(EventKindBase):
    """A range of turns that is shortened for the model; the turns themselves stay."""

    TAG: ClassVar[str] = "compaction"
    CATEGORY: ClassVar[str] = "compaction"
    OVERLAY: ClassVar[bool] = True
    from_turn: int
    to_turn: int
    policies: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises MalformedElement."""
        return cls(
            read_number(fields, "from_turn"), read_number(fields, "to_turn"), _pick_policies(fields)
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"from_turn": self.from_turn, "to_turn": self.to_turn} | _pick_policies(
            self.policies
        )


def _pick_policies(fields: Fields) -> dict[str, Any]:
    return {key: fields[key] for key in ("summary", "reasoning", "tool_calls") if key in fields}


EventKind: TypeAlias = (
    TurnStart
    | ChatRequest
    | ChatResponse
    | ToolCallRequest
    | ToolCallResponse
    | InquiryRequest
    | InquiryResponse
    | ConfigDelta
    | Compaction
)
KINDS: dict[str, type[EventKind]] = {kind.TAG: kind for kind in get_args(EventKind)}


@dataclass(frozen=True, slots=True)
class ConversationEvent:
    """One event: its time (JP's text, UTC), its kind, and its opaque metadata (decoded).

    ``event_id`` is RFD 097's name of the event, ``request_id`` RFD 098's link to the chat_request
    that it answers. Both are read and kept, and mean nothing here.
    """

    timestamp: str
    kind: EventKind
    metadata: dict[str, Any] = field(default_factory=dict)
    event_id: str | None = None
    request_id: str | None = None

    @property
    def note(self) -> dict[str, Any]:
        """The note of jpweb in the event's metadata (docs/jp-format.md, Elements)."""
        note = self.metadata.get("jpweb")
        return note if isinstance(note, dict) else {}


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An element of a kind that this version does not know. Shown raw, kept verbatim."""

    tag: str
    value: Any


@dataclass(frozen=True, slots=True)
class BrokenEvent:
    """An element of a known kind that does not have its shape. Shown raw, kept verbatim."""

    tag: str
    problem: str


@dataclass(frozen=True, slots=True)
class LegacyEvents:
    """An element of a layout older than event streams, and the events that it represents.

    There is at least one (docs/jp-format.md, Older layouts). It is always written back verbatim.
    """

    tag: str
    events: tuple[ConversationEvent, ...]


ElementBody: TypeAlias = ConversationEvent | LegacyEvents | UnknownEvent | BrokenEvent


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a stream: its JSON text verbatim, and the body read from it.

    ``is_shortened``: compaction has replaced the body, so the text does not tell what it is.
    """

    raw: str
    body: ElementBody
    is_shortened: bool = False

    @property
    def tag(self) -> str:
        """The wire tag; ``unknown`` where there is none."""
        return self.body.kind.TAG if isinstance(self.body, ConversationEvent) else self.body.tag

    @property
    def kind(self) -> EventKind | None:
        """The kind, or None for legacy, unknown and broken elements."""
        return self.body.kind if isinstance(self.body, ConversationEvent) else None

    @property
    def events(self) -> tuple[ConversationEvent, ...]:
        """The events in it: one, several for a legacy element, none for unknown and broken."""
        match self.body:
            case ConversationEvent() as event:
                return (event,)
            case LegacyEvents(events=events):
                return events
            case _:
                return ()
