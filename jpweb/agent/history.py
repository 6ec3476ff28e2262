"""The message history of a stream, in a form that every provider accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest, ToolCallResponse
from jpweb.stream.sanitize import INTERRUPTED
from jpweb.stream.turns import TurnSpan, pair_elements, split_turns


def normalize_history(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Return the elements with each tool call answered exactly once; the journal stays unchanged.

    A request without a response gets one right after it, as JP does; a response without a
    request is left out.
    """
    return tuple(
        element for turn in split_turns(elements) for element in _normalize_turn(elements, turn)
    )


def _normalize_turn(elements: Sequence[Element], turn: TurnSpan) -> Iterator[Element]:
    pairs = pair_elements(elements, turn)
    for position in range(turn.start, turn.end):
        element = elements[position]
        body = element.body
        if position in pairs.orphans:
            continue
        yield element
        if (
            isinstance(body, ConversationEvent)
            and isinstance(body.kind, ToolCallRequest)
            and position not in pairs.responses
        ):
            answer = ToolCallResponse(body.kind.id, INTERRUPTED, is_error=True)
            yield wire.write_element(ConversationEvent(body.timestamp, answer))
