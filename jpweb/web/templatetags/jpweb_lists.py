"""Tags of lists: what may be changed about a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from jpweb.store.disk import facts

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

register = template.Library()


@register.filter
def hindrance(conversation: Conversation) -> str:
    """Say why a conversation cannot be changed here; nothing where it can be."""
    return facts.hindrance(conversation)
