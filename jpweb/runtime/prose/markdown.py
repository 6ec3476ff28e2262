"""Markdown to HTML that is safe to show. The dialect is JP's own (comrak)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape

import comrak
import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime.prose import code
from jpweb.runtime.prose.characters import visible

EXTENSIONS = comrak.ExtensionOptions(
    table=True, strikethrough=True, autolink=True, tasklist=True, footnotes=True
)
RENDER = comrak.RenderOptions(escape=True, unsafe_=False)
_RENDER_LINES = comrak.RenderOptions(escape=True, unsafe_=False, hardbreaks=True)
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
#: Before the ids of headings: a heading "Search" must not be taken for the form of that id.
_ID_PREFIX = "doc-"
_DOCUMENT_EXTENSIONS = comrak.ExtensionOptions(table=True, header_id_prefix=_ID_PREFIX)
_DOCUMENT_CLEANER = nh3.Cleaner(
    tags=_TAGS | {"img"},
    attributes=_ATTRIBUTES | {"img": {"src", "alt"}, "h2": {"id"}, "h3": {"id"}},
    url_schemes=_SCHEMES,
    link_rel="noopener noreferrer",
)
#: Past these the cleaner's time grows with the square of the input; the text is shown plain.
_MOST_HTML = 20
_DEEPEST = 100
_NESTED = re.compile(r"<(/?)(?:ul|ol|em|strong|del|sup)\b")
_MARKS = ("*", "_", "~", "^")
#: Raw HTML is escaped, so only comrak can have written these.
_LINK = re.compile(r'<a href="(?!(?i:https?://|mailto:|#))[^"]*"')
#: comrak puts a link to itself into each heading: without a text, and one more to tab through.
_HEADING_LINK = re.compile(
    r'<a href="#[^"]*" aria-label="[^"]*" data-heading-content="[^"]*" class="anchor"></a>'
)
#: The address of another file, of a heading in it, or of a heading of the same page.
_ADDRESS = re.compile(r'(<a href|<img src)="([^"#:]*)(?:#([^"]*))?"')
_BLOCK, _END = '<pre><code class="language-', "</code></pre>"


def html(markdown: str, *, line_ends: bool = False, most: int = 0) -> SafeString:
    """Return the HTML of hostile Markdown: raw HTML is shown as text, never obeyed.

    ``line_ends`` keeps every line end as one. Of code, diffs are marked, and what is no longer
    than ``most`` characters is coloured; that takes many times as long as everything else.
    """
    if not markdown.strip():
        return SafeString("")
    text = visible(markdown)
    render = _RENDER_LINES if line_ends else RENDER
    made = comrak.markdown_to_html(text, EXTENSIONS, None, render)
    if not made or len(made) > _MOST_HTML * len(text) + 1000 or _is_deep(made, text):
        return format_html("<pre>{}</pre>", text)
    clean = CLEANER.clean(made)
    # A link to nowhere would load this page again; one without a host would lead into this site.
    return SafeString("".join(_blocks(_LINK.sub("<a", clean), most)))


def document_html(markdown: str, find_address: Callable[[str], str]) -> SafeString:
    """Return the HTML of a page of our own documentation, with pictures and linked headings.

    ``find_address`` returns the address of another file of the documentation.
    """
    rendered = comrak.markdown_to_html(markdown, _DOCUMENT_EXTENSIONS, None, RENDER)
    clean = _DOCUMENT_CLEANER.clean(_HEADING_LINK.sub("", rendered))

    def locate(link: re.Match[str]) -> str:
        address = find_address(link[2]) if link[2] else ""
        return f'{link[1]}="{address}{f"#{_ID_PREFIX}{link[3]}" if link[3] else ""}"'

    return SafeString(_ADDRESS.sub(locate, clean))


def _is_deep(made: str, text: str) -> bool:
    """Tell whether too many elements stand inside each other; few texts need a close look."""
    if made.count("<blockquote>") > _DEEPEST:
        return True
    if " " * _DEEPEST not in text and sum(map(text.count, _MARKS)) <= _DEEPEST:
        return False
    depth = 0
    for tag in _NESTED.finditer(made):
        depth += -1 if tag[1] else 1
        if depth > _DEEPEST:
            return True
    return False


def _blocks(clean: str, most: int) -> Iterator[str]:
    """Yield the HTML, its blocks of code coloured. Their text was escaped, and is again."""
    at = 0
    while (start := clean.find(_BLOCK, at)) >= 0:
        end = clean.index(_END, start)
        name, _, text = clean[start + len(_BLOCK) : end].partition('">')
        yield clean[at:start]
        yield f'<pre tabindex="0"><code class="code language-{name}">'
        yield code.coloured(unescape(text), unescape(name), most)
        at = end
    yield clean[at:]
