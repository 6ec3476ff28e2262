"""Tags that show events: the fragment of each kind and outcome, and what an event holds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime import prose
from jpweb.runtime.prose import characters, fences, payloads
from jpweb.runtime.prose.payloads import CLIP
from jpweb.store import inquiries
from jpweb.stream import timestamps
from jpweb.stream.events import BrokenEvent, ConversationEvent
from jpweb.stream.inquiry import Cancelled
from jpweb.stream.layout.items import Entry, Inquiry, Item, Placed, Question, StrayInquiry, ToolCall
from jpweb.web import words

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

register = template.Library()
#: Inquiries of one tool call that stand in it; more are led to.
INQUIRIES = 50
#: Inquiries of a tool call that its summary shows one by one; of more it says how many.
BADGES = 6
_NONE: frozenset[str] = frozenset()


class Here(NamedTuple):
    """Where an item is shown: in which conversation, and the anchors of folds as they were left."""

    conversation: Conversation
    opened: frozenset[str] = _NONE
    shut: frozenset[str] = _NONE


@register.simple_tag
def item(
    item: Item,
    conversation: Conversation,
    oob: bool = False,
    opened: frozenset[str] = _NONE,
    shut: frozenset[str] = _NONE,
) -> SafeString:
    """Render an item of an outline with the fragment of its kind."""
    here = Here(conversation, opened, shut)
    match item:
        case ToolCall():
            return _placed(item.request, here, call=item, oob=oob, **_asked(item))
        case StrayInquiry():
            return _placed(item.inquiry.request, here, inquiry=item.inquiry, oob=oob)
        case Entry():
            return _placed(item.placed, here, orphan=item.orphan)


@register.simple_tag
def asked(inquiry: Inquiry, here: Here) -> SafeString:
    """Render an inquiry as a sub-flow."""
    return _placed(inquiry.request, here, inquiry=inquiry)


@register.simple_tag
def result(response: Placed, here: Here) -> SafeString:
    """Render what a tool call gave back."""
    body = response.element.body
    again = isinstance(body, ConversationEvent) and body.note.get("again") is True
    return _placed(response, here, again=again)


def _asked(call: ToolCall) -> dict[str, Any]:
    """Return the questions of a call, as many as stand in it, and how many inquiries do not."""
    shown: list[Question] = []
    left = INQUIRIES
    for question in call.groups:
        if left > 0:
            shown.append(Question(question.key, list(islice(question.attempts, left))))
        left -= len(question.attempts)
    states = [inquiry.state for inquiry in call.inquiries]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    return {
        "questions": shown,
        "more": max(-left, 0),
        "counts": counts if len(states) > BADGES else None,
    }


def _placed(placed: Placed, here: Here, **more: Any) -> SafeString:
    """Render one element: by its kind, or raw where it is unknown or broken."""
    body = placed.element.body
    context: dict[str, Any] = {
        "placed": placed,
        "id": placed.anchor,
        "tag": placed.element.tag,
        "event": body,
        "here": here,
        "conversation": here.conversation,
        "unfolded": placed.anchor in here.opened,
        "folded": placed.anchor in here.shut,
    }
    if not isinstance(body, ConversationEvent):
        context["broken"] = body.problem if isinstance(body, BrokenEvent) else ""
        return render_to_string("events/unknown.html", context)
    context |= {
        "event": body.kind,
        "at": timestamps.parse(body.timestamp),
        "formatted": payloads.formatted(body),
    }
    return render_to_string(f"events/{body.kind.TAG}.html", context | more)


@register.simple_tag
def outcome(inquiry: Inquiry) -> SafeString:
    """Render how an inquiry stands, with the fragment of its state."""
    response = inquiry.response
    body = response.element.body if response else None
    note = body.metadata.get("jpweb") if isinstance(body, ConversationEvent) else None
    by = note.get("by") if isinstance(note, dict) else None
    by = by if isinstance(by, dict) else {}
    ended = inquiry.outcome
    context = {
        "inquiry": inquiry,
        "outcome": ended,
        "reason": ended.reason.tag if isinstance(ended, Cancelled) else "",
        "by": words.decided_by(str(by.get("kind") or ""), str(by.get("name") or "")),
        "known": bool(by),
        "remembered": isinstance(note, dict) and note.get("remember") is True,
        "note": inquiries.note(str(note.get("note") or "")) if isinstance(note, dict) else "",
        "at": timestamps.parse(body.timestamp) if isinstance(body, ConversationEvent) else None,
    }
    return render_to_string(f"outcomes/{inquiry.state}.html", context)


@register.inclusion_tag("events/_payload.html", takes_context=True)
def payload(context: template.Context, name: str) -> dict[str, Any]:
    """Render what an event holds: its beginning, its true size, the way to the rest."""
    placed: Placed = context["placed"]
    found = payloads.named(placed.element, name)
    return {
        "payload": found,
        "shown": found and found.beginning(),
        "conversation": context["conversation"],
        "id": placed.anchor,
    }


@register.simple_tag
def long_text(
    text: str,
    conversation: Conversation,
    id: str,  # noqa: A002  the event's anchor
    look: Literal["markdown", "question"] = "markdown",
) -> SafeString:
    """Render a text that may be very long: its beginning, its true size, the way to the rest.

    A question is Markdown whose line ends count, as a terminal shows it.
    """
    shown = next(fences.parts(text[: CLIP + 1], CLIP), "")
    context = {
        "html": prose.html(shown, line_ends=look == "question"),
        "size": f"{len(text):,}",
        "cut": len(text) > CLIP,
        "conversation": conversation,
        "id": id,
    }
    return render_to_string("_long.html", context)


@register.filter
def visible(text: str) -> str:
    """Show characters that hide, or that make others lie, as what they are."""
    return characters.visible(text)
