"""The view of a stream that the model gets: old turns shortened (jp-storage-format, section 18).

The stream itself stays as it is; this is computed anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, NamedTuple

from jpweb.stream import timestamps, wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Element,
    EventKind,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.turns import Place, Turn, match, placed, split

SUMMARY_REQUEST = "[Summary of previous conversation]"
#: The tool's name where a result belongs to no call.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProjectedTurn:
    """A turn as the model gets it, made of the raw turns ``first`` to ``last``, inclusive.

    Of a shortened event the body alone is new; ``raw`` is the text of the event as it happened.
    """

    first: int
    last: int
    elements: tuple[Element, ...]


class Overlay(NamedTuple):
    """A compaction, with its time as it is written and its position in the stream."""

    timestamp: str
    position: int
    kind: Compaction


@dataclass(frozen=True, slots=True)
class Policy:
    """What applies to one turn: of each kind, what the newest overlay says that says anything."""

    summary: str | None = None
    #: What makes overlays the same: their text, range and time.
    overlay: tuple[str, int, int, str] | None = None
    strip_reasoning: bool = False
    omit_calls: bool = False
    strip_arguments: bool = False
    strip_results: bool = False


class Overlays:
    """What the compactions of a stream say of its turns."""

    def __init__(self, found: Iterable[Overlay]) -> None:
        keyed = [(timestamps.instant(each.timestamp), each.position, each.kind) for each in found]
        keyed.sort(key=lambda overlay: overlay[:2], reverse=True)
        #: With their times, the one that wins first: of equals, the later.
        self._newest_first = [(moment, kind, _opinions(moment, kind)) for moment, _, kind in keyed]

    def __bool__(self) -> bool:
        return bool(self._newest_first)

    def policy(self, turn: int) -> Policy:
        """Return what applies to a turn, by its index."""
        policy: dict[str, Any] = {}
        said: set[str] = set()
        for _, overlay, opinions in self._newest_first:
            if overlay.from_turn <= turn <= overlay.to_turn:
                for key in opinions.keys() - said:
                    said.add(key)
                    policy |= opinions[key]
        return Policy(**policy)

    def run(self, turn: int) -> tuple[int, int]:
        """Return the first and the last of the turns that are summarised together with one.

        The last may be beyond the end of the stream.
        """
        own = self.policy(turn).overlay
        if own is None:
            return turn, turn
        _, first, last, _ = own
        summaries = [
            opinions["summary"]["overlay"]
            for _, overlay, opinions in self._newest_first
            if "summary" in opinions and overlay.from_turn <= overlay.to_turn
        ]
        for taken in summaries[: summaries.index(own)]:
            # It is newer and wins where it reaches, so it does not reach the turn.
            if taken[2] < turn:
                first = max(first, taken[2] + 1)
            else:
                last = min(last, taken[1] - 1)
        return first, last


def project(elements: Sequence[Element]) -> tuple[ProjectedTurn, ...]:
    """Return the turns as the model gets them. Without a compaction they are what they were."""
    turns = split(elements)
    overlays = Overlays(_overlays(elements))
    if not overlays:
        return tuple(
            ProjectedTurn(t.index, t.index, tuple(elements[t.start : t.end])) for t in turns
        )
    policies = [overlays.policy(turn.index) for turn in turns]
    projected: list[ProjectedTurn] = []
    at = 0
    while at < len(turns):
        end = at + 1
        if policies[at].overlay is not None:
            while end < len(turns) and policies[end].overlay == policies[at].overlay:
                end += 1
            shown = _summarised(elements[turns[at].start : turns[end - 1].end], policies[at])
        else:
            shown = _shortened(elements, turns[at], policies[at])
        projected.append(ProjectedTurn(turns[at].index, turns[end - 1].index, tuple(shown)))
        at = end
    return tuple(projected)


def _overlays(elements: Sequence[Element]) -> Iterator[Overlay]:
    for position, element in enumerate(elements):
        for event in element.events:
            if isinstance(event.kind, Compaction):
                yield Overlay(event.timestamp, position, event.kind)


def _opinions(moment: str, overlay: Compaction) -> dict[str, dict[str, Any]]:
    """Return what an overlay says of each kind; what has another shape says nothing."""
    opinions: dict[str, dict[str, Any]] = {}
    match overlay.policies.get("summary"):
        case {"summary": str(text)}:
            same = (text, overlay.from_turn, overlay.to_turn, moment)
            opinions["summary"] = {"summary": text, "overlay": same}
        case _:
            pass
    if overlay.policies.get("reasoning") == "strip":
        opinions["reasoning"] = {"strip_reasoning": True}
    match overlay.policies.get("tool_calls"):
        case {"policy": "omit"}:
            opinions["tool_calls"] = {"omit_calls": True}
        case {"policy": "strip", **which}:
            opinions["tool_calls"] = {
                "strip_arguments": which.get("request") is True,
                "strip_results": which.get("response") is True,
            }
        case _:
            pass
    return opinions


def _summarised(elements: Sequence[Element], policy: Policy) -> Iterator[Element]:
    """Put the summary where the first event stood; overlays and unknown elements stay."""
    written = False
    for element in elements:
        happened = [event for event in element.events if not event.kind.OVERLAY]
        if happened and not written:
            written = True
            yield from _summary(happened[0].timestamp, policy.summary or "")
        left = [event for event in element.events if isinstance(event.kind, ConfigDelta)]
        if left or not element.events:
            yield _with(element, left)


def _summary(stamp: str, text: str) -> Iterator[Element]:
    kinds = (TurnStart(), ChatRequest(SUMMARY_REQUEST), ChatResponse("message", text))
    for kind in kinds:
        yield wire.write(ConversationEvent(stamp, kind))


def _shortened(elements: Sequence[Element], turn: Turn, policy: Policy) -> Iterator[Element]:
    names = _names(elements, turn)
    for position in range(turn.start, turn.end):
        element = elements[position]
        left = [
            event if kind is event.kind else replace(event, kind=kind)
            for part, event in enumerate(element.events)
            if (kind := kept(event.kind, names.get((position, part), UNKNOWN), policy))
        ]
        if left or not element.events:
            yield _with(element, left)


def _with(element: Element, events: Sequence[ConversationEvent]) -> Element:
    """Return the element with these of its events; itself where they are all it has."""
    if all(map(is_, events, element.events)) and len(events) == len(element.events):
        return element
    legacy = isinstance(element.body, LegacyEvents)
    return Element(element.raw, LegacyEvents(element.tag, tuple(events)) if legacy else events[0])


def _names(elements: Sequence[Element], turn: Turn) -> dict[Place, str]:
    """Return, for the place of each result, the name of the tool whose call it answers."""
    events = dict(placed(elements, turn))
    return {
        end: call.name
        for start, end in match(events.items()).responses.items()
        if isinstance(call := events[start].kind, ToolCallRequest)
    }


def kept(kind: EventKind, name: str, policy: Policy) -> EventKind | None:
    """Return what a policy without a summary leaves of an event, None for nothing.

    ``name`` is the tool's, for results; ``unknown`` where no call is known.
    """
    match kind:
        case Compaction():
            return None
        case ChatResponse(variant="reasoning") if policy.strip_reasoning:
            return None
        case ToolCallRequest() | ToolCallResponse() if policy.omit_calls:
            return None
        case ToolCallRequest() if policy.strip_arguments:
            return replace(kind, arguments={})
        case ToolCallResponse(is_error=is_error) if policy.strip_results:
            ended = "error" if is_error else "success"
            return replace(kind, content=f"[compacted] {name}: {ended}")
        case _:
            return kind
