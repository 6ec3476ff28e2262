"""Fast codec of the shapes that JP writes itself; nearly every element has one.

The msgspec decoder checks keys and types while it parses. An element with another key or type,
a broken one, or one that may be nested too deeply is left to ``codec``, which reads every
element: both return the same for an element that both read.

It decodes the base64 of a long text 20 times as fast as ``codec``. An import may take twice the
JSON parse and the bare inserts (``import.largest``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pybase64
from msgspec import UNSET, UnsetType

from jpweb.stream import anchor_ids, base64_fields
from jpweb.stream.answer_type import Boolean
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import can_exceed_depth
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import (
    Answered,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    SourceTag,
)

_CONTAINER_TYPES = (dict, list)
#: The last characters of canonical base64 for a remainder of one byte and of two; ``=``
#: because a text that ends in ``==`` passes both checks.
_LAST_OF_ONE = frozenset("AQgw")
_LAST_OF_TWO = frozenset("AEIMQUYcgkosw048=")
_TOOL_SOURCE = SourceTag.TOOL.value
_BOOLEAN_TYPE = Boolean()
_BOOLEAN_FIELDS = _BOOLEAN_TYPE.to_fields()
_PLAIN_QUESTION_KEYS = frozenset({"text", "answer_type", "default"})


class _Shape(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    timestamp: str


class _TurnStart(_Shape, tag=TurnStart.TAG):
    pass


class _ChatRequest(_Shape, tag=ChatRequest.TAG):
    content: str


class _ChatResponse(_Shape, tag=ChatResponse.TAG):
    message: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class _ToolCallRequest(_Shape, tag=ToolCallRequest.TAG):
    id: str
    name: str
    arguments: dict[str, Any]


class _ToolCallResponse(_Shape, tag=ToolCallResponse.TAG):
    id: str
    content: str
    is_error: bool


class _InquiryRequest(_Shape, tag=InquiryRequest.TAG):
    id: str
    source: dict[str, Any]
    question: dict[str, Any]


class _InquiryResponse(_Shape, tag=InquiryResponse.TAG):
    id: str
    answer: Any
    outcome: str = Answered.TAG


_KnownShape = (
    _TurnStart
    | _ChatRequest
    | _ChatResponse
    | _ToolCallRequest
    | _ToolCallResponse
    | _InquiryRequest
    | _InquiryResponse
)
_decode = msgspec.json.Decoder(_KnownShape).decode


def read_event(raw_text: str) -> ConversationEvent | None:
    """Return the event of an element's text, or None where its shape is not one of these."""
    try:
        shape = _decode(raw_text)
        kind = _READERS[type(shape)](shape, raw_text)
    except (ValueError, RecursionError, MalformedElement):
        return None
    if kind is None or anchor_ids.normalize_timestamp(shape.timestamp) is None:
        return None
    if type(shape) is _ChatResponse and shape.metadata is not UNSET:
        if can_exceed_depth(raw_text):
            return None
        metadata = base64_fields.map_strings(_decode_text, shape.metadata)
        return ConversationEvent(shape.timestamp, kind, metadata)
    return ConversationEvent(shape.timestamp, kind, {})


class PartialShape(msgspec.Struct):
    """A kind, its content anchor, and the timestamp where the kind is complete, else ""."""

    kind: EventKind
    content_anchor: str
    timestamp: str


def read_partial_shape(raw_text: str) -> PartialShape | None:
    """Return the partial shape of an element, or None where its shape is not one of these.

    An incomplete kind has empty fields: only its type counts.
    """
    try:
        shape = _decode(raw_text)
    except (ValueError, RecursionError):
        return None
    describe = _DESCRIBERS.get(type(shape))
    timestamp = None if describe is None else anchor_ids.normalize_uncached(shape.timestamp)
    description = None if describe is None or timestamp is None else describe(shape, raw_text)
    if description is None:
        return None
    kind, content = description
    complete_timestamp = shape.timestamp if type(kind) in _COMPLETE_KINDS else ""
    return PartialShape(
        kind, anchor_ids.hash_content([kind.TAG, timestamp, content]), complete_timestamp
    )


#: A kind, and the content that its anchor hashes.
_KindAndContent: TypeAlias = tuple[EventKind, dict[str, Any]] | None


def _describe_turn_start(_shape: _TurnStart, _raw_text: str) -> _KindAndContent:
    return _TURN_START, {}


def _describe_request(shape: _ChatRequest, _raw_text: str) -> _KindAndContent:
    return _CHAT_REQUEST, {"content": shape.content}


def _describe_response(shape: _ChatResponse, raw_text: str) -> _KindAndContent:
    if shape.metadata is not UNSET and can_exceed_depth(raw_text):
        return None
    if shape.message is not UNSET:
        return _CHAT_RESPONSE, {"message": shape.message}
    return None if shape.reasoning is UNSET else (_REASONING, {"reasoning": shape.reasoning})


