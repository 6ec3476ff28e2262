"""The event kinds. ``EventKind`` is the complete list; everything else reads it.

To add a kind: a class here, one member of the union, and a sample in ``tests/samples/events``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

from jpweb.stream.errors import BrokenElement
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.kinds import Fields, Kind, flag, mapping, number, optional_text, text


@dataclass(frozen=True, slots=True)
class TurnStart(Kind):
    """Opens a turn. Has no fields; JP refuses any."""

    TAG: ClassVar[str] = "turn_start"

    @classmethod
    def from_fields(cls, _fields: Fields) -> Self:
        """Ignore extra keys, which newer versions may write."""
        return cls()

    def to_fields(self) -> dict[str, Any]:
        """Return no field."""
        return {}


@dataclass(frozen=True, slots=True)
class ChatRequest(Kind):
    """What the person said."""

    TAG: ClassVar[str] = "chat_request"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    content: str
    schema: dict[str, Any] | None = None
    author: str | None = None

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises BrokenElement."""
        schema = mapping(fields, "schema") if fields.get("schema") is not None else None
        return cls(text(fields, "content"), schema, optional_text(fields, "author"))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order, absent ones left out."""
        optional = {"schema": self.schema, "author": self.author}
        return {"content": self.content} | {k: v for k, v in optional.items() if v is not None}


Variant: TypeAlias = Literal["message", "reasoning", "data"]


@dataclass(frozen=True, slots=True)
class ChatResponse(Kind):
    """What the assistant said: a message, its reasoning, or structured data."""

    TAG: ClassVar[str] = "chat_response"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    variant: Variant
    content: Any

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Take the first of message, reasoning, data that fits. Raises BrokenElement."""
        if isinstance(fields.get("message"), str):
            return cls("message", fields["message"])
        if isinstance(fields.get("reasoning"), str):
            return cls("reasoning", fields["reasoning"])
        if "data" in fields:
            return cls("data", fields["data"])
        raise BrokenElement("a chat_response needs “message”, “reasoning” or “data”")

    def to_fields(self) -> dict[str, Any]:
        """Return the one field of the variant."""
        return {self.variant: self.content}


@dataclass(frozen=True, slots=True)
class ToolCallRequest(Kind):
    """The assistant calls a tool. ``id`` is the provider's and may repeat in a turn."""

    TAG: ClassVar[str] = "tool_call_request"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    ENCODED: ClassVar[frozenset[str]] = frozenset({"arguments"})
    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises BrokenElement."""
        return cls(text(fields, "id"), text(fields, "name"), mapping(fields, "arguments"))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class ToolCallResponse(Kind):
    """What a tool call gave back."""

    TAG: ClassVar[str] = "tool_call_response"
    PROVIDER_VISIBLE: ClassVar[bool] = True
    ENCODED: ClassVar[frozenset[str]] = frozenset({"content"})
    id: str
    content: str
    is_error: bool

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises BrokenElement."""
        return cls(text(fields, "id"), text(fields, "content"), flag(fields, "is_error"))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"id": self.id, "content": self.content, "is_error": self.is_error}


#: What a flattened config_delta holds beside the configuration.
_ENVELOPE = frozenset({"type", "timestamp", "metadata", "event_id", "request_id", "delta"})


@dataclass(frozen=True, slots=True)
class ConfigDelta(Kind):
    """A change of JP's configuration; applies to what follows. Read leniently."""

    TAG: ClassVar[str] = "config_delta"
    OVERLAY: ClassVar[bool] = True
    delta: dict[str, Any]

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Take ``delta``, or the flattened keys of the oldest layouts. Never fails."""
        delta = fields.get("delta")
        if isinstance(delta, dict):
            return cls(delta)
        return cls({key: value for key, value in fields.items() if key not in _ENVELOPE})

    def to_fields(self) -> dict[str, Any]:
        """Return the nested form."""
        return {"delta": self.delta}


@dataclass(frozen=True, slots=True)
class Compaction(Kind):
    """How a range of turns is shortened for the model; the turns themselves stay."""

    TAG: ClassVar[str] = "compaction"
    OVERLAY: ClassVar[bool] = True
    from_turn: int
    to_turn: int
    policies: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises BrokenElement."""
        return cls(number(fields, "from_turn"), number(fields, "to_turn"), _policies(fields))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {"from_turn": self.from_turn, "to_turn": self.to_turn} | _policies(self.policies)


def _policies(fields: Fields) -> dict[str, Any]:
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
    """One event: when (JP's text, UTC), what, and its opaque metadata (decoded).

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
        """What jpweb noted beside it (jp-storage-format, section 11)."""
        noted = self.metadata.get("jpweb")
        return noted if isinstance(noted, dict) else {}


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
    """An element of a layout older than event streams, and the events that it stands for.

    There is at least one (jp-storage-format, section 12). Written back as it came, always.
    """

    tag: str
    events: tuple[ConversationEvent, ...]


Body: TypeAlias = ConversationEvent | LegacyEvents | UnknownEvent | BrokenEvent


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a stream: its JSON text as it came, and what was made of it."""

    raw: str
    body: Body

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
