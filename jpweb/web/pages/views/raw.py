"""The elements of a conversation as they are on record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime.prose import values
from jpweb.store.browsing import record
from jpweb.store.terms import Role
from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent
from jpweb.web import access, numbers
from jpweb.web.pages.views.weight import Scales

if TYPE_CHECKING:
    from jpweb.store.browsing.record import Kept
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@access.conversation(Role.READER)
def index(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the elements from ``from`` on, or before ``before``, as many as fit."""
    before = numbers.read(request.GET.get("before"))
    first = numbers.read(request.GET.get("from")) or 0
    scales = Scales()
    if before is None:
        shown = _fitting(conversation, record.entries(conversation.pk, first), scales)
    else:
        back = record.entries_before(conversation.pk, before)[::-1]
        shown = _fitting(conversation, back, scales)[::-1]
    start = shown[0][0].position if shown else first
    end = shown[-1][0].position + 1 if shown else first
    context = {
        "conversation": conversation,
        "entries": [html for _, html in shown],
        "first": start,
        "last": end - 1,
        "earlier": start if start > 0 else None,
        "later": end if end < conversation.length else None,
    }
    return render(request, "views/raw.html", context)


def _fitting(
    conversation: Conversation, found: list[Kept], scales: Scales
) -> list[tuple[Kept, SafeString]]:
    shown: list[tuple[Kept, SafeString]] = []
    for kept in found:
        html = _entry(conversation, kept, decoded=True)
        if not scales.takes(html):
            if shown:
                break
            html = _entry(conversation, kept, decoded=False)
        shown.append((kept, html))
    return shown


def _entry(conversation: Conversation, kept: Kept, *, decoded: bool) -> SafeString:
    context = {
        "conversation": conversation,
        "kept": kept,
        "id": kept.anchor,
        # The first line stands in the file as far in as the others do.
        "text": f"  {kept.text}",
        "decoded": _decoded(kept) if decoded and kept.whole else [],
    }
    return render_to_string("views/_entry.html", context)


def _decoded(kept: Kept) -> list[dict[str, Any]]:
    """Return the fields that are written as base64, as they are meant."""
    body = wire.read(kept.text).body
    if not isinstance(body, ConversationEvent):
        return []
    written = msgspec.json.decode(kept.text)
    meant = body.kind.to_fields() | {"metadata": body.metadata}
    found = []
    for name in sorted({*body.kind.ENCODED, "metadata"} & written.keys()):
        if written[name] != meant[name]:
            value = meant[name]
            text = value if isinstance(value, str) else values.text(value)
            found.append({"name": name, "text": text})
    return found
