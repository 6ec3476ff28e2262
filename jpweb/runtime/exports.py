"""Exports a conversation as a file in one of four formats, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime import rendering
from jpweb.store import exports
from jpweb.store.database import clock
from jpweb.store.exports import ExportChunk
from jpweb.store.transcript import call_decisions
from jpweb.store.transcript.call_decisions import CallDecision
from jpweb.store.transcript.item_batches import read_items
from jpweb.stream.markdown.export import (
    BLOCK_SEPARATOR,
    ApprovalDecision,
    MarkdownOptions,
    MarkdownWriter,
)
from jpweb.stream.transcript.items import ToolCall

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Marks the body in the template of the standalone page; escaped text cannot contain it.
_BODY_PLACEHOLDER = SafeString("<!--body-->")


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """An export format: suffix after the id in the file name, and a description for people."""

    suffix: str
    content_type: str
    description: str
    make_pieces: Callable[[Conversation], Iterator[ExportChunk]]


def make_markdown(
    conversation: Conversation, *, origin: str = "", reasoning: bool = True
) -> Iterator[ExportChunk]:
    """Yield the Markdown of a conversation; ``origin`` is Markdown below its title."""
    separator = ""
    options = MarkdownOptions(_get_title(conversation), origin, reasoning=reasoning)
    for groups, entries_done in _read_blocks(conversation, options):
        blocks = [block for group in groups for block in group]
        text = (separator if blocks else "") + BLOCK_SEPARATOR.join(blocks)
        separator = BLOCK_SEPARATOR  # none before the first piece, which has the title
        end = "\n" if entries_done >= conversation.entry_count else ""
        yield ExportChunk(f"{text}{end}".encode(), entries_done, conversation.entry_count)


def make_html(conversation: Conversation, *, origin: str = "") -> Iterator[ExportChunk]:
    """Yield a self-contained page: its style is inline and it loads nothing.

    ``origin`` is Markdown below its title.
    Each item is rendered separately, so links and footnotes of one text cannot reach another.
    """
    context = {
        "title": _get_title(conversation),
        "body": _BODY_PLACEHOLDER,
        "style": format_html("<style>\n{}</style>", SafeString(_read_style())),
    }
    page = render_to_string("exports/conversation.html", context)
    head, _, foot = page.partition(_BODY_PLACEHOLDER)
    options = MarkdownOptions(_get_title(conversation), origin, reasoning=True)
    for groups, entries_done in _read_blocks(conversation, options):
        body = "".join(
            rendering.render_markdown(BLOCK_SEPARATOR.join(group) + "\n", keep_line_ends=True)
            for group in groups
        )
        end = foot if entries_done >= conversation.entry_count else ""
        yield ExportChunk(f"{head}{body}{end}".encode(), entries_done, conversation.entry_count)
        head = ""


def describe_origin(conversation: Conversation, exported_at: datetime) -> str:
    """Return the Markdown that says where and when an export was made."""
    address = settings.PUBLIC_URL + reverse("conversation", args=[conversation.pk])
    return f"Exported by jpweb, {exported_at:%Y-%m-%d %H:%M:%S} UTC, from <{address}>."


def _export_markdown(conversation: Conversation) -> Iterator[ExportChunk]:
    return make_markdown(conversation, origin=describe_origin(conversation, clock.now()))


def _export_html(conversation: Conversation) -> Iterator[ExportChunk]:
    return make_html(conversation, origin=describe_origin(conversation, clock.now()))


def _read_blocks(
    conversation: Conversation, options: MarkdownOptions
) -> Iterator[tuple[list[list[str]], int]]:
    """Yield batches of Markdown blocks, grouped by heading and item, and the entries done."""
    writer = MarkdownWriter(options)
    title, turn = list(writer.write_title()), -1
    for items, entries_done, incomplete_turn in read_items(conversation):
        groups = [title]
        calls = [item for _, item in items if isinstance(item, ToolCall)]
        decisions = call_decisions.load_decisions(conversation.pk, calls, limit=None)
        for index, item in items:
            if index != turn:
                turn, is_incomplete = index, index == incomplete_turn
                groups.append(list(writer.write_turn(index, is_incomplete=is_incomplete)))
            rows = decisions.get(item.request.anchor, []) if isinstance(item, ToolCall) else []
            groups.append(list(writer.write_item(item, [*map(_describe_approval, rows)])))
        if entries_done >= conversation.entry_count:
            groups.append(list(writer.write_left_out()))
        yield [group for group in groups if group], entries_done
        title = []


def _describe_approval(row: CallDecision) -> ApprovalDecision:
    record = row.decision or {}
    reason = record.get("reason")
    return ApprovalDecision(
        row.kind,
        is_allowed=record.get("allow") is True,
        is_edited="arguments" in record or "content" in record,
        is_for_turn=record.get("remember") is True,
        decider=row.decider_name,
        asked_at=row.asked_at,
        settled_at=row.settled_at,
        words=reason if isinstance(reason, str) else "",
    )


def _read_style() -> str:
    return (settings.BASE_DIR / "static" / "jpweb.css").read_text()


def _get_title(conversation: Conversation) -> str:
    return conversation.title or f"jp-c{conversation.jp_id}"


FORMATS = {
    "jp": ExportFormat(
        ".events.json", "application/json", "JP file (exact copy)", exports.export_jp_json
    ),
    "jsonl": ExportFormat(
        ".jsonl", "application/jsonl", "JSON Lines, one event per line", exports.export_json_lines
    ),
    "markdown": ExportFormat(
        ".md", "text/markdown; charset=utf-8", "Markdown document", _export_markdown
    ),
    "html": ExportFormat(".html", "text/html; charset=utf-8", "Standalone HTML page", _export_html),
}
