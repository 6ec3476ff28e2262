"""Renders JSON with highlighting, and the arguments of a call field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import ansi, diff, syntax_highlighting
from jpweb.runtime.rendering.invisible_characters import reveal_invisible

#: A key, any other string, the beginning of a string that is cut off, a number, a word. Each takes
#: linear time: without the third, each quote of such a string would scan it again.
_JSON_TOKEN = re.compile(
    r'("(?:[^"\\\n]|\\.)*+")([ ]*:)|("(?:[^"\\\n]|\\.)*+")|"(?:[^"\\\n]|\\.)*+'
    r"|(-?\d[\d.eE+-]*)|\b(true|false|null)\b"
)
_TOKEN_CLASSES = ("v", "", "s", "n", "k")
#: Characters of a value that is rendered on one line with its name.
_MAX_INLINE_CHARS = 160
#: Whitespace characters before and after JSON that ``is_json_like`` skips.
_MAX_BLANKS = 1_000
#: Fields in the excerpt of a call's arguments.
MAX_EXCERPT_FIELDS = 20
#: Argument names that hold a file path, whose suffix gives the language of the other texts.
_FILE_FIELDS = ("path", "file", "filename", "file_path", "file_name", "target")


def format_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def indent_json(raw_text: str) -> str | None:
    """Return JSON indented, with numbers and escapes unchanged; None for invalid JSON."""
    if not is_json_like(raw_text):
        return None
    try:
        return msgspec.json.format(raw_text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def is_json_like(raw_text: str) -> bool:
    """Return whether a text starts and ends like a JSON object or array."""
    return (raw_text[:_MAX_BLANKS].lstrip()[:1], raw_text[-_MAX_BLANKS:].rstrip()[-1:]) in (
        ("{", "}"),
        ("[", "]"),
    )


def parse_text_fields(raw_text: str) -> dict[str, Any] | None:
    """Return a JSON object with a text of several lines among its fields; None for other texts.

    Field by field such a text has its line breaks; in JSON they are escaped.
    """
    value = parse_json_object(raw_text)
    has_lines = value is not None and any(
        isinstance(field, str) and "\n" in field.strip() for field in value.values()
    )
    return value if has_lines else None


def parse_json_object(raw_text: str) -> dict[str, Any] | None:
    """Return the object that a text is in JSON; None for any other text.

    A text with a duplicate key is none: the object has the last value, a model reads all.
    """
    if not is_json_like(raw_text):
        return None
    try:
        value = json.loads(raw_text, object_pairs_hook=_make_object)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for a duplicate key."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("duplicate key")
    return value


def highlight_json(json_text: str) -> SafeString:
    """Return JSON as HTML with its tokens highlighted; other text stays plain."""
    parts: list[str] = []
    position = 0
    for token in _JSON_TOKEN.finditer(json_text):
        parts.append(escape(json_text[position : token.start()]))
        group = token.lastindex
        if group is None:
            parts.append(escape(token[0]))
        elif group == 2:  # noqa: PLR2004  a key and what follows it
            parts.append(f'<span class="v">{escape(token[1])}</span>{token[2]}')
        else:
            parts.append(f'<span class="{_TOKEN_CLASSES[group - 1]}">{escape(token[0])}</span>')
        position = token.end()
    parts.append(escape(json_text[position:]))
    return SafeString("".join(parts))


class RenderedFields(NamedTuple):
    """Arguments as HTML; ``is_cut``: some are left out.

    ``is_simplified``: they contain code that the whole would highlight.
    """

    html: SafeString
    is_cut: bool
    is_simplified: bool = False


def render_fields(values: Mapping[str, Any], max_chars: int, *, colors: bool) -> RenderedFields:
    """Return arguments as a list of names and values, up to ``max_chars`` characters in all."""
    language_name = _find_language(values)
    highlight_name = language_name if colors else ""
    is_simplified = bool(language_name) and not colors
    field_list: list[str] = []
    remaining_chars, deadline = max_chars, syntax_highlighting.make_deadline()
    for name, value in values.items():
        if remaining_chars <= 0 or (not colors and len(field_list) == MAX_EXCERPT_FIELDS):
            return RenderedFields(_render_list(field_list), is_cut=True)
        full_text = value if isinstance(value, str) else format_json(value)
        excerpt = full_text[:remaining_chars]
        name_excerpt = name[:remaining_chars]
        remaining_chars -= len(name_excerpt) + len(excerpt)
        field_list.append(_render_field(name_excerpt, excerpt, value, highlight_name, deadline))
        if len(excerpt) < len(full_text) or len(name_excerpt) < len(name):
            return RenderedFields(_render_list(field_list), is_cut=True)
    return RenderedFields(
        _render_list(field_list),
        is_cut=False,
        is_simplified=is_simplified and any("\n" in field_html for field_html in field_list),
    )


def _render_list(field_list: list[str]) -> SafeString:
    return format_html('<dl class="fields">{}</dl>', SafeString("".join(field_list)))


def _render_field(name: str, excerpt: str, value: Any, language_name: str, deadline: float) -> str:
    """Return one field: on one line where it fits, else as a block of text."""
    is_text = isinstance(value, str)
    visible_text = reveal_invisible(excerpt)
    if "\n" not in visible_text and len(visible_text) <= _MAX_INLINE_CHARS:
        is_json = not is_text or _is_json_scalar(visible_text)
        inner_html = (
            highlight_json(visible_text if not is_text else format_json(visible_text))
            if is_json
            else escape(visible_text)
        )
        return format_html(
            "<div><dt>{}</dt><dd><code>{}</code></dd></div>",
            reveal_invisible(name),
            SafeString(inner_html),
        )
    inner_html = (
        _render_text(excerpt, language_name, deadline) if is_text else highlight_json(visible_text)
    )
    return format_html(
        '<div class="long"><dt>{}</dt><dd><pre class="text code" tabindex="0">{}</pre></dd></div>',
        reveal_invisible(name),
        inner_html,
    )


def _render_text(excerpt: str, language_name: str, deadline: float) -> SafeString:
    if ansi.is_terminal_output(excerpt) and ansi.has_only_colors(excerpt):
        return ansi.render_terminal(excerpt)
    visible_text = reveal_invisible(excerpt)
    return syntax_highlighting.highlight_code(
        visible_text,
        "diff" if diff.is_diff(visible_text) else language_name,
        deadline=deadline,
    )


def _is_json_scalar(excerpt: str) -> bool:
    """Return whether a text reads as a number, a literal or nothing."""
    return not excerpt.strip() or bool(re.fullmatch(r"-?\d[\d.eE+-]*|true|false|null", excerpt))


def _find_language(values: Mapping[str, Any]) -> str:
    """Return the language of the file that the arguments name."""
    candidates = (values.get(name) for name in _FILE_FIELDS)
    path = next((name for name in candidates if isinstance(name, str)), "")
    return syntax_highlighting.find_language(
        PurePosixPath(path[:_MAX_INLINE_CHARS]).suffix.removeprefix(".")
    )
