"""Tags of annotations: the block below an item, and the text of a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime import rendering
from jpweb.web.annotation_blocks import PageAnnotations, list_anchors

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.stream.transcript.items import Item
    from jpweb.web.transcript import CallGroup

register = template.Library()
_NONE = PageAnnotations()


@register.simple_tag
def render_annotations(item: Item, conversation: Conversation) -> SafeString:
    """Render the bookmark of an item and the comments on its events, if there are any."""
    annotations: PageAnnotations = getattr(conversation, "annotations", _NONE)
    context = annotations.select(list_anchors(item))
    if context is None:
        return SafeString("")
    return render_to_string("annotations/_block.html", context | {"conversation": conversation})


@register.filter
def has_annotations(group: CallGroup, conversation: Conversation) -> bool:
    """Tell whether an item of a group of calls has a bookmark or a comment."""
    annotations: PageAnnotations = getattr(conversation, "annotations", _NONE)
    return any(annotations.select(list_anchors(line.item)) for line in group.lines)


@register.filter
def comment_html(text: str) -> SafeString:
    """Render the Markdown of a comment as safe HTML."""
    return rendering.render_markdown(text, keep_line_ends=True)
