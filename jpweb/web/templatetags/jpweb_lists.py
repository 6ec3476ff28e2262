"""Filters of conversation lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from jpweb.store.jp_files import metadata_file

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

register = template.Library()


@register.filter
def readonly_reason(conversation: Conversation) -> str:
    """Return why a conversation cannot be changed here; "" where it can be."""
    return metadata_file.get_obstacle(conversation)
