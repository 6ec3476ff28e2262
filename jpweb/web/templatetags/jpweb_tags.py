"""Tags and filters of every page: questions and prompts, states, times, words."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from jpweb.runtime import prompts as running
from jpweb.store import inquiries, prompts
from jpweb.store.database import clock
from jpweb.store.telling import earlier
from jpweb.stream.answers import Secret
from jpweb.stream.inquiry import Cancelled
from jpweb.stream.layout.items import Inquiry, ToolCall
from jpweb.web import changes, words

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Prompt
    from jpweb.store.models import Inquiry as Row
    from jpweb.store.telling.earlier import Earlier

register = template.Library()
#: Characters of a long text that are shown before the rest is offered.
CLIP = 12_000
#: Characters of a question that stand in its summary.
LINE = 140


@register.simple_tag
def answer_fields(row: Row, typed: str = "", remember: bool = False) -> SafeString:
    """Render the fields in which a question of this answer type is answered."""
    question = row.question
    options = question["answer_type"].get("options") or []
    context = {
        "row": row,
        "question": question,
        "default": _shown(question.get("default")),
        "typed": typed,
        "may_be_remembered": inquiries.may_be_remembered(row),
        "remember": remember,
        "options": [
            {"label": _shown(o["value"]), "description": o.get("description", "")} for o in options
        ],
    }
    return render_to_string([f"answers/{row.answer_type}.html", "answers/unknown.html"], context)


@register.inclusion_tag("questions/_earlier.html", takes_context=True)
def earlier_answers(context: template.Context, row: Row) -> dict[str, Any]:
    """Render how the same question was settled before.

    Where nobody has looked yet, it is looked up for every card of the page at once.
    """
    if not hasattr(row, "earlier"):
        here = context.get("waiting_here") or []
        earlier.attach(here if row in here else [row])
    return {"earlier": getattr(row, "earlier", [])}


@register.simple_tag
def earlier_answer(was: Earlier) -> SafeString:
    """Render how one of them was settled."""
    answer = None if was.answer is None else first_line(_shown(was.answer))
    short = was._replace(answer=answer, note=first_line(was.note))
    return _earlier_answer(short, _ago(was.settled_at))


#: The same few stand beside a question each time that it is asked, and on each desk.
@lru_cache(maxsize=500)
def _earlier_answer(was: Earlier, ago: str) -> SafeString:
    settled = _moment(was.settled_at, "", ago)
    return render_to_string("questions/_was.html", {"was": was, "settled": settled})


@register.simple_tag
def waiting(row: Row) -> SafeString:
    """Render for how long a question waits, and when it expires; the page's script counts on."""
    now = clock.now()
    left = (row.expires_at - now).total_seconds() if row.expires_at else None
    context = {
        "row": row,
        "since": max(int((now - row.asked_at).total_seconds()), 0),
        "left": None if left is None else max(int(left), 0),
    }
    return render_to_string("questions/_waits.html", context)


@register.simple_tag
def told(newest: Row | Prompt) -> SafeString:
    """Render the attributes by which a page can tell what came to wait; of no secret its text."""
    if prompts.is_one(newest):
        who, ask = newest.tool_name, words.PROMPTS[newest.kind]
        key, there = f"prompt-{newest.pk}", reverse("prompt", args=[newest.pk])
    else:
        row: Any = newest
        who, secret = row.label or row.asker, row.answer_type == Secret.TAG
        ask = "Secret requested" if secret else first_line(row.question["text"])
        key, there = f"question-{newest.pk}", reverse("question", args=[newest.pk])
    return format_html(
        ' data-newest="{}" data-asked="{}" data-who="{}" data-ask="{}" data-href="{}"',
        key,
        newest.asked_at.timestamp(),
        who,
        ask,
        there,
    )


@register.simple_tag
def question_page(conversation: Conversation, anchor: str) -> str:
    """Return the address of a question's own page; one query for all of a conversation."""
    keys = getattr(conversation, "question_keys", None)
    if keys is None:
        keys = inquiries.keys(conversation.pk)
        conversation.question_keys = keys  # type: ignore[attr-defined]  # kept as long as the row
    return reverse("question", args=[keys[anchor]]) if anchor in keys else ""


@register.simple_tag
def inquiry_badge(inquiry: Inquiry) -> SafeString:
    """Render the badge of an inquiry."""
    return state(inquiry.state, reason_of(inquiry))


@register.simple_tag
def state_count(tag: str, count: int) -> SafeString:
    """Render the badge of a state with how many there are."""
    return _badge(tag, "", count)


@register.simple_tag
def state(tag: str, reason: str = "") -> SafeString:
    """Render the badge of a state, with its reason."""
    known = tag in words.STATES and (not reason or reason in words.REASONS)
    return _known_badge(tag, reason) if known else _badge(tag, reason)


def _moment(at: datetime | None, link: str, ago: str) -> SafeString:
    return render_to_string("_moment.html", {"at": at, "link": link, "ago": ago})


