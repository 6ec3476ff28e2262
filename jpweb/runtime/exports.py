"""A conversation as a file, in one of four formats, in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime import prose
from jpweb.store import exports
from jpweb.store.browsing.sequence import read_items
from jpweb.store.exports import Piece
from jpweb.stream.markdown import BLOCK_SEPARATOR, MarkdownWriter, Options

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: Where the template of the page that stands alone has its body; no escaped text holds it.
_BODY = SafeString("<!--body-->")


@dataclass(frozen=True, slots=True)
class Format:
    """``suffix`` follows the id in the file's name; ``what`` tells people what it is."""

    suffix: str
    content_type: str
    what: str
    pieces: Callable[[Conversation], Iterator[Piece]]


def make_markdown(conversation: Conversation, *, reasoning: bool = True) -> Iterator[Piece]:
    """Yield the Markdown of a conversation."""
    separator = ""
    for groups, done in _read_blocks(conversation, reasoning=reasoning):
        blocks = [block for group in groups for block in group]
        text = (separator if blocks else "") + BLOCK_SEPARATOR.join(blocks)
        separator = BLOCK_SEPARATOR  # the first piece has the title
        end = "\n" if done >= conversation.length else ""
        yield Piece(f"{text}{end}".encode(), done, conversation.length)


def _make_html(conversation: Conversation) -> Iterator[Piece]:
    """Yield a page that stands alone: it holds its style and loads nothing.

    Each item is rendered by itself, so no link or footnote of one text reaches into another.
    """
    context = {
        "title": _title(conversation),
        "body": _BODY,
        "style": format_html("<style>\n{}</style>", SafeString(_style())),
    }
    page = render_to_string("exports/conversation.html", context)
    head, _, foot = page.partition(_BODY)
    for groups, done in _read_blocks(conversation, reasoning=True):
        body = "".join(
            prose.html(BLOCK_SEPARATOR.join(group) + "\n", line_ends=True) for group in groups
        )
        end = foot if done >= conversation.length else ""
        yield Piece(f"{head}{body}{end}".encode(), done, conversation.length)
        head = ""


def _read_blocks(
    conversation: Conversation, *, reasoning: bool
) -> Iterator[tuple[list[list[str]], int]]:
    """Yield the Markdown in batches, a group of blocks for each heading and item."""
    writer = MarkdownWriter(Options(title=_title(conversation), reasoning=reasoning))
    title, turn = list(writer.write_title()), -1
    for items, done, incomplete_turn in read_items(conversation):
        groups = [title]
        for index, item in items:
            if index != turn:
                turn, is_incomplete = index, index == incomplete_turn
                groups.append(list(writer.write_turn(index, is_incomplete=is_incomplete)))
            groups.append(list(writer.write_item(item)))
        if done >= conversation.length:
            groups.append(list(writer.write_left_out()))
        yield [group for group in groups if group], done
        title = []


def _style() -> str:
    return (settings.BASE_DIR / "static" / "jpweb.css").read_text()


def _title(conversation: Conversation) -> str:
    return conversation.title or f"jp-c{conversation.jp_id}"


FORMATS = {
    "jp": Format(".events.json", "application/json", "JP file (exact copy)", exports.jp),
    "jsonl": Format(".jsonl", "application/jsonl", "JSON Lines, one event per line", exports.jsonl),
    "markdown": Format(".md", "text/markdown; charset=utf-8", "Markdown document", make_markdown),
    "html": Format(".html", "text/html; charset=utf-8", "Standalone HTML page", _make_html),
}
