"""Projection of a stream for the model: old turns shortened (docs/jp-format.md, Compaction).

The stream itself stays unchanged; the projection is computed for each request.
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
from jpweb.stream.turns import Place, TurnSpan, iter_events, match_events, split_turns

SUMMARY_REQUEST = "[Summary of previous conversation]"
#: The tool's name where a result belongs to no call.
UNKNOWN_TOOL_NAME = "unknown"
#: The kinds of policies of an overlay; each is decided for itself.
_POLICY_KEYS = ("summary", "reasoning", "tool_calls")


@dataclass(frozen=True, slots=True)
class ProjectedTurn:
    """A turn as the model gets it, made of the raw turns ``first`` to ``last``, inclusive.

    A shortened event has a new body only; ``raw`` is the text of the original event.
    """

    first: int
    last: int
    elements: tuple[Element, ...]


class CompactionOverlay(NamedTuple):
    """A compaction with its timestamp as written and its position in the stream."""

    timestamp: str
    position: int
    kind: Compaction


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """The policy of one turn: per kind, that of the newest overlay that has one."""

    summary: str | None = None
    #: Identity of the summary's overlay: text, first turn, last turn, normalized timestamp.
    overlay: tuple[str, int, int, str] | None = None
    strip_reasoning: bool = False
    omit_calls: bool = False
    strip_arguments: bool = False
    strip_results: bool = False


class CompactionOverlays:
    """The compaction overlays of a stream, newest first."""

    def __init__(self, overlays: Iterable[CompactionOverlay]) -> None:
        keyed_overlays = [
            (timestamps.normalize_timestamp(item.timestamp), item.position, item.kind)
            for item in overlays
        ]
        keyed_overlays.sort(key=lambda overlay: overlay[:2], reverse=True)
        #: Timestamp, overlay and policies by precedence: of equal timestamps the later position.
        self._overlays_newest_first = [
            (moment, kind, _read_policies(moment, kind)) for moment, _, kind in keyed_overlays
        ]

    def __bool__(self) -> bool:
        return bool(self._overlays_newest_first)

    def get_policy(self, turn: int) -> TurnPolicy:
        """Return the policy of the turn with this index."""
        policy: dict[str, Any] = {}
        decided_keys: set[str] = set()
        for _, overlay, opinions in self._overlays_newest_first:
            if overlay.from_turn <= turn <= overlay.to_turn:
                for key in opinions.keys() - decided_keys:
                    decided_keys.add(key)
                    policy |= opinions[key]
        return TurnPolicy(**policy)

    def list_policies(self, turn_count: int) -> list[TurnPolicy]:
        """Return the policy of each turn, as ``get_policy`` does.

        Each overlay visits only the turns that no newer one has decided: looking at all overlays
        for each turn took 5.5 s for 2,000 of both.
        """
        policies: list[dict[str, Any]] = [{} for _ in range(turn_count)]
        for key in _POLICY_KEYS:
            undecided_turns = _UndecidedTurns(turn_count)
            for _, overlay, opinions in self._overlays_newest_first:
                if key in opinions:
                    for turn in undecided_turns.take_range(overlay.from_turn, overlay.to_turn):
                        policies[turn] |= opinions[key]
        return [TurnPolicy(**policy) for policy in policies]

    def find_summary_range(self, turn: int) -> tuple[int, int]:
        """Return the first and the last turn that are summarised together with this one.

        The last may be beyond the end of the stream.
        """
        turn_overlay = self.get_policy(turn).overlay
        if turn_overlay is None:
            return turn, turn
        _, first_turn, last_turn, _ = turn_overlay
        summaries = [
            opinions["summary"]["overlay"]
            for _, overlay, opinions in self._overlays_newest_first
            if "summary" in opinions and overlay.from_turn <= overlay.to_turn
        ]
        for newer_overlay in summaries[: summaries.index(turn_overlay)]:
            # A newer overlay takes precedence in its range, so ``turn`` is outside that range.
            if newer_overlay[2] < turn:
                first_turn = max(first_turn, newer_overlay[2] + 1)
            else:
                last_turn = min(last_turn, newer_overlay[1] - 1)
        return first_turn, last_turn


class _UndecidedTurns:
    """The turns without a decision: a disjoint-set forest, whose roots are those turns."""

    def __init__(self, turn_count: int) -> None:
        #: For each turn, an undecided one at or after it; ``turn_count`` means none.
        self._next_turns = list(range(turn_count + 1))

    def take_range(self, first_turn: int, last_turn: int) -> Iterator[int]:
        """Yield the undecided turns of a range, and count them as decided."""
        end = len(self._next_turns) - 1
        turn = self._find_next(min(max(first_turn, 0), end))
        while turn < end and turn <= last_turn:
            self._next_turns[turn] = turn + 1
            yield turn
            turn = self._find_next(turn)

    def _find_next(self, turn: int) -> int:
        while self._next_turns[turn] != turn:
            self._next_turns[turn] = self._next_turns[self._next_turns[turn]]
            turn = self._next_turns[turn]
        return turn


def project_turns(elements: Sequence[Element]) -> tuple[ProjectedTurn, ...]:
    """Return the turns as the model gets them. Without a compaction they are unchanged."""
    turns = split_turns(elements)
    overlays = CompactionOverlays(_iter_overlays(elements))
    if not overlays:
        return tuple(
            ProjectedTurn(t.index, t.index, tuple(elements[t.start : t.end])) for t in turns
        )
    policies = overlays.list_policies(len(turns))
    projected_turns: list[ProjectedTurn] = []
    index = 0
    while index < len(turns):
        end = index + 1
        if policies[index].overlay is not None:
            while end < len(turns) and policies[end].overlay == policies[index].overlay:
                end += 1
            projected_elements = _summarize_elements(
                elements[turns[index].start : turns[end - 1].end], policies[index]
            )
        else:
            projected_elements = _shorten_turn(elements, turns[index], policies[index])
        projected_turns.append(
            ProjectedTurn(turns[index].index, turns[end - 1].index, tuple(projected_elements))
        )
        index = end
    return tuple(projected_turns)


def _iter_overlays(elements: Sequence[Element]) -> Iterator[CompactionOverlay]:
    for position, element in enumerate(elements):
        for event in element.events:
            if isinstance(event.kind, Compaction):
                yield CompactionOverlay(event.timestamp, position, event.kind)


def _read_policies(moment: str, overlay: Compaction) -> dict[str, dict[str, Any]]:
    """Return the policies of an overlay by kind; values of another shape are ignored."""
    opinions: dict[str, dict[str, Any]] = {}
    match overlay.policies.get("summary"):
        case {"summary": str(text)}:
            overlay_key = (text, overlay.from_turn, overlay.to_turn, moment)
            opinions["summary"] = {"summary": text, "overlay": overlay_key}
        case _:
            pass
    if overlay.policies.get("reasoning") == "strip":
        opinions["reasoning"] = {"strip_reasoning": True}
    match overlay.policies.get("tool_calls"):
        case {"policy": "omit"}:
            opinions["tool_calls"] = {"omit_calls": True}
        case {"policy": "strip", **flags}:
            opinions["tool_calls"] = {
                "strip_arguments": flags.get("request") is True,
                "strip_results": flags.get("response") is True,
            }
        case _:
            pass
    return opinions


def _summarize_elements(elements: Sequence[Element], policy: TurnPolicy) -> Iterator[Element]:
    """Replace the first event by the summary; overlays and unknown elements stay."""
    is_written = False
    for element in elements:
        turn_events = [event for event in element.events if not event.kind.OVERLAY]
        if turn_events and not is_written:
            is_written = True
            yield from _make_summary(turn_events[0].timestamp, policy.summary or "")
        config_events = [event for event in element.events if isinstance(event.kind, ConfigDelta)]
        if config_events or not element.events:
            yield _replace_events(element, config_events)


def _make_summary(stamp: str, text: str) -> Iterator[Element]:
    kinds = (TurnStart(), ChatRequest(SUMMARY_REQUEST), ChatResponse("message", text))
    for kind in kinds:
        yield wire.write_element(ConversationEvent(stamp, kind))


def _shorten_turn(
    elements: Sequence[Element], turn: TurnSpan, policy: TurnPolicy
) -> Iterator[Element]:
    names = _find_tool_names(elements, turn)
    for position in range(turn.start, turn.end):
        element = elements[position]
        remaining_events = [
            event if kind is event.kind else replace(event, kind=kind)
            for part, event in enumerate(element.events)
            if (
                kind := apply_policy(
                    event.kind, names.get((position, part), UNKNOWN_TOOL_NAME), policy
                )
            )
        ]
        if remaining_events or not element.events:
            yield _replace_events(element, remaining_events)


def _replace_events(element: Element, events: Sequence[ConversationEvent]) -> Element:
    """Return the element with only these events; itself where they are all it has."""
    if all(map(is_, events, element.events)) and len(events) == len(element.events):
        return element
    has_legacy_body = isinstance(element.body, LegacyEvents)
    body = LegacyEvents(element.tag, tuple(events)) if has_legacy_body else events[0]
    return Element(element.raw, body, is_shortened=True)


def _find_tool_names(elements: Sequence[Element], turn: TurnSpan) -> dict[Place, str]:
    """Return, for the place of each result, the name of the tool whose call it answers."""
    events = dict(iter_events(elements, turn))
    return {
        end: call.name
        for start, end in match_events(events.items()).responses.items()
        if isinstance(call := events[start].kind, ToolCallRequest)
    }


def apply_policy(kind: EventKind, name: str, policy: TurnPolicy) -> EventKind | None:
    """Return the event kind that a policy without a summary leaves, None for nothing.

    ``name`` is the tool's, for results; ``unknown`` where the call is missing.
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
            status = "error" if is_error else "success"
            return replace(kind, content=f"[compacted] {name}: {status}")
        case _:
            return kind
