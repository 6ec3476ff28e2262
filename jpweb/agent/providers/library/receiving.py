"""From the library's stream of parts to what a turn deals in."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
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

from jpweb.agent.ports import Calling, CallTool, Data, Delta, Noted, ProviderEvent
from jpweb.agent.providers.library.characters import parted, whole, whole_value
from jpweb.agent.providers.library.vendor import Vendor

#: The tool that a model without structured replies is made to call instead.
OUTPUT = "reply"


_Variant: TypeAlias = Literal["message", "reasoning"]


class TooLong(Exception):
    """The reply is longer than the request allows; the message says than what."""


@dataclass(slots=True)
class _Text:
    """The text that is coming: the parts it is made of."""

    variant: _Variant
    indexes: list[int]
    id: str | None


@dataclass(slots=True)
class Reception:
    """One reply as far as it has come. ``structured``: its text is data, kept until it is whole.

    ``most_bytes`` is how much may come, whatever becomes of it; 0 sets no limit. All text that
    leaves here is whole: no half of a character.
    """

    vendor: Vendor
    structured: bool = False
    most_bytes: int = 0
    _size: int = 0
    _halves: dict[_Variant, str] = field(default_factory=dict)
    _parts: dict[int, ModelResponsePart] = field(default_factory=dict)
    _text: _Text | None = None
    _calls: list[int] = field(default_factory=list)

    def take(self, event: ModelResponseStreamEvent) -> Iterator[ProviderEvent]:
        """Yield what an event of the stream brings. Raises TooLong."""
        self._weigh(event)
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._begun(index, part)
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text) as delta):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._said("message", text)
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=more) as delta):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._said("reasoning", more or "")
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                self._parts[index] = delta.apply(self._parts[index])
                yield from self._calling(index)
            case _:
                pass

    def close(self) -> Iterator[ProviderEvent]:
        """Yield what ends the text so far: what the vendor wants back with it."""
        for variant, half in self._halves.items():
            if half:
                yield Delta(variant, whole(half))
        self._halves.clear()
        text, self._text = self._text, None
        if text is None:
            return
        noted: dict[str, Any] = {}
        for index in text.indexes:
            noted |= whole_value(self.vendor.noted(self._parts[index]))
        if noted:
            yield Noted(text.variant, noted)

    def calls(self, *, cut: bool) -> Iterator[ProviderEvent]:
        """Yield the calls that were held back and are whole.

        Where the reply was cut, its last part is whole only if it says so itself: no arguments
        may then be arguments that never came.
        """
        last = max(self._parts, default=-1)
        for index in self._take_calls():
            part = self._parts[index]
            if isinstance(part, ToolCallPart) and not (cut and index == last and not part.args):
                yield from self._whole(part)

    @property
    def broken(self) -> bool:
        """Tell whether a call came whose arguments are no JSON object."""
        calls = (part for part in self._parts.values() if isinstance(part, ToolCallPart))
        return any(arguments(part) is None for part in calls)

    def data(self) -> Data | None:
        """Return the structured reply; None where there is none that can be read."""
        for part in self._parts.values():
            if isinstance(part, ToolCallPart) and part.tool_name == OUTPUT:
                value = arguments(part)
                return None if value is None else Data(value)
        texts = [part.content for part in self._parts.values() if isinstance(part, TextPart)]
        try:
            return Data(whole_value(json.loads("".join(texts))))
        except (ValueError, RecursionError):
            return None

    def _begun(self, index: int, part: ModelResponsePart) -> Iterator[ProviderEvent]:
        self._parts[index] = part
        match part:
            case TextPart(content=content, id=id_):
                yield from self._continued("message", index, id_)
                yield from self._said("message", content)
            case ThinkingPart(content=content, id=id_):
                again = yield from self._continued("reasoning", index, id_)
                yield from self._said("reasoning", f"\n\n{content}" if again else content)
            case ToolCallPart():
                yield from self.close()
                yield from self._early()
                self._calls.append(index)
                yield from self._calling(index)
            case _:
                pass

    def _continued(
        self, variant: _Variant, index: int, id_: str | None
    ) -> Generator[ProviderEvent, None, bool]:
        """Begin another text, or go on with the present one; returns which."""
        text = self._text
        if text and self.vendor.ITEMS and id_ and (text.variant, text.id) == (variant, id_):
            text.indexes.append(index)
            return True
        yield from self.close()
        yield from self._early()
        if not (self.structured and variant == "message"):
            self._text = _Text(variant, [index], id_)
        return False

    def _said(self, variant: _Variant, text: str) -> Iterator[Delta]:
        """Yield a piece of text; half of a character waits for its other half."""
        if self.structured and variant == "message":
            return
        text, self._halves[variant] = parted(self._halves.get(variant, "") + text)
        if text:
            yield Delta(variant, whole(text))

    def _weigh(self, event: ModelResponseStreamEvent) -> None:
        """Add what an event brings to the size of the reply."""
        match event:
            case PartStartEvent(part=TextPart(content=said) | ThinkingPart(content=said)):
                pass
            case PartStartEvent(part=ToolCallPart(args=said)):
                pass
            case PartDeltaEvent(delta=TextPartDelta(content_delta=said)):
                pass
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=said)):
                pass
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=said)):
                pass
            case _:
                return
        text = said if isinstance(said, str) else json.dumps(said or "", ensure_ascii=False)
        self._size += len(text.encode("utf-8", "surrogatepass"))
        if 0 < self.most_bytes < self._size:
            raise TooLong(f"larger than {self.most_bytes} bytes")

    def _calling(self, index: int) -> Iterator[Calling]:
        part = self._parts[index]
        if isinstance(part, ToolCallPart) and part.tool_name != OUTPUT:
            shown = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
            yield Calling(whole(part.tool_name), whole(shown))

    def _early(self) -> Iterator[ProviderEvent]:
        """Yield the calls that are whole beyond doubt, now that another part has begun.

        Some servers begin all calls before they send any arguments, so no arguments is no proof.
        """
        while self._calls:
            part = self._parts[self._calls[0]]
            if not isinstance(part, ToolCallPart) or not part.args or arguments(part) is None:
                return
            del self._calls[0]
            yield from self._whole(part)

    def _take_calls(self) -> list[int]:
        calls, self._calls = self._calls, []
        return calls

    def _whole(self, part: ToolCallPart) -> Iterator[CallTool]:
        given = arguments(part)
        if given is not None and part.tool_name != OUTPUT:
            noted = whole_value(self.vendor.noted(part))
            yield CallTool(whole(part.tool_call_id), whole(part.tool_name), given, noted)


def arguments(part: ToolCallPart) -> dict[str, Any] | None:
    """Return a call's arguments; None where they are no JSON object."""
    if not isinstance(part.args, str):
        return dict(whole_value(part.args or {}))
    try:
        given = whole_value(json.loads(part.args or "{}"))
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None
