"""The inquiry backend: a secondary assistant answers a tool's question (RFD 028, 034).

It works on a copy of the stream. Nothing of it is recorded but the answer, and that by who asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jpweb.agent.config import InquiryConfig, ModelConfig, QuestionConfig, ToolConfig
from jpweb.agent.errors import PASSING, FailureKind, InquiryFailed, ProviderFailed
from jpweb.agent.outcome import Question
from jpweb.agent.ports import CallTool, Data, Delta, Finished, OpenModel, ProviderRequest
from jpweb.agent.scribe import now
from jpweb.agent.view import well_formed
from jpweb.stream import timestamps, wire
from jpweb.stream.answers import AnswerType, Select
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.thread import SystemPart, Thread

#: How often a request is repeated after a failure that may pass.
RETRIES = 3
#: Bytes that a reply may have where nothing is configured.
MOST_BYTES = 1024 * 1024
_LONGEST_PAUSE = 30.0
#: How often the copy is halved for a model that it is too long for.
_HALVINGS = 2


class NoBackend:
    """Where no secondary assistant is set up."""

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
    """Asks a model, each question in a request of its own; several may be under way at once.

    ``inquiry`` holds the overrides for all questions (``conversation.inquiry.assistant``).
    """

    open_model: OpenModel
    model: ModelConfig
    system: tuple[str | SystemPart, ...] = ()
    tools: tuple[ToolConfig, ...] = ()
    inquiry: InquiryConfig = field(default_factory=InquiryConfig)
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def inquire(
        self,
        elements: Sequence[Element],
        call: ToolCallRequest,
        question: Question,
        config: QuestionConfig,
    ) -> Any:
        """Return a typed answer that fits the question. Raises InquiryFailed."""
        settings = config.inquiry.laid_over(self.inquiry)
        system = self.system if settings.system_prompt is None else (settings.system_prompt,)
        schema = inquiry_schema(question.answer_type)
        copy = _asking(elements, call, question, schema)
        limit = MOST_BYTES if settings.max_response_bytes is None else settings.max_response_bytes
        request = ProviderRequest(
            Thread(system, copy).into_parts(),
            self.tools,
            tool_choice="none",
            schema=schema,
            most_bytes=limit,
        )
        try:
            reply = await self._fitting(settings.model or self.model, request)
        except ProviderFailed as failure:
            raise InquiryFailed(str(failure)) from failure
        return _answer(reply, question)

    async def _fitting(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Send the request; where it is too long for the model, again without its older half."""
        for _ in range(_HALVINGS):
            try:
                return await self._patiently(model, request)
            except ProviderFailed as failure:
                later = _later_half(request.parts.events)
                if failure.kind is not FailureKind.CONTEXT_LENGTH or not later:
                    raise
            request = replace(request, parts=replace(request.parts, events=later))
        return await self._patiently(model, request)

    async def _patiently(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Send the request, again after failures that may pass."""
        for tried in range(RETRIES + 1):
            try:
                return await self._once(model, request)
            except ProviderFailed as failure:
                if failure.kind not in PASSING or tried == RETRIES:
                    raise
                advised = failure.retry_after
            await self.pause(min(2.0**tried if advised is None else advised, _LONGEST_PAUSE))
        raise AssertionError  # pragma: no cover  the last try returns or raises

    async def _once(self, model: ModelConfig, request: ProviderRequest) -> Any:
        """Return the structured reply. Raises ProviderFailed, InquiryFailed."""
        stream = self.open_model(model).stream(request)
        size = 0
        found: list[Any] = []
        try:
            async for event in stream:
                match event:
                    case Delta(_, text):
                        size += _size(text)
                    case Data(value):
                        size += _size(json.dumps(value, ensure_ascii=False))
                        found.append(value)
                    case CallTool(_, name):
                        raise InquiryFailed(f"the assistant called {name} instead of answering")
                    case Finished():
                        return _only(found)
                    case _:
                        pass
                if 0 < request.most_bytes < size:
                    raise InquiryFailed(f"the reply is larger than {request.most_bytes} bytes")
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        raise ProviderFailed("The reply broke off before its end.")


def inquiry_schema(kind: AnswerType) -> dict[str, Any]:
    """Return the JSON schema of a reply: an object whose ``answer`` is of the question's type."""
    return {
        "type": "object",
        "properties": {"answer": kind.schema()},
        "required": ["answer"],
        "additionalProperties": False,
    }


def _asking(
    elements: Sequence[Element],
    call: ToolCallRequest,
    question: Question,
    schema: Mapping[str, Any],
) -> tuple[Element, ...]:
    """Return a copy of the stream in which the call is paused and the question is asked."""
    stamp = timestamps.written(now())
    paused = ToolCallResponse(call.id, f"Tool paused: {question.text}", is_error=False)
    asked = ChatRequest(_prompt(call, question), dict(schema))
    in_turn = well_formed((*elements, wire.write(ConversationEvent(stamp, paused))))
    added = (ConversationEvent(stamp, kind) for kind in (TurnStart(), asked))
    return (*in_turn, *(wire.write(event) for event in added))


def _later_half(events: Sequence[ConversationEvent]) -> tuple[ConversationEvent, ...]:
    """Return the events without the older half of what was asked, and of what followed from it.

    They are cut before a request, where no call is open: the call that asks and its question stay.
    Empty where nothing can be left out.
    """
    starts: list[int] = []
    calls: set[str] = set()
    for position, event in enumerate(events[:-1]):  # the last one asks
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


def _prompt(call: ToolCallRequest, question: Question) -> str:
    context = [question.context] if question.context else []
    options = [_options(question.answer_type)] if isinstance(question.answer_type, Select) else []
    return "\n\n".join(
        (
            f"The tool `{call.name}` (call {call.id}) needs an answer before it can go on.",
            *context,
            question.text,
            *options,
            "Answer it from what this conversation tells you.",
        )
    )


def _options(kind: Select) -> str:
    return "\n".join(
        f"- {option.label}" + (f": {option.description}" if option.description else "")
        for option in kind.options
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))  # a model may write half a pair


def _only(found: Sequence[Any]) -> Any:
    if not found:
        raise InquiryFailed("the reply holds no structured data")
    return found[0]


def _answer(reply: Any, question: Question) -> Any:
    if not isinstance(reply, Mapping) or "answer" not in reply:
        raise InquiryFailed("the reply holds no answer")
    if not question.answer_type.fits(reply["answer"]):
        raise InquiryFailed("its answer does not fit the question's type or options")
    return reply["answer"]
