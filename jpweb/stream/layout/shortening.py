"""Items as compaction leaves them, one at a time; all together they are ``compaction.project``."""

from __future__ import annotations

from dataclasses import replace

from jpweb.stream.compaction import UNKNOWN, Policy, kept
from jpweb.stream.events import ConfigDelta, ConversationEvent, Element, ToolCallRequest
from jpweb.stream.layout.items import Entry, Item, Placed, StrayInquiry, ToolCall


def shortened(item: Item, policy: Policy) -> Item | None:
    """Return what a policy leaves of an item of its turn: itself, less of it, or nothing.

    The inquiries of a call that is left out are left out with it.
    """
    match item:
        case ToolCall():
            return _call(item, policy)
        case StrayInquiry():
            return item if policy.summary is None else None
        case Entry(placed=here):
            left = _placed(here, UNKNOWN, policy)
            return None if left is None else replace(item, placed=left)


def _call(call: ToolCall, policy: Policy) -> ToolCall | None:
    request = _placed(call.request, call.call.name, policy)
    response = call.response and _placed(call.response, call.call.name, policy)
    if request is None or not isinstance(left := request.element.kind, ToolCallRequest):
        return None
    if request is call.request and response is call.response:
        return call
    return ToolCall(request, left, response, call.inquiries)


def _placed(here: Placed, name: str, policy: Policy) -> Placed | None:
    """Return what is left of an element; a summary leaves configuration and what is no event."""
    body = here.element.body
    if not isinstance(body, ConversationEvent):
        return here
    if policy.summary is not None:
        return here if isinstance(body.kind, ConfigDelta) else None
    kind = kept(body.kind, name, policy)
    if kind is None:
        return None
    if kind is body.kind:
        return here
    return replace(here, element=Element(here.element.raw, replace(body, kind=kind)))
