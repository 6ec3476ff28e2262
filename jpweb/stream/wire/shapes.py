"""The shapes that JP writes itself, read without a detour; nearly every element has one.

The codec checks keys and types while it parses, so that nothing is left to look up. What has
another key or another type, is broken, or may be nested too deeply, is not read here but by
``elements``, which says what every element is: both make the same of what both read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pybase64
from msgspec import UNSET, UnsetType

from jpweb.stream import armour, identity
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
)
from jpweb.stream.kinds import may_be_deep


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


def _turn_start(_shape: _TurnStart, _raw: str) -> TurnStart:
    return TurnStart()


def _chat_request(shape: _ChatRequest, _raw: str) -> ChatRequest:
    return ChatRequest(shape.content)


def _chat_response(shape: _ChatResponse, _raw: str) -> ChatResponse | None:
    if shape.message is not UNSET:
        return ChatResponse("message", shape.message)
    return None if shape.reasoning is UNSET else ChatResponse("reasoning", shape.reasoning)


def _tool_call_request(shape: _ToolCallRequest, raw: str) -> ToolCallRequest | None:
    arguments = shape.arguments
    for key, value in arguments.items():
        if type(value) is str:
            arguments[key] = _unwrap(value)
        elif may_be_deep(raw):
            return None
        else:
            arguments[key] = armour.deep(_unwrap, value)
    return ToolCallRequest(shape.id, shape.name, arguments)


def _tool_call_response(shape: _ToolCallResponse, _raw: str) -> ToolCallResponse:
    return ToolCallResponse(shape.id, _content(shape.content), shape.is_error)


def _inquiry_request(shape: _InquiryRequest, raw: str) -> InquiryRequest | None:
    if may_be_deep(raw):
        return None
    source = InquirySource.from_fields(shape.source)
    return InquiryRequest(shape.id, source, InquiryQuestion.from_fields(shape.question))


def _inquiry_response(shape: _InquiryResponse, raw: str) -> InquiryResponse | None:
    if shape.outcome != Answered.TAG or may_be_deep(raw):
        return None
    return InquiryResponse(shape.id, Answered(shape.answer))


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
        # Canonical or not shows in the last group alone, in the bits that it does not use.
        spare = len(plain) % 3
        if spare and pybase64.b64encode_as_string(plain[-spare:]) != text[-4:]:
            return text
        return plain.decode()
    except ValueError:  # binascii.Error is one
        return text


def _content(text: str) -> str:
    """Return what ``armour.unwrap_content`` does."""
    plain = _unwrap(text)
    return plain if plain != text else armour.unwrap_url_safe(text)
