"""Markdown to HTML that is safe to show. The dialect is JP's own (comrak)."""

from __future__ import annotations

import re

import comrak
import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString

_EXTENSIONS = comrak.ExtensionOptions(
    table=True, strikethrough=True, autolink=True, tasklist=True, footnotes=True
)
_RENDER = comrak.RenderOptions(escape=True, unsafe_=False)
_RENDER_LINES = comrak.RenderOptions(escape=True, unsafe_=False, hardbreaks=True)
_CLEANER = nh3.Cleaner(
    tags={
        "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
        "input", "li", "ol", "p", "pre", "section", "strong", "sup", "table", "tbody", "td", "th",
        "thead", "tr", "ul",
    },
    attributes={
        "a": {"href", "title"},
        "code": {"class"},
        "input": {"type", "checked", "disabled"},
        "ol": {"start"},
        "td": {"align"},
        "th": {"align"},
    },
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
)  # fmt: skip
#: Past these the cleaner's time grows with the square of the input; the text is shown plain.
_MOST_HTML = 20
_DEEPEST = 100


_DIFF = re.compile(r'(<pre><code class="language-diff">)(.*?)(</code></pre>)', re.DOTALL)
_DIFF_LINE = re.compile(r"^([+\-@]).*$", re.MULTILINE)
_DIFF_KINDS = {"+": "added", "-": "removed", "@": "hunk"}


def html(markdown: str, *, line_ends: bool = False) -> SafeString:
    """Return the HTML of hostile Markdown: raw HTML is shown as text, never obeyed.

    ``line_ends`` keeps every line end as one.
    """
    if not markdown.strip():
        return SafeString("")
    render = _RENDER_LINES if line_ends else _RENDER
    made = comrak.markdown_to_html(markdown, _EXTENSIONS, None, render)
    if len(made) > _MOST_HTML * len(markdown) + 1000 or made.count("<blockquote>") > _DEEPEST:
        return format_html("<pre>{}</pre>", markdown)
    return SafeString(_DIFF.sub(_colour_diff, _CLEANER.clean(made)))


def _colour_diff(block: re.Match[str]) -> str:
    """Mark the lines of a diff. Its text is escaped already, and the marks are ours."""
    lines = _DIFF_LINE.sub(
        lambda line: f'<span class="{_DIFF_KINDS[line[1]]}">{line[0]}</span>', block[2]
    )
    return f"{block[1]}{lines}{block[3]}"
