"""Pages of one event and its payloads: the event, parts of a payload for htmx, and downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_vary_headers

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.rendering import etag, payloads
from jpweb.store import db_text, journal
from jpweb.store.choices import Role
from jpweb.store.errors import UnknownAnchor
from jpweb.store.exports import ExportChunk
from jpweb.store.suspected_secrets import suggestions
from jpweb.store.transcript import single_item
from jpweb.stream import anchor_ids
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.outline import build_outline
from jpweb.stream.transcript.items import InquiryPair, OrphanInquiry, PlacedElement, ToolCall
from jpweb.web import access, converters
from jpweb.web.security.download_responses import cut_into_pieces, is_large, send_file

if TYPE_CHECKING:
    from jpweb.runtime.rendering.payloads import Payload
    from jpweb.store.models import Conversation
    from jpweb.stream.turns import Place
    from jpweb.web.http import Request

#: Largest part number that is accepted.
_MAX_PARTS = 10**6


class _EventPayloads(NamedTuple):
    position: int
    element: Element
    payloads: dict[str, Payload]


@access.conversation(Role.READER)
def show_event(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Show one event in full, with its JSON as stored."""
    event_payloads = _load_event(conversation, anchor)
    chosen_name, number = request.GET.get("show", ""), _parse_part_number(request)
    parts = []
    for name, payload in event_payloads.payloads.items():
        part_number = number if name == chosen_name else 1
        text_part = payload.render_part(part_number)
        if text_part is None:
            raise Http404
        parts.append(
            {
                "payload": payload,
                "rendered": text_part,
                "number": part_number,
                "next_number": part_number + 1,
            }
        )
    may_redact = access.has_request_role(request, conversation.workspace_id, Role.AUDITOR)
    context = {
        "conversation": conversation,
        "element": event_payloads.element,
        "position": event_payloads.position,
        "anchor": anchor,
        "parts": parts,
        "may_redact": may_redact,
        "suggestions": suggestions.list_event_secrets(conversation.pk, anchor)
        if may_redact
        else [],
    }
    return render(request, "conversations/event.html", context)


@access.conversation(Role.READER)
def show_payload_part(
    request: Request, conversation: Conversation, anchor: str, payload: str
) -> HttpResponse:
    """Return a part of a payload to htmx; redirect other requests to the event."""
    response: HttpResponse | None
    if not request.htmx:
        response = redirect("event", conversation.pk, anchor)
        patch_vary_headers(response, ["HX-Request"])
        return response
    event_payloads = _load_event(conversation, anchor)
    chosen_payload, number = _get_payload(event_payloads, payload), _parse_part_number(request)
    entity_tag = etag.make_etag(
        event_payloads.element.raw, str(conversation.pk), anchor, payload, str(number)
    )
    response = get_conditional_response(request, etag=entity_tag)
    if response is None:
        response = HttpResponse(_render_part(conversation, anchor, chosen_payload, number))
    response["ETag"] = entity_tag
    patch_vary_headers(response, ["HX-Request"])
    return response


@access.conversation(Role.READER)
async def download_payload(
    request: Request, conversation: Conversation, anchor: str, payload: str
) -> HttpResponseBase:
    """Download a payload as stored."""
    char_count = await run_in_db_thread(_measure, single_item.measure_element, conversation, anchor)
    pieces = _make_pieces(char_count, partial(_encode_payload, conversation, anchor, payload))
    return await _send_download(
        request, conversation, pieces, "text/plain", f"{anchor}-{payload}.txt"
    )


@access.conversation(Role.READER)
async def download_item(
    request: Request, conversation: Conversation, anchor: str
) -> HttpResponseBase:
    """Download the item of an event as JSON: a tool call with its inquiries and result."""
    char_count = await run_in_db_thread(_measure, single_item.measure_item, conversation, anchor)
    pieces = _make_pieces(char_count, partial(_encode_item, conversation, anchor))
    return await _send_download(request, conversation, pieces, "application/json", f"{anchor}.json")


def _measure(
    measure_text: Callable[[int, str], int], conversation: Conversation, anchor: str
) -> int:
    """Return the number of characters that a download is made of."""
    try:
        return measure_text(conversation.pk, anchor)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error


