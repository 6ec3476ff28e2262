"""Tags and filters of every page: questions and approvals, states, times, labels."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime.inquiries import approvals as running
from jpweb.runtime.rendering import invisible_characters
from jpweb.store import approvals, inquiries
from jpweb.store.database import clock
from jpweb.store.inbox import previous_answers
from jpweb.stream import durations
from jpweb.stream.answer_type import Option, Secret, format_answer
from jpweb.stream.inquiry import Cancelled
from jpweb.stream.transcript.items import InquiryPair, ToolCall
from jpweb.web import display_text, transcript
from jpweb.web.labels import outcome_labels
from jpweb.web.websocket import conversation_updates

if TYPE_CHECKING:
    from jpweb.store.inbox.previous_answers import PreviousAnswer
    from jpweb.store.models import Approval, Conversation
    from jpweb.store.models import Inquiry as Row

register = template.Library()
#: Characters of a long text that are shown, with a link to the rest.
MAX_CLIPPED_CHARS = 12_000
#: Characters of a question in its summary.
MAX_SUMMARY_CHARS = 140
#: Options of a select whose card has a button for each, and characters of the longest.
MAX_ANSWER_BUTTONS, MAX_ANSWER_BUTTON_CHARS = 5, 40
#: Characters of an answer in a badge.
MAX_BADGE_CHARS = 60
_ANSWER_BADGE = (
    '<span class="state" data-outcome="answered"><span aria-hidden="true">✓</span> '
    '<span class="visually-hidden">Answered: </span>{}</span>'
)


@register.simple_tag
def answer_fields(row: Row, typed_text: str = "", remember: bool = False) -> SafeString:
    """Render the form fields of a question's answer type."""
    question = row.question
    options = question["answer_type"].get("options") or []
    context = {
        "row": row,
        "question": question,
        "default": _format_value(question.get("default")),
        "typed_text": typed_text,
        "may_be_remembered": inquiries.can_remember(row),
        "remember": remember,
        "is_one_press": _is_one_press(options),
        "options": [
            {
                "label": Option(option["value"]).label,
                "text": format_answer(option["value"]),
                "description": option.get("description", ""),
            }
            for option in options
        ],
    }
    return render_to_string([f"answers/{row.answer_type}.html", "answers/unknown.html"], context)


def _is_one_press(options: list[dict[str, Any]]) -> bool:
    """Tell whether options are few and short enough for a button each, which sends."""
    return len(options) <= MAX_ANSWER_BUTTONS and all(
        len(format_answer(option["value"])) <= MAX_ANSWER_BUTTON_CHARS for option in options
    )


@register.inclusion_tag("questions/_previous_answers.html", takes_context=True)
def render_previous_answers(context: template.Context, row: Row) -> dict[str, Any]:
    """Render the previous answers to the same question.

    The first call reads them for every card of the page at once.
    """
    if not hasattr(row, "previous_answers"):
        page_rows = context.get("pending_rows") or []
        previous_answers.attach_previous(page_rows if row in page_rows else [row])
    return {"previous_answers": getattr(row, "previous_answers", [])}


@register.simple_tag
def render_previous_answer(previous: PreviousAnswer) -> SafeString:
    """Render one previous answer."""
    answer = None if previous.answer is None else first_line(format_answer(previous.answer))
    short = previous._replace(answer=answer, note=first_line(previous.note))
    return _render_cached_answer(short, display_text.format_age(previous.settled_at))


#: Cached: the same previous answers are shown with each repetition of a question, in each inbox.
@lru_cache(maxsize=500)
def _render_cached_answer(previous: PreviousAnswer, ago: str) -> SafeString:
    settled_html = _render_timestamp(previous.settled_at, "", ago)
    return render_to_string(
        "questions/_previous_answer.html", {"previous": previous, "timestamp_html": settled_html}
    )


@register.filter
def seconds_since(at: datetime) -> int:
    return max(int((clock.now() - at).total_seconds()), 0)


@register.simple_tag
def waiting_time(row: Row | Approval) -> SafeString:
    """Render a row's waiting time and its expiry, which the page's script keeps current."""
    expires_at = getattr(row, "expires_at", None)  # an approval does not expire
    seconds_left = (expires_at - clock.now()).total_seconds() if expires_at else None
    context = {
        "row": row,
        "waiting_seconds": seconds_since(row.asked_at),
        "remaining_seconds": None if seconds_left is None else max(int(seconds_left), 0),
    }
    return render_to_string("questions/_waiting_time.html", context)