def _describe_call(shape: _ToolCallRequest, raw_text: str) -> _KindAndContent:
    if not _decode_arguments(shape.arguments, raw_text):
        return None
    fields = {"id": shape.id, "name": shape.name, "arguments": shape.arguments}
    return ToolCallRequest(shape.id, shape.name, shape.arguments), fields


def _describe_result(shape: _ToolCallResponse, _raw_text: str) -> _KindAndContent:
    content = _decode_content(shape.content)
    decoded_text = base64_fields.decode_url_safe(content)
    fields = {"id": shape.id, "content": decoded_text, "is_error": shape.is_error}
    return ToolCallResponse(shape.id, content, shape.is_error), fields


_TURN_START = TurnStart()
_CHAT_REQUEST = ChatRequest("")
_CHAT_RESPONSE = ChatResponse("message", "")
_REASONING = ChatResponse("reasoning", "")
_COMPLETE_KINDS = frozenset({ToolCallRequest, ToolCallResponse})
_DESCRIBERS: dict[type[_Shape], Callable[[Any, str], _KindAndContent]] = {
    _TurnStart: _describe_turn_start,
    _ChatRequest: _describe_request,
    _ChatResponse: _describe_response,
    _ToolCallRequest: _describe_call,
    _ToolCallResponse: _describe_result,
}


def _make_turn_start(_shape: _TurnStart, _raw_text: str) -> TurnStart:
    return TurnStart()


def _make_chat_request(shape: _ChatRequest, _raw_text: str) -> ChatRequest:
    return ChatRequest(shape.content)


def _make_chat_response(shape: _ChatResponse, _raw_text: str) -> ChatResponse | None:
    if shape.message is not UNSET:
        return ChatResponse("message", shape.message)
    return None if shape.reasoning is UNSET else ChatResponse("reasoning", shape.reasoning)


def _make_call_request(shape: _ToolCallRequest, raw_text: str) -> ToolCallRequest | None:
    if not _decode_arguments(shape.arguments, raw_text):
        return None
    return ToolCallRequest(shape.id, shape.name, shape.arguments)


def _decode_arguments(arguments: dict[str, Any], raw_text: str) -> bool:
    """Decode the strings in a call's arguments; return False where they may be nested too deep."""
    for key, value in arguments.items():
        if type(value) is str:
            arguments[key] = _decode_text(value)
        elif type(value) in _CONTAINER_TYPES:
            if can_exceed_depth(raw_text):
                return False
            arguments[key] = base64_fields.map_strings(_decode_text, value)
    return True


def _make_call_response(shape: _ToolCallResponse, _raw_text: str) -> ToolCallResponse:
    return ToolCallResponse(shape.id, _decode_content(shape.content), shape.is_error)


def _make_inquiry_request(shape: _InquiryRequest, raw_text: str) -> InquiryRequest | None:
    if can_exceed_depth(raw_text):
        return None
    return InquiryRequest(shape.id, _make_source(shape.source), _make_question(shape.question))


def _make_inquiry_response(shape: _InquiryResponse, raw_text: str) -> InquiryResponse | None:
    if shape.outcome != Answered.TAG or can_exceed_depth(raw_text):
        return None
    return InquiryResponse(shape.id, Answered(shape.answer))


def _make_source(fields: dict[str, Any]) -> InquirySource:
    """Return the source of a question: mostly a tool."""
    name = fields.get("name")
    if fields.get("source") == _TOOL_SOURCE and type(name) is str:
        return InquirySource.for_tool(name)
    return InquirySource.from_fields(fields)


def _make_question(fields: dict[str, Any]) -> InquiryQuestion:
    """Return the question: mostly yes or no, without the keys of RFD 083."""
    text = fields.get("text")
    if (
        type(text) is str
        and fields.get("answer_type") == _BOOLEAN_FIELDS
        and fields.keys() <= _PLAIN_QUESTION_KEYS
    ):
        return InquiryQuestion(text, _BOOLEAN_TYPE, fields.get("default"))
    return InquiryQuestion.from_fields(fields)


_READERS: dict[type[_Shape], Callable[[Any, str], EventKind | None]] = {
    _TurnStart: _make_turn_start,
    _ChatRequest: _make_chat_request,
    _ChatResponse: _make_chat_response,
    _ToolCallRequest: _make_call_request,
    _ToolCallResponse: _make_call_response,
    _InquiryRequest: _make_inquiry_request,
    _InquiryResponse: _make_inquiry_response,
}


def _decode_text(text: str) -> str:
    """Return the result of ``base64_fields.decode_text``, 20 times as fast for long texts."""
    try:
        decoded_text = pybase64.b64decode(text, validate=True)
        # The unused bits of the last character alone decide whether it is canonical.
        if text.endswith("==") and text[-3] not in _LAST_OF_ONE:
            return text
        if text.endswith("=") and text[-2] not in _LAST_OF_TWO:
            return text
        return decoded_text.decode()
    except ValueError:  # binascii.Error is a subclass
        return text


def _decode_content(text: str) -> str:
    """Return the result of ``base64_fields.decode_content``."""
    decoded_text = _decode_text(text)
    return decoded_text if decoded_text != text else base64_fields.decode_url_safe(text)
