"""Tags of the head of every page; their HTML is cached: it took 1.3 ms of the list's 17."""

from __future__ import annotations

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.web import html_cache

register = template.Library()


@register.simple_tag(takes_context=True)
def main_navigation(context: template.Context) -> SafeString:
    """Render the links to the sections of the site, and the number of waiting questions."""
    section = context.get("section", "")
    values = {
        "section": section,
        "current": "page" if context["request"].path == f"/{section}" else "true",
        "may_answer": context.get("may_answer", False),
        "may_audit": context.get("may_audit", False),
        "waiting_count": context.get("waiting_count", 0),
    }
    key = ("main navigation", *values.values())
    return html_cache.get_or_render_html(
        key, lambda: render_to_string("_main_navigation.html", values)
    )


@register.simple_tag(takes_context=True)
def account_links(context: template.Context) -> SafeString:
    """Render the links of the menu under the person's name."""
    values = {
        "unseen_mention_count": context["user"].unseen_mention_count,
        "owns_workspace": bool(context.get("owned_workspaces")),
    }
    key = ("account links", *values.values())
    return html_cache.get_or_render_html(
        key, lambda: render_to_string("_account_links.html", values)
    )