def _make_pieces(char_count: int, encode: Callable[[], bytes]) -> Iterator[ExportChunk]:
    """Yield the pieces of a file that is made at once.

    A large one, of up to 256 MiB, begins with a piece without bytes: so its person's mark is taken
    before it is made.
    """
    if is_large(char_count):
        yield ExportChunk(b"", 0, char_count)
    yield from cut_into_pieces(encode())


def _encode_payload(conversation: Conversation, anchor: str, payload: str) -> bytes:
    event_payloads = _load_event(conversation, anchor)
    full_text = (
        event_payloads.element.raw
        if payload == "raw"
        else _get_payload(event_payloads, payload).text
    )
    return full_text.encode("utf-8", "replace")


def _encode_item(conversation: Conversation, anchor: str) -> bytes:
    try:
        full_item = single_item.load_full_item(conversation.pk, anchor)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error
    _, event_index = anchor_ids.split_anchor(anchor)
    fields = _describe_item(full_item.elements, (full_item.event_index, event_index))
    return msgspec.json.format(msgspec.json.encode(fields), indent=2)


def _load_event(conversation: Conversation, anchor: str) -> _EventPayloads:
    try:
        position, element = journal.find_element(conversation.pk, anchor)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error
    _, event_index = anchor_ids.split_anchor(anchor)
    return _EventPayloads(position, element, payloads.get_payloads(element, event_index))


def _get_payload(event_payloads: _EventPayloads, name: str) -> Payload:
    if name not in event_payloads.payloads:
        raise Http404
    return event_payloads.payloads[name]


def _render_part(conversation: Conversation, anchor: str, payload: Payload, number: int) -> str:
    text_part = payload.render_part(number)
    if text_part is None:
        raise Http404
    context = {
        "conversation": conversation,
        "anchor": anchor,
        "payload": payload,
        "rendered_part": text_part,
        "part_number": number,
        "next_number": number + 1,
    }
    return render_to_string("events/_payload_part.html", context)


def _parse_part_number(request: Request) -> int:
    part_number = converters.parse_number(request.GET.get("part", "1"), _MAX_PARTS)
    if part_number is None:
        raise Http404
    return part_number


async def _send_download(
    request: Request,
    conversation: Conversation,
    pieces: Iterator[ExportChunk],
    content_type: str,
    name: str,
) -> HttpResponseBase:
    may_read = partial(access.has_role, request.user.pk, conversation.workspace_id, Role.READER)
    return await send_file(request, pieces, name, f"{content_type}; charset=utf-8", may_read)


def _describe_item(elements: list[Element], place: Place) -> dict[str, Any]:
    """Return the parts of the item at a place as a dictionary.

    An element of an older file layout may be part of several items.
    """
    (turn, *_) = build_outline(elements).turns
    matches = (item for item in turn.items for element in item.elements if element.place == place)
    match next(matches, turn.items[0]):
        case ToolCall() as call:
            fields = {"request": _describe_event(call.request)}
            fields["inquiries"] = [_describe_inquiry(element) for element in call.inquiries]
            return fields | {"result": _describe_event(call.response) if call.response else None}
        case OrphanInquiry(inquiry=inquiry):
            return {"inquiries": [_describe_inquiry(inquiry)]}
        case entry:
            return {"event": _describe_event(entry.placed)}


def _describe_inquiry(inquiry: InquiryPair) -> dict[str, Any]:
    answer = inquiry.response
    return {
        "request": _describe_event(inquiry.request),
        "response": _describe_event(answer) if answer else None,
    }


def _describe_event(placed_element: PlacedElement) -> Any:
    """Return an event's decoded fields; other elements as stored."""
    body = placed_element.element.body
    if not isinstance(body, ConversationEvent):
        return _describe_raw(placed_element.element.raw)
    header = {"type": body.kind.TAG, "timestamp": body.timestamp}
    return db_text.clean_json(header | body.kind.to_fields())


def _describe_raw(text: str) -> Any:
    """Return an element as stored; as a string if it is not the strict JSON that JP reads.

    A lone surrogate, NaN or excessive nesting keeps its text and does not fail the download.
    """
    try:
        msgspec.json.format(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(text.encode())
