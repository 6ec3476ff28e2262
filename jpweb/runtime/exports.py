"""Exports a conversation as a file in one of four formats, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime import rendering
from jpweb.runtime.rendering import long_texts
from jpweb.store import approvals, exports
from jpweb.store.annotations import thread_listing
from jpweb.store.annotations.thread_listing import ShownThread
from jpweb.store.choices import ApprovalState
from jpweb.store.database import clock
from jpweb.store.exports import ExportChunk
from jpweb.store.transcript import call_decisions
from jpweb.store.transcript.call_decisions import CallDecision
from jpweb.store.transcript.item_batches import ItemBatch, read_items
from jpweb.stream.markdown import outcome_texts
from jpweb.stream.markdown.escaping import Block
from jpweb.stream.markdown.export import (
    BLOCK_SEPARATOR,
    ApprovalDecision,
    MarkdownOptions,
    MarkdownWriter,
)
from jpweb.stream.markdown.exported_comments import ExportedComment, ExportedThread, write_thread
from jpweb.stream.transcript.items import Item, ToolCall

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Marks the body in the template of the standalone page; escaped text cannot contain it.
_BODY_PLACEHOLDER = SafeString("<!--body-->")
#: Markdown blocks of one item or comment: what is in them reaches into no other group.
Group = list[Block]
#: Characters after which a piece takes no further text. As many take 10 ms, of hostile text 40.
MAX_PIECE_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """An export format: suffix after the id in the file name, and a description for people.

    ``make_commented_pieces`` adds the comments; None where the format has no place for them.
    """

    suffix: str
    content_type: str
    description: str
    make_pieces: Callable[[Conversation], Iterator[ExportChunk]]
    make_commented_pieces: Callable[[Conversation], Iterator[ExportChunk]] | None = None

    @property
    def can_have_comments(self) -> bool:
        """Whether an export can have the comments."""
        return self.make_commented_pieces is not None


def make_markdown(
    conversation: Conversation,
    *,
    origin: str = "",
    reasoning: bool = True,
    has_comments: bool = False,
) -> Iterator[ExportChunk]:
    """Yield the Markdown of a conversation; ``origin`` is Markdown below its title."""
    options = MarkdownOptions(_get_title(conversation), origin, reasoning=reasoning)
    batches = _read_batches(conversation, options, has_comments=has_comments)
    for text, done_count in _write_pieces(conversation, batches, _make_markdown_writer()):
        end = "\n" if done_count >= conversation.entry_count else ""
        yield ExportChunk(f"{text}{end}".encode(), done_count, conversation.entry_count)


def make_html(
    conversation: Conversation, *, origin: str = "", has_comments: bool = False
) -> Iterator[ExportChunk]:
    """Yield a self-contained page: its style is inline and it loads nothing.

    ``origin`` is Markdown below its title.
    Each item and each comment is rendered separately, so links and footnotes of one text cannot
    reach another. Long texts are rendered in parts.
    """
    context = {
        "title": _get_title(conversation),
        "body": _BODY_PLACEHOLDER,
        "style": format_html("<style>\n{}</style>", SafeString(_read_style())),
    }
    page = render_to_string("exports/conversation.html", context)
    head, _, foot = page.partition(_BODY_PLACEHOLDER)
    options = MarkdownOptions(_get_title(conversation), origin, reasoning=True)
    batches = _read_batches(conversation, options, has_comments=has_comments)
    for body, done_count in _write_pieces(conversation, batches, _write_html):
        end = foot if done_count >= conversation.entry_count else ""
        yield ExportChunk(f"{head}{body}{end}".encode(), done_count, conversation.entry_count)
        head = ""


def describe_origin(conversation: Conversation, exported_at: datetime) -> str:
    """Return the Markdown that says where and when an export was made."""
    address = settings.PUBLIC_URL + reverse("conversation", args=[conversation.pk])
    return f"Exported by jpweb, {exported_at:%Y-%m-%d %H:%M:%S} UTC, from <{address}>."


def describe_bundle_origin(address: str) -> str:
    """Return the Markdown that says where a readable file of an evidence bundle is from."""
    return f"Exported by jpweb from <{address}>. The bundle's manifest.json says when."


def _export_markdown(
    conversation: Conversation, *, has_comments: bool = False
) -> Iterator[ExportChunk]:
    origin = describe_origin(conversation, clock.now())
    return make_markdown(conversation, origin=origin, has_comments=has_comments)


def _export_html(
    conversation: Conversation, *, has_comments: bool = False
) -> Iterator[ExportChunk]:
    origin = describe_origin(conversation, clock.now())
    return make_html(conversation, origin=origin, has_comments=has_comments)


def _make_markdown_writer() -> Callable[[Iterator[Group]], Iterator[str]]:
    """Return the function that yields the Markdown of groups, after that of earlier ones."""
    separator = ""

    def write_markdown(groups: Iterator[Group]) -> Iterator[str]:
        nonlocal separator
        for group in groups:
            for block in group:
                yield separator
                yield from long_texts.cut_markdown(block)
                separator = BLOCK_SEPARATOR

    return write_markdown


def _write_html(groups: Iterator[Group]) -> Iterator[str]:
    """Yield the HTML of groups, each rendered by itself and in parts of bounded length."""
    for group in groups:
        for section in long_texts.cut_sections(group):
            yield rendering.render_markdown(section + "\n", keep_line_ends=True)


def _read_batches(
    conversation: Conversation, options: MarkdownOptions, *, has_comments: bool
) -> Iterator[tuple[Iterator[Group], int]]:
    """Yield batches of groups, by heading, item and comment, and the entries done with each."""
    writer, is_first = MarkdownWriter(options), True
    comments = _CommentReader(conversation, has_comments=has_comments)
    group_writer = _GroupWriter(conversation, writer, comments)
    for batch in read_items(conversation):
        yield group_writer.write_batch(batch, is_first=is_first), batch.done
        is_first = False


def _write_pieces(
    conversation: Conversation,
    batches: Iterator[tuple[Iterator[Group], int]],
    write_groups: Callable[[Iterator[Group]], Iterator[str]],
) -> Iterator[tuple[str, int]]:
    """Yield the text of each batch in bounded pieces; the last one counts the batch's entries.

    Raises ExportBroken if entries are replaced or removed between two pieces.
    """
    previous_count = 0
    for groups, done_count in batches:
        texts: list[str] = []
        char_count = 0
        for text in write_groups(groups):
            if char_count >= MAX_PIECE_CHARS:
                yield "".join(texts), previous_count
                exports.check_unchanged(conversation)
                texts, char_count = [], 0
            texts.append(text)
            char_count += len(text)
        yield "".join(texts), done_count
        previous_count = done_count


class _GroupWriter:
    """Writes the items of a conversation below the headings of their turns."""

    def __init__(
        self, conversation: Conversation, writer: MarkdownWriter, comments: _CommentReader
    ) -> None:
        self._conversation = conversation
        self._writer = writer
        self._comments = comments
        self._turn = -1

    def write_batch(self, batch: ItemBatch, *, is_first: bool) -> Iterator[Group]:
        """Yield the groups of a batch; those of the last one end with the omissions."""
        if is_first:
            yield list(self._writer.write_title())
        calls = [item for _, item in batch.items if isinstance(item, ToolCall)]
        decisions = call_decisions.load_decisions(self._conversation.pk, calls, limit=None)
        for index, item in batch.items:
            if index != self._turn:
                self._turn, is_incomplete = index, index == batch.incomplete_turn
                yield list(self._writer.write_turn(index, is_incomplete=is_incomplete))
            rows = decisions.get(item.request.anchor, []) if isinstance(item, ToolCall) else []
            blocks = list(self._writer.write_item(item, [*map(_describe_approval, rows)]))
            yield blocks
            yield from self._comments.write_item_comments(item, is_omitted=not blocks)
        if batch.done >= self._conversation.entry_count:
            yield from self._comments.write_lost_comments()
            yield list(self._writer.write_left_out())


class _CommentReader:
    """Reads the comments on one event at a time: they may be longer than the conversation."""

    def __init__(self, conversation: Conversation, *, has_comments: bool) -> None:
        self._conversation_id = conversation.pk
        summaries = thread_listing.list_summaries(conversation.pk) if has_comments else []
        self._anchors = dict.fromkeys(summary.anchor for summary in summaries)

    def write_item_comments(self, item: Item, *, is_omitted: bool) -> Iterator[Group]:
        """Yield the comments on the events of an item, which the export may omit."""
        for element in item.elements:
            if element.anchor in self._anchors:
                yield from self._write(element.anchor, is_omitted=is_omitted)

    def write_lost_comments(self) -> Iterator[Group]:
        """Yield the comments on events that are no longer in the conversation."""
        positions = thread_listing.find_positions(self._conversation_id, self._anchors)
        lost_anchors = [anchor for anchor in self._anchors if anchor not in positions]
        if lost_anchors:
            yield ["### Comments on events that are gone"]
        for anchor in lost_anchors:
            yield from self._write(anchor)

    def _write(self, anchor: str, *, is_omitted: bool = False) -> Iterator[Group]:
        for shown_thread in thread_listing.load_threads(self._conversation_id, [anchor]).values():
            yield from write_thread(_describe_thread(shown_thread), is_omitted=is_omitted)


def _describe_thread(shown_thread: ShownThread) -> ExportedThread:
    comments = [
        ExportedComment(
            entry.comment.author_name, entry.comment.made_at, entry.comment.edited_at, entry.text
        )
        for entry in shown_thread.comments
    ]
    return ExportedThread(
        comments, shown_thread.thread.resolver_name, shown_thread.thread.resolved_at
    )


def _describe_approval(row: CallDecision) -> ApprovalDecision:
    record = row.decision or {}
    reason = record.get("reason")
    return ApprovalDecision(
        row.kind,
        is_allowed=record.get("allow") is True,
        is_edited=approvals.is_edited(record),
        is_for_turn=record.get("remember") is True,
        decider=outcome_texts.name_approval_decider(row.state, row.decider_name),
        asked_at=row.asked_at,
        settled_at=row.settled_at,
        words=reason if isinstance(reason, str) else "",
        is_withdrawn=row.state == ApprovalState.WITHDRAWN,
    )


def _read_style() -> str:
    return (settings.BASE_DIR / "static" / "jpweb.css").read_text(encoding="utf-8")


def _get_title(conversation: Conversation) -> str:
    return conversation.title or f"jp-c{conversation.jp_id}"


FORMATS = {
    "jp": ExportFormat(".events.json", "application/json", "JP file", exports.export_jp_json),
    "jsonl": ExportFormat(
        ".jsonl", "application/jsonl", "JSON Lines, one event per line", exports.export_json_lines
    ),
    "markdown": ExportFormat(
        ".md",
        "text/markdown; charset=utf-8",
        "Markdown document",
        _export_markdown,
        partial(_export_markdown, has_comments=True),
    ),
    "html": ExportFormat(
        ".html",
        "text/html; charset=utf-8",
        "Standalone HTML page",
        _export_html,
        partial(_export_html, has_comments=True),
    ),
}