def _badge(tag: str, reason: str, count: int = 0) -> SafeString:
    word, mark = words.STATES.get(tag, (tag, "?"))
    says = {"tag": tag, "word": word, "mark": mark, "reason": reason, "why": words.reason(reason)}
    return render_to_string("_state.html", says | {"count": count})


#: Of states and reasons that are known there are few, and a page may show one a hundred times.
_known_badge = cache(_badge)


@register.simple_tag
def moment(at: datetime | None, link: str = "", exact: bool = False) -> SafeString:
    """Render an instant: near ones by how long ago, far and exact ones by date and time."""
    return _moment(at, link, "" if exact or at is None else _ago(at))


@register.inclusion_tag("prompts/_text.html")
def clipped(row: Prompt, text: str, whole: bool = False) -> dict[str, Any]:
    """Render arguments or a result: the beginning, its true size, the way to the rest."""
    cut = len(text) > CLIP and not whole
    return {"row": row, "shown": text[:CLIP] if cut else text, "size": len(text), "cut": cut}


@register.inclusion_tag("_state.html")
def prompt_state(row: Prompt) -> dict[str, Any]:
    """Render the badge of what became of a prompt."""
    decision = row.decision or {}
    tag, word, mark = words.decision(row.kind, row.state, decision)
    return {"tag": tag, "word": word, "mark": mark}


@register.filter
def is_prompt(row: Row | Prompt) -> bool:
    """Tell a permission or delivery prompt from a question."""
    return prompts.is_one(row)


@register.filter
def editable(row: Prompt) -> bool:
    """Tell whether a page offers to edit the arguments or the result."""
    return len(running.editable_text(row).encode()) <= running.EDITABLE


@register.filter
def editable_text(row: Prompt) -> str:
    """Return the arguments or the result as a form offers them."""
    return running.editable_text(row)


@register.filter
def failure_words(kind: str) -> str:
    """Say what kept the provider from a usable reply; nothing where that is not known."""
    return words.FAILURES.get(kind, "")


@register.filter
def as_json(value: Any) -> str:
    """Show a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def shown(value: Any) -> str:
    """Show an answer: a text as it is, anything else as JSON."""
    return _shown(value)


@register.filter
def iso(at: datetime) -> str:
    """Write an instant for machines, in UTC."""
    return at.astimezone(UTC).isoformat()


@register.filter
def to_the_second(at: datetime) -> str:
    """Write an instant as date and time, in UTC."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


@register.filter
def facts_key(conversation: Conversation) -> str:
    """Return what a page remembers of the facts above a transcript, to tell when they change."""
    return changes.facts_key(conversation)


@register.filter
def waits(call: ToolCall) -> bool:
    """Tell whether a question of a tool call waits for its answer."""
    return any(inquiry.state == "open" for inquiry in call.inquiries)


@register.filter
def state_words(tag: str) -> str:
    """Return the word for the tag of a state."""
    return words.STATES[tag][0]


@register.filter
def reason_words(tag: str) -> str:
    """Say what a reason means."""
    return words.reason(tag)


@register.filter
def source_words(tag: str) -> str:
    """Say who asks."""
    return words.SOURCES.get(tag, tag)


@register.filter
def kind_words(tag: str) -> str:
    """Say what an event is."""
    return words.KINDS.get(tag, tag)


@register.filter
def found_in(facet: str) -> str:
    """Say what a hit of a search was found in."""
    return words.FACETS.get(facet, facet)


@register.filter
def reason_of(inquiry: Inquiry) -> str:
    """Return the tag of the reason why an inquiry was cancelled."""
    ended = inquiry.outcome
    return ended.reason.tag if isinstance(ended, Cancelled) else ""


@register.filter
def decided(row: Row) -> str:
    """Say who or what settled a question."""
    return words.decided_by(row.decided_by, row.decider_name) if row.settled_at else ""


@register.filter
def span(seconds: int) -> str:
    """Say how long something goes on that goes on still."""
    return words.span(seconds)


@register.filter
def after(at: datetime | None, row: Row) -> str:
    """Say how long after a question was asked something happened."""
    return words.duration(max((at - row.asked_at).total_seconds(), 0)) if at else ""


@register.filter
def shown_words(column: str) -> str:
    """Say what is on record of the showing of a question."""
    return words.SHOWN[column]


@register.filter
def waited(row: Row) -> str:
    """Say how long a question waited."""
    return words.duration(inquiries.waiting_time(row))


@register.filter(name="hash")
def permalink(anchor: str) -> str:
    """Return the fragment of a permalink."""
    return f"#{anchor}"


@register.filter
def first_line(text: str) -> str:
    """Return the first line, cut to what fits a summary."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= LINE else f"{line[:LINE]}…"


def _shown(value: Any) -> str:
    """Show a value as a form sends it: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ago(at: datetime) -> str:
    """Say how long ago; nothing where a date says it better."""
    age = clock.now() - at
    if age > timedelta(days=30) or age < timedelta(0):
        return ""
    return "just now" if age < timedelta(minutes=1) else f"{timesince(at, depth=1)} ago"
