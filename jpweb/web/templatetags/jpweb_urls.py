"""Tags and filters of addresses: of a question, of an event, and the fragment of a permalink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.urls import reverse

from jpweb.store import inquiries
from jpweb.web import review_pages, transcript

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

register = template.Library()


@register.simple_tag
def question_url(conversation: Conversation, anchor: str) -> str:
    """Return the URL of a question's page; one query for all of a conversation."""
    keys = getattr(conversation, "question_keys", None)
    if keys is None:
        keys = inquiries.get_ids_by_anchor(conversation.pk)
        conversation.question_keys = keys  # type: ignore[attr-defined]  # a cache on the instance
    return reverse("question", args=[keys[anchor]]) if anchor in keys else ""


@register.simple_tag
def event_url(conversation_id: int, anchor: str) -> str:
    """Return the URL of a conversation that opens around an event."""
    return transcript.make_event_url(conversation_id, anchor)


@register.simple_tag(takes_context=True)
def queue_query(context: template.Context) -> str:
    """Return the query string that keeps the queue of reviews in which a person is, else ""."""
    queue_name = review_pages.get_queue_name(context["request"])
    return f"?queue={queue_name}" if queue_name else ""


@register.filter(name="hash")
def permalink(anchor: str) -> str:
    """Return the fragment of a permalink."""
    return f"#{anchor}"
