"""One event alone, and what it holds: as a page, in parts for a page that asks, as files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_vary_headers

from jpweb.runtime.crossing import in_store
from jpweb.runtime.prose import edition, payloads
from jpweb.store import journal, plain
from jpweb.store.browsing import item
from jpweb.store.errors import UnknownEvent
from jpweb.store.terms import Role
from jpweb.stream import identity
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.layout.items import Inquiry, Placed, StrayInquiry, ToolCall
from jpweb.stream.outline import outline
from jpweb.web import access, numbers
from jpweb.web.security.downloads import cut_into_pieces, send_file

if TYPE_CHECKING:
    from jpweb.runtime.prose.payloads import Payload
    from jpweb.store.models import Conversation
    from jpweb.stream.turns import Place
    from jpweb.web.http import Request

#: The highest number of a part that is looked for.
_MOST_PARTS = 10**6


class _Found(NamedTuple):
    position: int
    element: Element
    payloads: dict[str, Payload]


@access.conversation(Role.READER)
def event(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Show one event alone, whole, with its JSON as it came."""
    found = _find(conversation, anchor)
    chosen, number = request.GET.get("show", ""), _number(request)
    parts = []
    for name, payload in found.payloads.items():
        part = number if name == chosen else 1
        shown = payload.part(part)
        if shown is None:
            raise Http404
        parts.append({"payload": payload, "shown": shown, "part": part, "next": part + 1})
    context = {
        "conversation": conversation,
        "element": found.element,
        "position": found.position,
        "id": anchor,
        "parts": parts,
    }
    return render(request, "conversations/event.html", context)


@access.conversation(Role.READER)
def part(request: Request, conversation: Conversation, anchor: str, payload: str) -> HttpResponse:
    """Return a part of what an event holds, for a page to take in; others see the event alone."""
    response: HttpResponse | None
    if not request.htmx:
        response = redirect("event", conversation.pk, anchor)
        patch_vary_headers(response, ["HX-Request"])
        return response
    found = _find(conversation, anchor)
    chosen, number = _payload(found, payload), _number(request)
    name = edition.tag(found.element.raw, str(conversation.pk), anchor, payload, str(number))
    response = get_conditional_response(request, etag=name)
    if response is None:
        response = HttpResponse(_part(conversation, anchor, chosen, number))
    response["ETag"] = name
    patch_vary_headers(response, ["HX-Request"])
    return response


@access.conversation(Role.READER)
async def text(
    request: Request, conversation: Conversation, anchor: str, payload: str
) -> HttpResponseBase:
    """Download what an event holds, as it is on record."""
    data = await in_store(_read_text, conversation, anchor, payload)
    return await _send(request, conversation, data, "text/plain", f"{anchor}-{payload}.txt")


@access.conversation(Role.READER)
async def whole(request: Request, conversation: Conversation, anchor: str) -> HttpResponseBase:
    """Download what an event is shown in as JSON: a tool call with its inquiries and result."""
    data = await in_store(_read_whole, conversation, anchor)
    return await _send(request, conversation, data, "application/json", f"{anchor}.json")


def _read_text(conversation: Conversation, anchor: str, payload: str) -> bytes:
    found = _find(conversation, anchor)
    whole = found.element.raw if payload == "raw" else _payload(found, payload).text
    return whole.encode("utf-8", "replace")


def _read_whole(conversation: Conversation, anchor: str) -> bytes:
    try:
        found = item.whole(conversation.pk, anchor)
    except UnknownEvent as missing:
        raise Http404(str(missing)) from missing
    _, among = identity.whole(anchor)
    together = _together(found.elements, (found.named, among))
    return msgspec.json.format(msgspec.json.encode(together), indent=2)


def _find(conversation: Conversation, anchor: str) -> _Found:
    try:
        position, element = journal.element(conversation.pk, anchor)
    except UnknownEvent as missing:
        raise Http404(str(missing)) from missing
    _, among = identity.whole(anchor)
    return _Found(position, element, payloads.payloads(element, among))


def _payload(found: _Found, name: str) -> Payload:
    if name not in found.payloads:
        raise Http404
    return found.payloads[name]


def _part(conversation: Conversation, anchor: str, payload: Payload, number: int) -> str:
    shown = payload.part(number)
    if shown is None:
        raise Http404
    context = {
        "conversation": conversation,
        "id": anchor,
        "payload": payload,
        "shown": shown,
        "part": number,
        "next": number + 1,
    }
    return render_to_string("events/_part.html", context)


def _number(request: Request) -> int:
    number = numbers.read(request.GET.get("part", "1"), _MOST_PARTS)
    if number is None:
        raise Http404
    return number


async def _send(
    request: Request, conversation: Conversation, data: bytes, content_type: str, name: str
) -> HttpResponseBase:
    may_read = partial(access.may, request.user.pk, conversation.workspace_id, Role.READER)
    pieces = cut_into_pieces(data)
    return await send_file(request, pieces, name, f"{content_type}; charset=utf-8", may_read)


def _together(elements: list[Element], place: Place) -> dict[str, Any]:
    """Return what stands in the item of a place by what it is in it.

    An element of an older layout may be part of several items.
    """
    (turn, *_) = outline(elements).turns
    named = (item for item in turn.items for each in item.elements if each.place == place)
    match next(named, turn.items[0]):
        case ToolCall() as call:
            made = {"request": _fields(call.request)}
            made["inquiries"] = [_inquiry(each) for each in call.inquiries]
            return made | {"result": _fields(call.response) if call.response else None}
        case StrayInquiry(inquiry=inquiry):
            return {"inquiries": [_inquiry(inquiry)]}
        case entry:
            return {"event": _fields(entry.placed)}


def _inquiry(inquiry: Inquiry) -> dict[str, Any]:
    answer = inquiry.response
    return {"request": _fields(inquiry.request), "response": _fields(answer) if answer else None}


def _fields(placed: Placed) -> Any:
    """Return an event's fields with nothing encoded; what is no event as it came."""
    body = placed.element.body
    if not isinstance(body, ConversationEvent):
        return _kept(placed.element.raw)
    about = {"type": body.kind.TAG, "timestamp": body.timestamp}
    return plain.deep(about | body.kind.to_fields())


def _kept(text: str) -> Any:
    """Return an element as it came; as a string where it breaks a rule of JSON, as JP reads it.

    Half a surrogate pair, NaN, a nesting that nobody reads: the text is kept, and no file fails.
    """
    try:
        msgspec.json.format(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(text.encode())
