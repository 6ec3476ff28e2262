"""Parses the library's stream of parts into the events of a turn."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic_ai.messages import (
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ProviderEvent,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.event_values import make_event_value, parse_event_value
from jpweb.agent.providers.adapter.surrogates import (
    join_surrogates,
    join_value_surrogates,
    split_trailing_half,
)

_OUTPUT_TOOL_NAME = "reply"
_Variant: TypeAlias = Literal["message", "reasoning"]


def choose_output_name(tool_names: Collection[str]) -> str:
    """Return the name of the tool that a model without structured output has to call instead.

    No offered tool has that name: the call of a tool would be taken for the data.
    """
    name, number = _OUTPUT_TOOL_NAME, 1
    while name in tool_names:
        number += 1
        name = f"{_OUTPUT_TOOL_NAME}_{number}"
    return name


class ReplyTooLong(Exception):
    """The reply is longer than the request allows; the message names the limit."""


@dataclass(slots=True)
class _OpenText:
    """The text that is streaming: the parts it is made of."""

    variant: _Variant
    indexes: list[int]
    id: str | None


@dataclass(slots=True)
class ReplyParser:
    """One reply while it streams. ``is_structured``: its text is data, kept until it is complete.

    In a structured reply, the arguments of a call of ``output_name`` are data too. ``max_bytes``
    limits all received text; 0 sets no limit. All text that leaves here is complete: no half of a
    character.
    """

    adapter: ProviderAdapter
    is_structured: bool = False
    max_bytes: int = 0
    output_name: str = _OUTPUT_TOOL_NAME
    _size: int = 0
    _halves: dict[_Variant, str] = field(default_factory=dict)
    _parts: dict[int, ModelResponsePart] = field(default_factory=dict)
    _text: _OpenText | None = None
    _calls: list[int] = field(default_factory=list)

    def take_event(self, event: ModelResponseStreamEvent) -> Iterator[ProviderEvent]:
        """Yield the events of a stream event. Raises ReplyTooLong."""
        self._add_size(event)
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._begin_part(index, part)
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text) as delta):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._emit_text("message", text)
            case PartDeltaEvent(
                index=index, delta=ThinkingPartDelta(content_delta=thinking) as delta
            ):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._emit_text("reasoning", thinking or "")
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._emit_partial_call(index)
            case _:
                pass

    def close(self) -> Iterator[ProviderEvent]:
        """Yield the end of the text so far: the metadata that the vendor wants back with it."""
        for variant, surrogate in self._halves.items():
            if surrogate:
                yield TextDelta(variant, join_surrogates(surrogate))
        self._halves.clear()
        text, self._text = self._text, None
        if text is None:
            return
        metadata: dict[str, Any] = {}
        for index in text.indexes:
            metadata |= join_value_surrogates(self.adapter.read_metadata(self._parts[index]))
        if metadata:
            yield ReplyMetadata(text.variant, metadata)

    def release_calls(self, *, is_cut: bool) -> Iterator[ProviderEvent]:
        """Yield the complete calls that were held back.

        Where the reply was cut, its last part is complete only with arguments: absent arguments may
        have been cut off.
        """
        last_index = max(self._parts, default=-1)
        for index in self._take_calls():
            part = self._parts[index]
            if isinstance(part, ToolCallPart) and not (
                is_cut and index == last_index and not part.args
            ):
                yield from self._emit_call(part)

    def find_broken_call(self) -> str | None:
        """Return the tool of a call whose arguments are not an object that an event can hold."""
        calls = (part for part in self._parts.values() if isinstance(part, ToolCallPart))
        names = (part.tool_name for part in calls if read_arguments(part) is None)
        return next(map(join_surrogates, names), None)

    def read_data(self) -> StructuredReply | None:
        """Return the structured reply; None where there is none that can be read."""
        for part in self._parts.values():
            if isinstance(part, ToolCallPart) and self._is_data(part):
                value = read_arguments(part)
                return None if value is None else StructuredReply(value)
        texts = [part.content for part in self._parts.values() if isinstance(part, TextPart)]
        try:
            return StructuredReply(parse_event_value("".join(texts)))
        except ValueError:
            return None

    def _begin_part(self, index: int, part: ModelResponsePart) -> Iterator[ProviderEvent]:
        self._parts[index] = part
        match part:
            case TextPart(content=content, id=id_):
                yield from self._continue_text("message", index, id_)
                yield from self._emit_text("message", content)
            case ThinkingPart(content=content, id=id_):
                is_continued = yield from self._continue_text("reasoning", index, id_)
                yield from self._emit_text(
                    "reasoning", f"\n\n{content}" if is_continued else content
                )
            case ToolCallPart():
                yield from self.close()
                yield from self._release_early_calls()
                self._calls.append(index)
                yield from self._emit_partial_call(index)
            case _:
                pass

    def _continue_text(
        self, variant: _Variant, index: int, id_: str | None
    ) -> Generator[ProviderEvent, None, bool]:
        """Begin another text, or continue the present one; return whether it continues."""
        text = self._text
        if text and self.adapter.HAS_ITEM_IDS and id_ and (text.variant, text.id) == (variant, id_):
            text.indexes.append(index)
            return True
        yield from self.close()
        yield from self._release_early_calls()
        if not (self.is_structured and variant == "message"):
            self._text = _OpenText(variant, [index], id_)
        return False

    def _emit_text(self, variant: _Variant, text: str) -> Iterator[TextDelta]:
        """Yield a piece of text; half of a character waits for its other half."""
        if self.is_structured and variant == "message":
            return
        text, self._halves[variant] = split_trailing_half(self._halves.get(variant, "") + text)
        if text:
            yield TextDelta(variant, join_surrogates(text))

    def _add_size(self, event: ModelResponseStreamEvent) -> None:
        """Add the size of an event to that of the reply."""
        match event:
            case PartStartEvent(part=TextPart(content=piece) | ThinkingPart(content=piece)):
                pass
            case PartStartEvent(part=ToolCallPart(args=piece)):
                pass
            case PartDeltaEvent(delta=TextPartDelta(content_delta=piece)):
                pass
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=piece)):
                pass
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=piece)):
                pass
            case _:
                return
        text = piece if isinstance(piece, str) else json.dumps(piece or "", ensure_ascii=False)
        self._size += len(text.encode("utf-8", "surrogatepass"))
        if 0 < self.max_bytes < self._size:
            raise ReplyTooLong(f"larger than {self.max_bytes} bytes")

    def _emit_partial_call(self, index: int) -> Iterator[PartialToolCall]:
        part = self._parts[index]
        if isinstance(part, ToolCallPart) and not self._is_data(part):
            arguments_text = (
                part.args if isinstance(part.args, str) else json.dumps(part.args or {})
            )
            yield PartialToolCall(join_surrogates(part.tool_name), join_surrogates(arguments_text))

    def _release_early_calls(self) -> Iterator[ProviderEvent]:
        """Yield the calls that are certainly complete, now that another part has begun.

        Some servers begin all calls before they send any arguments, so absent arguments prove
        nothing.
        """
        while self._calls:
            part = self._parts[self._calls[0]]
            if not isinstance(part, ToolCallPart) or not part.args or read_arguments(part) is None:
                return
            del self._calls[0]
            yield from self._emit_call(part)

    def _is_data(self, part: ToolCallPart) -> bool:
        return self.is_structured and part.tool_name == self.output_name

    def _take_calls(self) -> list[int]:
        calls, self._calls = self._calls, []
        return calls

    def _emit_call(self, part: ToolCallPart) -> Iterator[CompleteToolCall]:
        call_arguments = read_arguments(part)
        if call_arguments is not None and not self._is_data(part):
            metadata = join_value_surrogates(self.adapter.read_metadata(part))
            yield CompleteToolCall(
                # PostgreSQL holds no NUL: a row's id would differ from that on record.
                join_surrogates(part.tool_call_id).replace("\0", "\N{REPLACEMENT CHARACTER}"),
                join_surrogates(part.tool_name),
                call_arguments,
                metadata,
            )


def read_arguments(part: ToolCallPart) -> dict[str, Any] | None:
    """Return a call's arguments; None where they are not a JSON object that an event can hold."""
    arguments = part.args or {}
    try:
        value = (
            parse_event_value(arguments)
            if isinstance(arguments, str)
            else make_event_value(arguments)
        )
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