@register.simple_tag
def notification_attributes(newest: Row | Approval) -> SafeString:
    """Render the attributes of a desktop notification; without the text of a secret's question."""
    if approvals.is_approval(newest):
        asker, text = newest.tool_name, display_text.APPROVAL_TEXTS[newest.kind]
        key, page_url = f"approval-{newest.pk}", reverse("approval", args=[newest.pk])
    else:
        row: Any = newest
        asker, is_secret = row.label or row.asker, row.answer_type == Secret.TAG
        text = display_text.SECRET_REQUESTED if is_secret else first_line(row.question["text"])
        key, page_url = f"question-{newest.pk}", reverse("question", args=[newest.pk])
    return format_html(
        ' data-newest="{}" data-asked-at="{}" data-asker="{}" data-text="{}" data-href="{}"',
        key,
        newest.asked_at.timestamp(),
        asker,
        text,
        page_url,
    )


@register.simple_tag
def question_url(conversation: Conversation, anchor: str) -> str:
    """Return the URL of a question's page; one query for all of a conversation."""
    keys = getattr(conversation, "question_keys", None)
    if keys is None:
        keys = inquiries.ids_by_anchor(conversation.pk)
        conversation.question_keys = keys  # type: ignore[attr-defined]  # a cache on the instance
    return reverse("question", args=[keys[anchor]]) if anchor in keys else ""


@register.simple_tag
def inquiry_badge(inquiry: InquiryPair) -> SafeString:
    """Render an inquiry's outcome in one line: the answer or the state, who decided, how long."""
    label = outcome_labels.describe_outcome(inquiry)
    badge = (
        format_html(_ANSWER_BADGE, _clip_line(invisible_characters.reveal_invisible(label.answer)))
        if inquiry.state == "answered"
        else state_badge(inquiry.state, label.reason)
    )
    facts = " · ".join(filter(None, (label.decider, label.waited)))
    return badge + format_html(' <span class="muted">{}</span>', facts) if facts else badge


@register.simple_tag
def state_count(tag: str, count: int) -> SafeString:
    """Render the badge of a state with its count."""
    return _render_badge(tag, "", count)


@register.simple_tag
def state_badge(tag: str, reason: str = "") -> SafeString:
    """Render the badge of a state, with its reason."""
    is_known = tag in display_text.STATE_LABELS and (
        not reason or reason in display_text.REASON_TEXTS
    )
    return _render_known_badge(tag, reason) if is_known else _render_badge(tag, reason)


@lru_cache(maxsize=5000)
def _render_timestamp(at: datetime | None, link: str, ago: str) -> SafeString:
    return render_to_string("_timestamp.html", {"at": at, "link": link, "ago": ago})


def _render_badge(tag: str, reason: str, count: int = 0) -> SafeString:
    label, mark = display_text.STATE_LABELS.get(tag, (tag, "?"))
    context = {
        "tag": tag,
        "label": label,
        "mark": mark,
        "reason": reason,
        "reason_text": display_text.describe_reason(reason),
    }
    return render_to_string("_state_badge.html", context | {"count": count})


#: Cached without a bound: known states and reasons are few, and a page may show one 100 times.
_render_known_badge = cache(_render_badge)


@register.simple_tag
def timestamp(at: datetime | None, link: str = "", exact: bool = False) -> SafeString:
    """Render a timestamp: relative within 30 days, otherwise by date and time."""
    return _render_timestamp(at, link, "" if exact or at is None else display_text.format_age(at))


@register.inclusion_tag("approvals/_clipped_text.html")
def clipped_text(row: Approval, text: str, is_full: bool = False) -> dict[str, Any]:
    """Render arguments or a result: the first characters, the size, and the link to the rest."""
    is_clipped = len(text) > MAX_CLIPPED_CHARS and not is_full
    return {
        "row": row,
        "shown_text": text[:MAX_CLIPPED_CHARS] if is_clipped else text,
        "char_count": len(text),
        "is_cut": is_clipped,
    }


