"""What of a stream goes into a request, in a form that every provider takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest, ToolCallResponse
from jpweb.stream.repair import INTERRUPTED
from jpweb.stream.turns import Turn, pair, split


def well_formed(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Return the elements with each tool call answered exactly once; the journal stays as it is.

    A request without a response gets one right after it, as JP does; a response without a
    request is left out.
    """
    return tuple(element for turn in split(elements) for element in _turn(elements, turn))


def _turn(elements: Sequence[Element], turn: Turn) -> Iterator[Element]:
    pairs = pair(elements, turn)
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
            yield wire.write(ConversationEvent(body.timestamp, answer))
