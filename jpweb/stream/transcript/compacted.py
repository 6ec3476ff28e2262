"""Items as compaction leaves them, one at a time; all together they are ``project_turns``."""

from __future__ import annotations

from dataclasses import replace

from jpweb.stream.compaction import UNKNOWN_TOOL_NAME, TurnPolicy, apply_policy
from jpweb.stream.events import ConfigDelta, ConversationEvent, Element, ToolCallRequest
from jpweb.stream.transcript.items import (
    Item,
    OrphanInquiry,
    PlacedElement,
    StandaloneItem,
    ToolCall,
)


def compact_item(item: Item, policy: TurnPolicy) -> Item | None:
    """Return the item after a policy of its turn: unchanged, reduced, or None.

    The inquiries of an omitted call are omitted with it.
    """
    match item:
        case ToolCall():
            return _compact_call(item, policy)
        case OrphanInquiry():
            return item if policy.summary is None else None
        case StandaloneItem(placed=placed_element):
            remaining_element = _compact_element(placed_element, UNKNOWN_TOOL_NAME, policy)
            return None if remaining_element is None else replace(item, placed=remaining_element)


def _compact_call(call: ToolCall, policy: TurnPolicy) -> ToolCall | None:
    request = _compact_element(call.request, call.call.name, policy)
    response = call.response and _compact_element(call.response, call.call.name, policy)
    if request is None or not isinstance(request_kind := request.element.kind, ToolCallRequest):
        return None
    if request is call.request and response is call.response:
        return call
    return ToolCall(request, request_kind, response, call.inquiries)


def _compact_element(
    placed_element: PlacedElement, name: str, policy: TurnPolicy
) -> PlacedElement | None:
    """Return the element after a policy; a summary leaves configuration and non-events."""
    body = placed_element.element.body
    if not isinstance(body, ConversationEvent):
        return placed_element
    if policy.summary is not None:
        return placed_element if isinstance(body.kind, ConfigDelta) else None
    kind = apply_policy(body.kind, name, policy)
    if kind is None:
        return None
    if kind is body.kind:
        return placed_element
    return replace(
        placed_element,
        element=Element(placed_element.element.raw, replace(body, kind=kind), is_shortened=True),
    )
