"""The elements of a conversation as stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import json_values
from jpweb.store.choices import Role
from jpweb.store.transcript import raw_entries
from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent
from jpweb.web import access, converters
from jpweb.web.views.transcript_modes.page_budget import PageBudget

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.store.transcript.raw_entries import StoredEntry
    from jpweb.web.http import Request


@access.conversation(Role.READER)
def show_raw(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the elements from position ``from`` on, or before ``before``, as many as fit."""
    before_position = converters.parse_number(request.GET.get("before"))
    first_position = converters.parse_number(request.GET.get("from")) or 0
    budget = PageBudget()
    if before_position is None:
        rendered_entries = _render_fitting(
            conversation, raw_entries.list_entries(conversation.pk, first_position), budget
        )
    else:
        earlier_entries = raw_entries.list_entries_before(conversation.pk, before_position)[::-1]
        rendered_entries = _render_fitting(conversation, earlier_entries, budget)[::-1]
    start = rendered_entries[0][0].position if rendered_entries else first_position
    end = rendered_entries[-1][0].position + 1 if rendered_entries else first_position
    context = {
        "conversation": conversation,
        "entries": [html for _, html in rendered_entries],
        "first": start,
        "last": end - 1,
        "previous_position": start if start > 0 else None,
        "next_position": end if end < conversation.entry_count else None,
    }
    return render(request, "transcript_modes/raw.html", context)


def _render_fitting(
    conversation: Conversation, entries: list[StoredEntry], budget: PageBudget
) -> list[tuple[StoredEntry, SafeString]]:
    rendered_entries: list[tuple[StoredEntry, SafeString]] = []
    for entry in entries:
        html = _render_entry(conversation, entry, is_decoded=True)
        if not budget.try_add(html):
            if rendered_entries:
                break
            html = _render_entry(conversation, entry, is_decoded=False)
        rendered_entries.append((entry, html))
    return rendered_entries


def _render_entry(
    conversation: Conversation, entry: StoredEntry, *, is_decoded: bool
) -> SafeString:
    context = {
        "conversation": conversation,
        "entry": entry,
        "anchor": entry.anchor,
        # Indent the first line as in the file; the stored text has the indent of the others only.
        "text": f"  {entry.text}",
        "decoded_fields": _decode_fields(entry) if is_decoded and entry.is_complete else [],
    }
    return render_to_string("transcript_modes/_stored_entry.html", context)


def _decode_fields(entry: StoredEntry) -> list[dict[str, Any]]:
    """Return the decoded values of fields that are stored as base64."""
    body = wire.read_element(entry.text).body
    if not isinstance(body, ConversationEvent):
        return []
    stored_fields = msgspec.json.decode(entry.text)
    decoded_fields = body.kind.to_fields() | {"metadata": body.metadata}
    fields = []
    for name in sorted({*body.kind.ENCODED, "metadata"} & stored_fields.keys()):
        if stored_fields[name] != decoded_fields[name]:
            value = decoded_fields[name]
            text = value if isinstance(value, str) else json_values.format_json(value)
            fields.append({"name": name, "text": text})
    return fields
