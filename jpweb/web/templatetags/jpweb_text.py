"""Filters of text: the first line of a long one, and values as people read them."""

from __future__ import annotations

import json
from typing import Any

from django import template

from jpweb.runtime.rendering import invisible_characters
from jpweb.stream.answer_type import format_answer

register = template.Library()
#: Characters of a question in its summary.
MAX_SUMMARY_CHARS = 140


@register.filter
def first_line(text: str) -> str:
    """Return the first line, cut to ``MAX_SUMMARY_CHARS``, its invisible characters spelled out."""
    return invisible_characters.reveal_invisible(clip_line(text, MAX_SUMMARY_CHARS))


@register.filter
def answer_text(value: Any) -> str:
    """Return an answer as people read it, "" for None."""
    return "" if value is None else format_answer(value)


@register.filter
def as_json(value: Any) -> str:
    """Show a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def clip_line(text: str, max_chars: int) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"
