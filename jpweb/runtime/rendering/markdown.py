"""Renders Markdown as safe HTML, in JP's dialect (comrak)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape

import comrak
import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import syntax_highlighting
from jpweb.runtime.rendering.invisible_characters import reveal_invisible

EXTENSIONS = comrak.ExtensionOptions(
    table=True, strikethrough=True, autolink=True, tasklist=True, footnotes=True
)
RENDER_OPTIONS = comrak.RenderOptions(escape=True, unsafe_=False)
_LINE_RENDER_OPTIONS = comrak.RenderOptions(escape=True, unsafe_=False, hardbreaks=True)
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "input", "li", "ol", "p", "pre", "section", "strong", "sup", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "input": {"type", "checked", "disabled"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align"},
}
_SCHEMES = {"http", "https", "mailto"}
CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    url_schemes=_SCHEMES,
    link_rel="noopener noreferrer nofollow",
)
#: Prefix of heading ids: a heading "Search" must not collide with the form of that id.
_ID_PREFIX = "doc-"
_DOCUMENT_EXTENSIONS = comrak.ExtensionOptions(table=True, header_id_prefix=_ID_PREFIX)
_DOCUMENT_CLEANER = nh3.Cleaner(
    tags=_TAGS | {"img"},
    attributes=_ATTRIBUTES | {"img": {"src", "alt"}, "h2": {"id"}, "h3": {"id"}},
    url_schemes=_SCHEMES,
    link_rel="noopener noreferrer",
    # Wide tables scroll sideways on a phone, and keys reach what can have the focus.
    set_tag_attribute_values={"table": {"tabindex": "0"}},
)
#: HTML characters per Markdown character, and nesting depth. Beyond them the cleaner takes
#: quadratic time, so the text is rendered plain.
_MAX_GROWTH = 20
_MAX_DEPTH = 100
_NESTING_TAG = re.compile(r"<(/?)(?:ul|ol|em|strong|del|sup)\b")
_EMPHASIS_MARKS = ("*", "_", "~", "^")
#: Links to other schemes or without a host. Raw HTML is escaped, so only comrak writes ``<a``.
_UNSAFE_LINK = re.compile(r'<a href="(?!(?i:https?://|mailto:|#))[^"]*"')
#: comrak's empty self-link in each heading, which would be an extra tab stop without a name.
_HEADING_LINK = re.compile(
    r'<a href="#[^"]*" aria-label="[^"]*" data-heading-content="[^"]*" class="anchor"></a>'
)
#: The address of another file, of a heading in it, or of a heading of the same page.
_ADDRESS = re.compile(r'(<a href|<img src)="([^"#:]*)(?:#([^"]*))?"')
_CODE_START, _CODE_END = '<pre><code class="language-', "</code></pre>"


def render_markdown(
    markdown: str, *, keep_line_ends: bool = False, max_chars: int = 0
) -> SafeString:
    """Return the HTML of untrusted Markdown: raw HTML is escaped.

    ``keep_line_ends`` renders every line end as a line break. Diffs are always highlighted, other
    code up to ``max_chars`` characters; highlighting takes many times as long as the rest.
    """
    if not markdown.strip():
        return SafeString("")
    text = reveal_invisible(markdown)
    options = _LINE_RENDER_OPTIONS if keep_line_ends else RENDER_OPTIONS
    raw_html = comrak.markdown_to_html(text, EXTENSIONS, None, options)
    if not raw_html or len(raw_html) > _MAX_GROWTH * len(text) + 1000 or _is_deep(raw_html, text):
        return format_html("<pre>{}</pre>", text)
    safe_html = CLEANER.clean(raw_html)
    # An empty href would reload this page, and one without a host would lead into this site.
    return SafeString("".join(_highlight_blocks(_UNSAFE_LINK.sub("<a", safe_html), max_chars)))


def render_document(markdown: str, find_address: Callable[[str], str]) -> SafeString:
    """Return the HTML of a page of our own documentation, with pictures and linked headings.

    ``find_address`` returns the address of another file of the documentation.
    """
    rendered_html = comrak.markdown_to_html(markdown, _DOCUMENT_EXTENSIONS, None, RENDER_OPTIONS)
    clean_html = _DOCUMENT_CLEANER.clean(_HEADING_LINK.sub("", rendered_html))

    def locate(link: re.Match[str]) -> str:
        address = find_address(link[2]) if link[2] else ""
        return f'{link[1]}="{address}{f"#{_ID_PREFIX}{link[3]}" if link[3] else ""}"'

    return SafeString(_ADDRESS.sub(locate, clean_html))


def _is_deep(raw_html: str, text: str) -> bool:
    """Return whether elements nest deeper than _MAX_DEPTH."""
    if raw_html.count("<blockquote>") > _MAX_DEPTH:
        return True
    if " " * _MAX_DEPTH not in text and sum(map(text.count, _EMPHASIS_MARKS)) <= _MAX_DEPTH:
        return False
    depth = 0
    for tag in _NESTING_TAG.finditer(raw_html):
        depth += -1 if tag[1] else 1
        if depth > _MAX_DEPTH:
            return True
    return False


def _highlight_blocks(safe_html: str, max_chars: int) -> Iterator[str]:
    """Yield the HTML with code blocks highlighted; their text is unescaped and escaped again."""
    position, deadline = 0, syntax_highlighting.make_deadline()
    while (start := safe_html.find(_CODE_START, position)) >= 0:
        end = safe_html.index(_CODE_END, start)
        name, _, text = safe_html[start + len(_CODE_START) : end].partition('">')
        yield safe_html[position:start]
        yield f'<pre tabindex="0"><code class="code language-{name}">'
        yield syntax_highlighting.highlight_code(
            unescape(text), unescape(name), max_chars, deadline=deadline
        )
        position = end
    yield safe_html[position:]
