"""The block tag that caches HTML in the process, and what it needs as a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.utils.safestring import SafeString

from jpweb.web import html_cache

register = template.Library()


class CachedHtml(template.Node):
    """A block whose HTML is cached by the name of the block and the values that it depends on."""

    def __init__(self, nodelist: NodeList, values: list[FilterExpression]) -> None:
        self.nodelist = nodelist
        self._values = values

    def render(self, context: template.Context) -> SafeString:
        """Return the cached HTML for these values; render and cache it where there is none."""
        key = tuple(html_cache.make_hashable(value.resolve(context)) for value in self._values)
        return html_cache.get_or_render_html(key, lambda: self.nodelist.render(context))


@register.tag
def cached_html(parser: Parser, token: Token) -> CachedHtml:
    """Cache the HTML of the block: ``{% cached_html "name" value ... %}…{% endcached_html %}``.

    Values are all that the block shows or decides by, the person included where it does. They are
    hashable, or dicts and lists whose ``repr`` tells them apart.
    """
    _, *expressions = token.split_contents()
    nodelist = parser.parse(("endcached_html",))
    parser.delete_first_token()
    return CachedHtml(nodelist, [parser.compile_filter(text) for text in expressions])


@register.filter
def key_names(rows: Iterable[Any]) -> tuple[tuple[int, str], ...]:
    """Return the keys and names of rows, as a value of ``cached_html``."""
    return tuple((row.pk, row.name) for row in rows)
