"""Tags of a transcript's rows and of its outline.

Their HTML is cached by what it shows: of the 33 ms that the templates of a conversation of 10,000
events took, rows around cached items took 17 and the outline 7.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.web import html_cache
from jpweb.web.templatetags.jpweb_annotations import render_annotations
from jpweb.web.templatetags.jpweb_events import render_item
from jpweb.web.transcript import CallGroup, TranscriptLine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jpweb.store.models import Conversation

register = template.Library()
_NO_ANCHORS: frozenset[str] = frozenset()
#: Values of an outline's turns, by the names of its template.
_OUTLINE_NAMES = (
    "conversation",
    "turn_slice",
    "current_turn",
    "turn_items",
    "is_partial",
    "page_url",
    "query_string",
)


@register.simple_tag
def transcript_rows(
    rows: Iterable[TranscriptLine | CallGroup],
    conversation: Conversation,
    open_folds: frozenset[str] = _NO_ANCHORS,
    closed_folds: frozenset[str] = _NO_ANCHORS,
) -> SafeString:
    """Render rows of a transcript: lines, and folds of groups of calls.

    One tag for all rows: a tag for each took 0.8 ms more for a page.
    """
    folds = open_folds, closed_folds
    return SafeString(
        "".join(
            transcript_line(row, conversation, *folds)
            if isinstance(row, TranscriptLine)
            else _render_call_group(row, conversation, *folds)
            for row in rows
        )
    )


def _render_call_group(
    row: CallGroup,
    conversation: Conversation,
    open_folds: frozenset[str],
    closed_folds: frozenset[str],
) -> SafeString:
    context = {
        "row": row,
        "conversation": conversation,
        "open_folds": open_folds,
        "closed_folds": closed_folds,
    }
    return render_to_string("conversations/_call_group.html", context)


@register.simple_tag
def transcript_line(
    line: TranscriptLine,
    conversation: Conversation,
    open_folds: frozenset[str] = _NO_ANCHORS,
    closed_folds: frozenset[str] = _NO_ANCHORS,
) -> SafeString:
    """Render a line: the parts before its item, the item, its annotations, the omissions."""
    item_html = render_item(line.item, conversation, False, open_folds, closed_folds)
    parts = [_render_line_head(line), item_html, render_annotations(line.item, conversation)]
    if line.omitted_count:
        context = {"line": line, "conversation": conversation}
        parts.append(render_to_string("conversations/_omitted_events.html", context))
    return SafeString("".join(parts))


def _render_line_head(line: TranscriptLine) -> str:
    """Render the mark of news, the heading of a turn and the time gap above an item."""
    if not (line.is_first_new or line.turn or line.gap):
        return ""
    key = (
        "line head",
        line.is_first_new,
        line.turn and line.turn.number,
        line.is_continued,
        line.started_at,
        line.gap,
    )
    return html_cache.get_or_render_html(
        key, lambda: render_to_string("conversations/_line_head.html", {"line": line})
    )


@register.simple_tag(takes_context=True)
def outline_turns(context: template.Context) -> SafeString:
    """Render the turns of an outline, with the calls and questions of the current one."""
    values: dict[str, Any] = {name: context.get(name) for name in _OUTLINE_NAMES}
    key = (
        "outline turns",
        values["conversation"].pk,
        tuple((turn.number, turn.title) for turn in values["turn_slice"].turns),
        values["current_turn"],
        values["query_string"],
        values["is_partial"],
        tuple(html_cache.make_content_key(item) for item in values["turn_items"]),
    )
    return html_cache.get_or_render_html(key, partial(_render_outline_turns, values))


def _render_outline_turns(values: dict[str, Any]) -> SafeString:
    items_html = render_to_string(
        "conversations/_outline_items.html", values | {"items": values["turn_items"]}
    )
    return render_to_string(
        "conversations/_outline_turns.html", values | {"items_html": items_html}
    )