@register.inclusion_tag("_state_badge.html")
def approval_state(row: Approval) -> dict[str, Any]:
    """Render the badge of an approval's decision."""
    decision = row.decision or {}
    tag, label, mark = display_text.describe_decision(row.kind, row.state, decision)
    return {"tag": tag, "label": label, "mark": mark}


@register.filter
def is_approval(row: Row | Approval) -> bool:
    """Tell whether a row is an approval and no question."""
    return approvals.is_approval(row)


@register.filter
def is_editable(row: Approval) -> bool:
    """Tell whether the arguments or the result are small enough to be edited in a form."""
    return len(running.get_editable_text(row).encode()) <= running.MAX_EDITABLE_BYTES


@register.filter
def editable_text(row: Approval) -> str:
    """Return the arguments or the result as the text of a form field."""
    return running.get_editable_text(row)


@register.filter
def failure_text(kind: str) -> str:
    """Return the text of a provider's failure; "" for an unknown kind."""
    return display_text.FAILURE_TEXTS.get(kind, "")


@register.filter
def as_json(value: Any) -> str:
    """Show a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def answer_text(value: Any) -> str:
    """Return an answer as people read it, "" for None."""
    return "" if value is None else format_answer(value)


@register.filter
def iso_time(at: datetime) -> str:
    """Return an instant in UTC and ISO 8601."""
    return at.astimezone(UTC).isoformat()


@register.filter
def utc_seconds(at: datetime) -> str:
    """Return an instant as date and time, in UTC."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


@register.filter
def metadata_key(conversation: Conversation) -> str:
    """Return the key of a conversation's metadata, by which a page detects that it changed."""
    return conversation_updates.make_metadata_key(conversation)


@register.filter
def has_open_question(call: ToolCall) -> bool:
    """Tell whether a question of a tool call is open."""
    return any(inquiry.state == "open" for inquiry in call.inquiries)


@register.filter
def state_words(tag: str) -> str:
    """Return the word for the tag of a state."""
    return display_text.STATE_LABELS[tag][0]


@register.filter
def reason_text(tag: str) -> str:
    """Return the text of a cancellation reason."""
    return display_text.describe_reason(tag)


@register.filter
def source_label(tag: str) -> str:
    """Return the label of an inquiry's source."""
    return display_text.SOURCE_LABELS.get(tag, tag)


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
def cancel_reason(inquiry: InquiryPair) -> str:
    """Return the tag of an inquiry's cancellation reason, "" where it was not cancelled."""
    inquiry_outcome = inquiry.outcome
    return inquiry_outcome.reason.tag if isinstance(inquiry_outcome, Cancelled) else ""


@register.filter
def decider_text(row: Row) -> str:
    """Return the text of the decider of a question, "" while it is open."""
    return display_text.describe_decider(row.decided_by, row.decider_name) if row.settled_at else ""


@register.filter
def elapsed_time(seconds: int) -> str:
    """Return the text of a growing duration."""
    return display_text.format_elapsed(seconds)


@register.filter
def delay_label(seconds: int) -> str:
    """Return the text of the delay of a notification."""
    return display_text.describe_delay(seconds)


@register.filter
def time_after_asking(at: datetime | None, row: Row) -> str:
    """Return the time from a question's asking to an instant."""
    return durations.format_duration(max((at - row.asked_at).total_seconds(), 0)) if at else ""


@register.filter
def receipt_label(column: str) -> str:
    """Return the label of a receipt's column."""
    return display_text.RECEIPT_LABELS[column]


@register.filter
def waited_duration(row: Row) -> str:
    """Return how long a question waited, in words."""
    return durations.format_duration(inquiries.waiting_seconds(row))


@register.filter(name="hash")
def permalink(anchor: str) -> str:
    """Return the fragment of a permalink."""
    return f"#{anchor}"


@register.simple_tag
def event_url(conversation_id: int, anchor: str) -> str:
    """Return the URL of a conversation that opens around an event."""
    return transcript.make_event_url(conversation_id, anchor)


@register.filter
def first_line(text: str) -> str:
    """Return the first line, cut to ``MAX_SUMMARY_CHARS``."""
    return _clip_line(text, MAX_SUMMARY_CHARS)


def _clip_line(text: str, max_chars: int = MAX_BADGE_CHARS) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"


def _format_value(value: Any) -> str:
    """Return a value as a form sends it: a string as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
