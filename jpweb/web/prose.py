"""Markdown to HTML that is safe to show. The dialect is JP's own (comrak)."""

from __future__ import annotations

import comrak
import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString

_EXTENSIONS = comrak.ExtensionOptions(
    table=True, strikethrough=True, autolink=True, tasklist=True, footnotes=True
)
_RENDER = comrak.RenderOptions(escape=True, unsafe_=False)
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


def html(markdown: str) -> SafeString:
    """Return the HTML of hostile Markdown: raw HTML is shown as text, never obeyed."""
    if not markdown.strip():
        return SafeString("")
    made = comrak.markdown_to_html(markdown, _EXTENSIONS, None, _RENDER)
    if len(made) > _MOST_HTML * len(markdown) + 1000 or made.count("<blockquote>") > _DEEPEST:
        return format_html("<pre>{}</pre>", markdown)
    return SafeString(_CLEANER.clean(made))
