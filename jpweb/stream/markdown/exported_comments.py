"""Comments on an event in a Markdown export: author, time and quoted text, and how they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from jpweb.stream.markdown import escaping
from jpweb.stream.markdown.escaping import Block


class ExportedComment(NamedTuple):
    """A person's comment."""

    author: str
    made_at: datetime
    edited_at: datetime | None
    text: str


class ExportedThread(NamedTuple):
    """The comments on an event, the oldest first; without a time they are not resolved."""

    comments: Sequence[ExportedComment]
    resolver: str = ""
    resolved_at: datetime | None = None


def write_thread(thread: ExportedThread, *, is_omitted: bool = False) -> Iterator[list[Block]]:
    """Yield the blocks of a thread in groups: heading, each comment, and whether it is resolved.

    ``is_omitted`` says that the export omits the event, so the heading is not below it.
    """
    yield ["#### Comments on an omitted event" if is_omitted else "#### Comments"]
    for number, comment in enumerate(thread.comments):
        yield list(_write_comment(comment, is_reply=number > 0))
    if thread.resolved_at is None:
        yield ["Not resolved."]
    else:
        resolver = escaping.escape_line(thread.resolver)
        yield [f"Resolved by {resolver}, {_format_time(thread.resolved_at)}."]


def _write_comment(comment: ExportedComment, *, is_reply: bool) -> Iterator[Block]:
    kind = "Reply" if is_reply else "Comment"
    author = escaping.escape_line(comment.author)
    edit_text = f", edited {_format_time(comment.edited_at)}" if comment.edited_at else ""
    yield f"{kind} by {author}, {_format_time(comment.made_at)}{edit_text}:"
    yield escaping.write_quote(comment.text)


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
