"""Tags of questions: the fields of their forms, previous answers, and desktop notifications."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.store import approvals, inquiries
from jpweb.store.inbox import previous_answers
from jpweb.stream.answer_type import Option, Secret, format_answer
from jpweb.stream.transcript.items import ToolCall
from jpweb.web import display_text
from jpweb.web.templatetags.jpweb_events import visible
from jpweb.web.templatetags.jpweb_text import first_line
from jpweb.web.templatetags.jpweb_times import render_timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from jpweb.store.inbox.previous_answers import PreviousAnswer
    from jpweb.store.models import Approval
    from jpweb.store.models import Inquiry as Row

register = template.Library()
#: Options of a select that are listed, and characters of all of them, beside the first; the others
#: are counted beside a link.
MAX_LISTED_OPTIONS, MAX_LISTED_OPTION_CHARS = 100, 12_000
#: Characters of a default that a card's field is filled with.
MAX_FILLED_DEFAULT_CHARS = 12_000
#: Options of a select whose card has a button for each, and characters of the longest.
MAX_ANSWER_BUTTONS, MAX_ANSWER_BUTTON_CHARS = 5, 40


@register.simple_tag
def answer_fields(row: Row, typed_text: str = "", remember: bool = False) -> SafeString:
    """Render the form fields of a question's answer type."""
    question = row.question
    options = question["answer_type"].get("options") or []
    default = _format_value(question.get("default"))
    has_long_default = len(default) > MAX_FILLED_DEFAULT_CHARS
    context = {
        "row": row,
        "question": question,
        "default": "" if has_long_default else default,
        "has_long_default": has_long_default,
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


@register.inclusion_tag("questions/_options.html")
def option_list(
    options: Sequence[Option | dict[str, Any]], conversation_id: int, anchor: str
) -> dict[str, Any]:
    """Render the first options of a select, of an event or of a row, and how many more it has."""
    shown_options = [_describe_option(option) for option in options[:MAX_LISTED_OPTIONS]]
    char_counts = accumulate(len(text) + len(description) for text, description in shown_options)
    fitting_count = sum(char_count <= MAX_LISTED_OPTION_CHARS for char_count in char_counts)
    shown_count = max(fitting_count, 1)
    return {
        "options": shown_options[:shown_count],
        "more_count": max(len(options) - shown_count, 0),
        "conversation_id": conversation_id,
        "anchor": anchor,
    }


def _describe_option(option: Option | dict[str, Any]) -> tuple[str, str]:
    """Return the text and the description of an option, cut and revealed."""
    if isinstance(option, Option):
        return visible(option.label), visible(option.description)
    return visible(format_answer(option["value"])), visible(option.get("description"))


def _is_one_press(options: list[dict[str, Any]]) -> bool:
    """Tell whether options are few and short enough for a button each, which sends."""
    return len(options) <= MAX_ANSWER_BUTTONS and all(
        len(format_answer(option["value"])) <= MAX_ANSWER_BUTTON_CHARS for option in options
    )


def _format_value(value: Any) -> str:
    """Return a value as a form sends it: a string as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
def render_previous_answer(previous_answer: PreviousAnswer) -> SafeString:
    """Render one previous answer."""
    answer = (
        None
        if previous_answer.answer is None
        else first_line(format_answer(previous_answer.answer))
    )
    shortened_answer = previous_answer._replace(
        answer=answer, note=first_line(previous_answer.note)
    )
    return _render_cached_answer(
        shortened_answer, display_text.format_age(previous_answer.settled_at)
    )


#: Cached: the same previous answers are shown with each repetition of a question, in each inbox.
@lru_cache(maxsize=500)
def _render_cached_answer(previous_answer: PreviousAnswer, age_text: str) -> SafeString:
    settled_html = render_timestamp(previous_answer.settled_at, "", age_text)
    return render_to_string(
        "questions/_previous_answer.html",
        {"previous": previous_answer, "timestamp_html": settled_html},
    )


@register.simple_tag
def notification_attributes(newest_row: Row | Approval, at: datetime | None = None) -> SafeString:
    """Render the attributes of a desktop notification; without the text of a secret's question.

    ``at`` is the time of a question that returned from a snooze: pages name what came last.
    """
    if approvals.is_approval(newest_row):
        asker, text = newest_row.tool_name, display_text.APPROVAL_TEXTS[newest_row.kind]
        key, page_url = f"approval-{newest_row.pk}", reverse("approval", args=[newest_row.pk])
    else:
        row: Any = newest_row
        asker, is_secret = row.label or row.asker, row.answer_type == Secret.TAG
        text = display_text.SECRET_REQUESTED if is_secret else first_line(row.question["text"])
        key, page_url = f"question-{newest_row.pk}", reverse("question", args=[newest_row.pk])
    return format_html(
        ' data-newest="{}" data-asked-at="{}" data-asker="{}" data-text="{}" data-href="{}"',
        key,
        (at or newest_row.asked_at).timestamp(),
        asker,
        text,
        page_url,
    )


@register.filter
def has_open_question(call: ToolCall) -> bool:
    """Tell whether a question of a tool call is open."""
    return any(inquiry.state == "open" for inquiry in call.inquiries)
