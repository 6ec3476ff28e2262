"""The shapes that JP writes itself, read without a detour; nearly every element has one.

The codec checks keys and types while it parses, so that nothing is left to look up. What has
another key or another type, is broken, or may be nested too deeply, is not read here but by
``elements``, which says what every element is: both make the same of what both read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pybase64
from msgspec import UNSET, UnsetType

from jpweb.stream import armour, identity
from jpweb.stream.answers import Boolean
from jpweb.stream.errors import BrokenElement
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
from jpweb.stream.kinds import may_be_deep

_CONTAINERS = (dict, list)
#: The characters that may come last in base64 of one byte and of two, before the padding.
_LAST_OF_ONE = frozenset("AQgw")
_LAST_OF_TWO = frozenset("AEIMQUYcgkosw048=")
_TOOL = SourceTag.TOOL.value
_BOOLEAN = Boolean()
_YES_OR_NO = _BOOLEAN.to_fields()
_PLAIN = frozenset({"text", "answer_type", "default"})


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


_Known = (
    _TurnStart
    | _ChatRequest
    | _ChatResponse
    | _ToolCallRequest
    | _ToolCallResponse
    | _InquiryRequest
    | _InquiryResponse
)
_decode = msgspec.json.Decoder(_Known).decode


def read(raw: str) -> ConversationEvent | None:
    """Return the event of an element's text, or None where its shape is not one of these."""
    try:
        shape = _decode(raw)
        kind = _READERS[type(shape)](shape, raw)
    except (ValueError, RecursionError, BrokenElement):
        return None
    if kind is None or identity.moment(shape.timestamp) is None:
        return None
    if type(shape) is _ChatResponse and shape.metadata is not UNSET:
        if may_be_deep(raw):
            return None
        metadata = armour.deep(_unwrap, shape.metadata)
        return ConversationEvent(shape.timestamp, kind, metadata)
    return ConversationEvent(shape.timestamp, kind, {})


class Seen(msgspec.Struct):
    """A kind, the name (``identity.name``), and the time where the kind is whole, else ""."""

    kind: EventKind
    own: str
    timestamp: str


def glance(raw: str) -> Seen | None:
    """Return what is seen of an element, or None where its shape is not one of these.

    A kind that is not whole says nothing: it is there for what it is.
    """
    try:
        shape = _decode(raw)
    except (ValueError, RecursionError):
        return None
    when = identity.moment_once(shape.timestamp)
    if when is None or type(shape) not in _SAYING:
        return None
    seen = _SAYING[type(shape)](shape, raw)
    if seen is None:
        return None
    kind, says = seen
    whole = shape.timestamp if type(kind) in _WHOLE else ""
    return Seen(kind, identity.named([kind.TAG, when, says]), whole)


#: A kind, and what it says.
_Saying: TypeAlias = tuple[EventKind, dict[str, Any]] | None


def _saying_nothing(_shape: _TurnStart, _raw: str) -> _Saying:
    return _TURN_START, {}


def _saying_request(shape: _ChatRequest, _raw: str) -> _Saying:
    return _CHAT_REQUEST, {"content": shape.content}


def _saying_response(shape: _ChatResponse, raw: str) -> _Saying:
    if shape.metadata is not UNSET and may_be_deep(raw):
        return None
    if shape.message is not UNSET:
        return _CHAT_RESPONSE, {"message": shape.message}
    return None if shape.reasoning is UNSET else (_REASONING, {"reasoning": shape.reasoning})


def _saying_call(shape: _ToolCallRequest, raw: str) -> _Saying:
    if not _plain(shape.arguments, raw):
        return None
    says = {"id": shape.id, "name": shape.name, "arguments": shape.arguments}
    return ToolCallRequest(shape.id, shape.name, shape.arguments), says


def _saying_result(shape: _ToolCallResponse, _raw: str) -> _Saying:
    content = _content(shape.content)
    plain = armour.unwrap_url_safe(content)
    says = {"id": shape.id, "content": plain, "is_error": shape.is_error}
    return ToolCallResponse(shape.id, content, shape.is_error), says


