"""Tags and filters of labels: badges of states, and the words for tags of the store."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from jpweb.stream.inquiry import Cancelled
from jpweb.stream.markdown import outcome_texts
from jpweb.stream.transcript.items import InquiryPair
from jpweb.web import display_text
from jpweb.web.labels import outcome_labels
from jpweb.web.templatetags.jpweb_text import clip_line

if TYPE_CHECKING:
    from jpweb.store.models import Approval
    from jpweb.store.models import Inquiry as Row

register = template.Library()
#: Characters of an answer or a reply in a badge.
MAX_BADGE_CHARS = 60
#: Characters of an unknown reason.
MAX_REASON_CHARS = 200
_ANSWER_BADGE = (
    '<span class="state" data-outcome="answered"><span aria-hidden="true">✓</span> '
    '<span class="visually-hidden">Answered: </span>{}</span>'
)


@register.simple_tag
def inquiry_badge(inquiry: InquiryPair) -> SafeString:
    """Render an inquiry's outcome in one line: answer, reply or state, decider, duration."""
    label = outcome_labels.describe_outcome(inquiry)
    text = label.note if label.is_reply else label.answer
    line = reveal_invisible(clip_line(text, MAX_BADGE_CHARS))
    if label.is_reply:
        badge = render_to_string("outcomes/reply_badge.html", {"line": line})
    elif inquiry.state == "answered":
        badge = format_html(_ANSWER_BADGE, line)
    else:
        badge = state_badge(inquiry.state, label.reason)
    facts = " · ".join(filter(None, (reveal_invisible(label.decider), label.waited)))
    return badge + format_html(' <span class="muted">{}</span>', facts) if facts else badge


@register.inclusion_tag("_state_badge.html")
def approval_state(row: Approval) -> dict[str, Any]:
    """Render the badge of an approval's decision."""
    decision = row.decision or {}
    tag, label, mark = display_text.describe_decision(row.kind, row.state, decision)
    return {"tag": tag, "label": label, "mark": mark}


@register.simple_tag
def state_count(tag: str, count: int) -> SafeString:
    """Render the badge of a state with its count."""
    return _render_badge(tag, "", count)


@register.simple_tag
def state_badge(tag: str, reason: str = "", channel: str = "") -> SafeString:
    """Render the badge of a state, with its reason; ``channel`` tells that of a reply."""
    is_known = tag in display_text.STATE_LABELS and (
        not reason or reason in outcome_texts.REASON_TEXTS
    )
    is_reply = bool(reason) and channel == outcome_texts.REPLY_CHANNEL
    return (_render_known_badge if is_known else _render_badge)(tag, reason, is_reply=is_reply)


def _render_badge(tag: str, reason: str, count: int = 0, *, is_reply: bool = False) -> SafeString:
    label, mark = display_text.STATE_LABELS.get(tag, (tag, "?"))
    context = {
        "tag": tag,
        "label": label,
        "mark": mark,
        "reason": reason,
        "reason_text": reveal_invisible(
            outcome_texts.describe_reason(reason, outcome_texts.REPLY_CHANNEL if is_reply else "")
        ),
    }
    return render_to_string("_state_badge.html", context | {"count": count})


#: Cached without a bound: known states and reasons are few, and a page may show one 100 times.
_render_known_badge = cache(_render_badge)


@register.filter
def state_words(tag: str) -> str:
    """Return the word for the tag of a state."""
    return display_text.STATE_LABELS[tag][0]


@register.filter
def reason_text(tag: str) -> str:
    """Return the text of a cancellation reason."""
    return reveal_invisible(outcome_texts.describe_reason(tag))


@register.filter
def cancel_reason(inquiry: InquiryPair) -> str:
    """Return the tag of an inquiry's cancellation reason, "" where it was not cancelled."""
    inquiry_outcome = inquiry.outcome
    if not isinstance(inquiry_outcome, Cancelled):
        return ""
    return reveal_invisible(inquiry_outcome.reason.tag[:MAX_REASON_CHARS])


@register.filter
def decider_text(row: Row) -> str:
    """Return the text of the decider of a question, "" while it is open."""
    if not row.settled_at:
        return ""
    return reveal_invisible(outcome_texts.describe_decider(row.decided_by, row.decider_name))


@register.filter
def approval_decider(row: Approval) -> str:
    """Return the text of the decider of an approval."""
    return reveal_invisible(outcome_texts.name_approval_decider(row.state, row.decider_name))


@register.filter
def source_label(tag: str) -> str:
    """Return the label of an inquiry's source."""
    return display_text.SOURCE_LABELS.get(tag) or reveal_invisible(tag)


@register.filter
def answer_type_label(tag: str) -> str:
    """Return the label of a question's answer type."""
    return display_text.ANSWER_TYPE_LABELS.get(tag, tag)


@register.filter
def event_kind_label(tag: str) -> str:
    """Return the label of an event's kind."""
    return display_text.EVENT_KIND_LABELS.get(tag, tag)


@register.filter
def redaction_place_label(place: str) -> str:
    """Return the label of a place in which a redaction replaces content."""
    return display_text.EVENT_KIND_LABELS.get(place, place.replace("_", " "))


@register.filter
def hit_category_label(category: str) -> str:
    """Return the label of a search hit's category."""
    return display_text.HIT_CATEGORY_LABELS.get(category, category)


@register.filter
def failure_text(kind: str) -> str:
    """Return the text of a provider's failure; "" for an unknown kind."""
    return display_text.FAILURE_TEXTS.get(kind, "")


@register.filter
def receipt_label(column: str) -> str:
    """Return the label of a receipt's column."""
    return display_text.RECEIPT_LABELS[column]
