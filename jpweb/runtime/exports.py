"""A conversation as a file, in one of four formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime import prose
from jpweb.store import exports, journal
from jpweb.stream.markdown import Options, markdown
from jpweb.stream.outline import outline

if TYPE_CHECKING:
    from jpweb.store.models import Conversation


@dataclass(frozen=True, slots=True)
class Format:
    """``suffix`` follows the id in the file's name; ``what`` tells people what it is."""

    suffix: str
    content_type: str
    what: str
    make: Callable[[Conversation], bytes]


def text(conversation: Conversation, *, reasoning: bool = True) -> str:
    """Return the Markdown of a conversation."""
    shown = outline(journal.elements(conversation.pk))
    return markdown(shown, Options(title=_title(conversation), reasoning=reasoning))


def _markdown(conversation: Conversation) -> bytes:
    return text(conversation).encode()


def _html(conversation: Conversation) -> bytes:
    """Return a page that stands alone: it holds its style and loads nothing."""
    context = {
        "title": _title(conversation),
        "body": prose.html(text(conversation), line_ends=True),
        "style": format_html("<style>\n{}</style>", SafeString(_style())),
    }
    return render_to_string("exports/conversation.html", context).encode()


def _style() -> str:
    return (settings.BASE_DIR / "static" / "jpweb.css").read_text()


def _title(conversation: Conversation) -> str:
    return conversation.title or f"jp-c{conversation.jp_id}"


FORMATS = {
    "jp": Format(
        ".events.json", "application/json", "the file of jp itself, byte for byte", exports.jp
    ),
    "jsonl": Format(".jsonl", "application/jsonl", "one event a line", exports.jsonl),
    "markdown": Format(".md", "text/markdown; charset=utf-8", "to read and to edit", _markdown),
    "html": Format(".html", "text/html; charset=utf-8", "a page that stands alone", _html),
}