_TURN_START = TurnStart()
_CHAT_REQUEST = ChatRequest("")
_CHAT_RESPONSE = ChatResponse("message", "")
_REASONING = ChatResponse("reasoning", "")
_WHOLE = frozenset({ToolCallRequest, ToolCallResponse})
_SAYING: dict[type[_Shape], Callable[[Any, str], _Saying]] = {
    _TurnStart: _saying_nothing,
    _ChatRequest: _saying_request,
    _ChatResponse: _saying_response,
    _ToolCallRequest: _saying_call,
    _ToolCallResponse: _saying_result,
}


def _turn_start(_shape: _TurnStart, _raw: str) -> TurnStart:
    return TurnStart()


def _chat_request(shape: _ChatRequest, _raw: str) -> ChatRequest:
    return ChatRequest(shape.content)


def _chat_response(shape: _ChatResponse, _raw: str) -> ChatResponse | None:
    if shape.message is not UNSET:
        return ChatResponse("message", shape.message)
    return None if shape.reasoning is UNSET else ChatResponse("reasoning", shape.reasoning)


def _tool_call_request(shape: _ToolCallRequest, raw: str) -> ToolCallRequest | None:
    if not _plain(shape.arguments, raw):
        return None
    return ToolCallRequest(shape.id, shape.name, shape.arguments)


def _plain(arguments: dict[str, Any], raw: str) -> bool:
    """Decode the strings in a call's arguments; tells whether that can be done without care."""
    for key, value in arguments.items():
        if type(value) is str:
            arguments[key] = _unwrap(value)
        elif type(value) in _CONTAINERS:
            if may_be_deep(raw):
                return False
            arguments[key] = armour.deep(_unwrap, value)
    return True


def _tool_call_response(shape: _ToolCallResponse, _raw: str) -> ToolCallResponse:
    return ToolCallResponse(shape.id, _content(shape.content), shape.is_error)


def _inquiry_request(shape: _InquiryRequest, raw: str) -> InquiryRequest | None:
    if may_be_deep(raw):
        return None
    return InquiryRequest(shape.id, _source(shape.source), _question(shape.question))


def _inquiry_response(shape: _InquiryResponse, raw: str) -> InquiryResponse | None:
    if shape.outcome != Answered.TAG or may_be_deep(raw):
        return None
    return InquiryResponse(shape.id, Answered(shape.answer))


def _source(fields: dict[str, Any]) -> InquirySource:
    """Return who asks: mostly a tool."""
    name = fields.get("name")
    if fields.get("source") == _TOOL and type(name) is str:
        return InquirySource.tool(name)
    return InquirySource.from_fields(fields)


def _question(fields: dict[str, Any]) -> InquiryQuestion:
    """Return what is asked: mostly yes or no, without the keys of RFD 083."""
    text = fields.get("text")
    if type(text) is str and fields.get("answer_type") == _YES_OR_NO and fields.keys() <= _PLAIN:
        return InquiryQuestion(text, _BOOLEAN, fields.get("default"))
    return InquiryQuestion.from_fields(fields)


_READERS: dict[type[_Shape], Callable[[Any, str], EventKind | None]] = {
    _TurnStart: _turn_start,
    _ChatRequest: _chat_request,
    _ChatResponse: _chat_response,
    _ToolCallRequest: _tool_call_request,
    _ToolCallResponse: _tool_call_response,
    _InquiryRequest: _inquiry_request,
    _InquiryResponse: _inquiry_response,
}


def _unwrap(text: str) -> str:
    """Return what ``armour.unwrap`` does; of long texts, in a twentieth of the time."""
    try:
        plain = pybase64.b64decode(text, validate=True)
        # Canonical or not shows in the last character alone, in the bits that it does not use.
        if text.endswith("==") and text[-3] not in _LAST_OF_ONE:
            return text
        if text.endswith("=") and text[-2] not in _LAST_OF_TWO:
            return text
        return plain.decode()
    except ValueError:  # binascii.Error is one
        return text


def _content(text: str) -> str:
    """Return what ``armour.unwrap_content`` does."""
    plain = _unwrap(text)
    return plain if plain != text else armour.unwrap_url_safe(text)
