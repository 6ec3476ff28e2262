"""The inquiry backend: a secondary assistant answers a tool's question (RFD 028, 034).

It works on a copy of the stream. Only the answer is recorded, by the caller.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jpweb.agent.config import InquiryConfig, ModelConfig, QuestionConfig, ToolConfig
from jpweb.agent.errors import TRANSIENT_FAILURES, FailureKind, InquiryFailed, ProviderFailed
from jpweb.agent.event_writer import get_utc_now
from jpweb.agent.history import normalize_history
from jpweb.agent.ports import (
    CompleteToolCall,
    OpenModel,
    ProviderRequest,
    ReplyFinished,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.tool_outcome import Question
from jpweb.stream import timestamps, wire
from jpweb.stream.answer_type import AnswerType, Select
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.thread import SystemPart, Thread

#: Retries of a request after a transient failure.
MAX_RETRIES = 3
#: Limit of a reply in bytes, where none is configured.
MAX_REPLY_BYTES = 1024 * 1024
_MAX_PAUSE_SECONDS = 30.0
#: Times that the copy is halved where it exceeds the model's context window.
_MAX_HALVINGS = 2


class NoBackend:
    """The backend where no secondary assistant is configured."""

    async def inquire(
        self,
        elements: Sequence[Element],
        call: ToolCallRequest,
        question: Question,
        config: QuestionConfig,
    ) -> Any:
        """Raise InquiryFailed."""
        raise InquiryFailed("no inquiry backend is set up here")


@dataclass(frozen=True, slots=True)
class LlmInquiryBackend:
    """Asks a model, each question in a request of its own; several may run at once.

    ``inquiry`` holds the overrides for all questions (``conversation.inquiry.assistant``).
    """

    open_model: OpenModel
    model: ModelConfig
    system: tuple[str | SystemPart, ...] = ()
    tools: tuple[ToolConfig, ...] = ()
    inquiry: InquiryConfig = field(default_factory=InquiryConfig)
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    cache: bool | str = True
    cache_key: str = ""

    async def inquire(
        self,
        elements: Sequence[Element],
        call: ToolCallRequest,
        question: Question,
        config: QuestionConfig,
    ) -> Any:
        """Return a typed answer that fits the question. Raises InquiryFailed."""
        settings = config.inquiry.merge_over(self.inquiry)
        system = self.system if settings.system_prompt is None else (settings.system_prompt,)
        schema = make_inquiry_schema(question.answer_type)
        copy = _make_inquiry_copy(elements, call, question, schema)
        limit = (
            MAX_REPLY_BYTES if settings.max_response_bytes is None else settings.max_response_bytes
        )
        request = ProviderRequest(
            Thread(system, copy).build_parts(),
            self.tools,
            tool_choice="none",
            schema=schema,
            max_bytes=limit,
            cache=self.cache,
            cache_key=self.cache_key,
        )
        try:
            model = settings.model.merge_over(self.model) if settings.model else self.model
            reply = await self._request_fitting(model, request)
        except ProviderFailed as failure:
            raise InquiryFailed(str(failure)) from failure
        return _read_answer(reply, question)

    async def _request_fitting(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Send the request; where it is too long for the model, again without its older half."""
        for _ in range(_MAX_HALVINGS):
            try:
                return await self._request_with_retries(model, request)
            except ProviderFailed as failure:
                later_events = _keep_later_half(request.parts.events)
                if failure.kind is not FailureKind.CONTEXT_LENGTH or not later_events:
                    raise
            request = replace(request, parts=replace(request.parts, events=later_events))
        return await self._request_with_retries(model, request)

    async def _request_with_retries(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Send the request, again after transient failures."""
        for attempt in range(MAX_RETRIES + 1):
            try:
                return await self._request_once(model, request)
            except ProviderFailed as failure:
                if failure.kind not in TRANSIENT_FAILURES or attempt == MAX_RETRIES:
                    raise
                delay_seconds = failure.retry_after
            await self.pause(
                min(2.0**attempt if delay_seconds is None else delay_seconds, _MAX_PAUSE_SECONDS)
            )
        raise AssertionError  # pragma: no cover  the last try returns or raises

    async def _request_once(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Return the structured reply. Raises ProviderFailed, InquiryFailed."""
        stream = self.open_model(model).stream(request)
        size = 0
        replies: list[Any] = []
        try:
            async for event in stream:
                match event:
                    case TextDelta(_, text):
                        size += _count_utf8_bytes(text)
                    case StructuredReply(value):
                        size += _count_utf8_bytes(json.dumps(value, ensure_ascii=False))
                        replies.append(value)
                    case CompleteToolCall(_, name):
                        raise InquiryFailed(f"the assistant called {name} instead of answering")
                    case ReplyFinished():
                        return _select_single_reply(replies)
                    case _:
                        pass
                if 0 < request.max_bytes < size:
                    raise InquiryFailed(f"the reply is larger than {request.max_bytes} bytes")
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        raise ProviderFailed("The connection was lost mid-reply.")


def make_inquiry_schema(kind: AnswerType) -> dict[str, Any]:
    """Return the JSON schema of a reply: an object whose ``answer`` is of the question's type."""
    return {
        "type": "object",
        "properties": {"answer": kind.make_schema()},
        "required": ["answer"],
        "additionalProperties": False,
    }


def _make_inquiry_copy(
    elements: Sequence[Element],
    call: ToolCallRequest,
    question: Question,
    schema: Mapping[str, Any],
) -> tuple[Element, ...]:
    """Return a copy of the stream in which the call is paused and the question is asked."""
    stamp = timestamps.format_timestamp(get_utc_now())
    pause_response = ToolCallResponse(call.id, f"Tool paused: {question.text}", is_error=False)
    request = ChatRequest(_format_prompt(call, question), dict(schema))
    in_turn = normalize_history(
        (*elements, wire.write_element(ConversationEvent(stamp, pause_response)))
    )
    added_events = (ConversationEvent(stamp, kind) for kind in (TurnStart(), request))
    return (*in_turn, *(wire.write_element(event) for event in added_events))


def _keep_later_half(events: Sequence[ConversationEvent]) -> tuple[ConversationEvent, ...]:
    """Return the events without the older half of the requests and the events that follow them.

    They are cut before a request, where no call is open: the call that asks and its question stay.
    Empty where nothing can be left out.
    """
    starts: list[int] = []
    calls: set[str] = set()
    for position, event in enumerate(events[:-1]):  # the last event asks the question
        match event.kind:
            case ToolCallRequest(id=id_):
                calls.add(id_)
            case ToolCallResponse(id=id_):
                calls.discard(id_)
            case ChatRequest() if not calls:
                starts.append(position)
            case _:
                pass
    return tuple(events[starts[len(starts) // 2] :]) if len(starts) > 1 else ()


def _format_prompt(call: ToolCallRequest, question: Question) -> str:
    context = [question.context] if question.context else []
    options = (
        [_format_options(question.answer_type)] if isinstance(question.answer_type, Select) else []
    )
    return "\n\n".join(
        (
            f"The tool `{call.name}` (call {call.id}) needs an answer before it can go on.",
            *context,
            question.text,
            *options,
            "Answer it from what this conversation tells you.",
        )
    )


def _format_options(kind: Select) -> str:
    return "\n".join(
        f"- {option.label}" + (f": {option.description}" if option.description else "")
        for option in kind.options
    )


def _count_utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))  # a reply may hold a single surrogate


def _select_single_reply(replies: Sequence[Any]) -> Any:
    if not replies:
        raise InquiryFailed("the reply holds no structured data")
    return replies[0]


def _read_answer(reply: Any, question: Question) -> Any:
    if not isinstance(reply, Mapping) or "answer" not in reply:
        raise InquiryFailed("the reply holds no answer")
    if not question.answer_type.is_valid(reply["answer"]):
        raise InquiryFailed("its answer does not fit the question's type or options")
    return reply["answer"]
