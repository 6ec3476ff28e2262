"""Tags that render events: a fragment of each kind and outcome, and payloads of events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jpweb.runtime import model_history, rendering
from jpweb.runtime.rendering import code_fences, invisible_characters, payloads
from jpweb.runtime.rendering.payloads import MAX_PROSE_CHARS
from jpweb.store.choices import ApprovalKind, ApprovalState
from jpweb.store.derived_rows.from_stream import MAX_NOTE_CHARS
from jpweb.stream import durations, timestamps
from jpweb.stream.events import BrokenEvent, ConfigDelta, ConversationEvent
from jpweb.stream.transcript.items import (
    InquiryPair,
    Item,
    OrphanInquiry,
    PlacedElement,
    QuestionAttempts,
    StandaloneItem,
    ToolCall,
)
from jpweb.web import display_text, html_cache
from jpweb.web.html_cache import ItemRecord
from jpweb.web.labels import outcome_labels, policy_labels
from jpweb.web.templatetags.jpweb_times import iso_time, utc_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from jpweb.store.models import Conversation
    from jpweb.store.transcript.call_decisions import CallDecision

register = template.Library()
#: Inquiries of a tool call that are rendered inside it, beside one that the page's address names;
#: the others are counted beside a link.
MAX_INQUIRIES = 50
#: Badges in a tool call's summary, one per inquiry; with more inquiries it shows counts by state.
MAX_BADGES = 6
#: Characters of a name that a page shows: a title may have as many.
MAX_NAME_CHARS = 500
_NO_ANCHORS: frozenset[str] = frozenset()


class ItemContext(NamedTuple):
    """The context of an item: its conversation, and the anchors of open and closed folds."""

    conversation: Conversation
    open_folds: frozenset[str] = _NO_ANCHORS
    closed_folds: frozenset[str] = _NO_ANCHORS


@register.simple_tag
def render_item(
    item: Item,
    conversation: Conversation,
    oob: bool = False,
    open_folds: frozenset[str] = _NO_ANCHORS,
    closed_folds: frozenset[str] = _NO_ANCHORS,
) -> SafeString:
    """Render an item of an outline with the fragment of its kind, unless its HTML is cached.

    Templates without folds pass the empty string.
    """
    open_folds, closed_folds = open_folds or _NO_ANCHORS, closed_folds or _NO_ANCHORS
    render = partial(
        _render_item, item, ItemContext(conversation, open_folds, closed_folds), oob=oob
    )
    question_ids = getattr(conversation, "question_keys", None)
    if question_ids is None:  # question_url reads them from the database
        return render()
    record = ItemRecord(
        conversation.pk,
        question_ids,
        _get_decisions(item, conversation),
        getattr(conversation, "at_anchor", ""),
    )
    key = html_cache.make_item_key(item, record, oob, open_folds, closed_folds)
    return html_cache.get_or_render_html(key, render)


def _render_item(item: Item, item_context: ItemContext, oob: bool) -> SafeString:
    match item:
        case ToolCall():
            return _render_element(
                item.request,
                item_context,
                call=item,
                oob=oob,
                **_build_call_context(item, item_context.conversation),
            )
        case OrphanInquiry():
            return _render_element(
                item.inquiry.request, item_context, inquiry=item.inquiry, oob=oob
            )
        case StandaloneItem():
            return _render_element(
                item.placed,
                item_context,
                orphan=item.orphan,
                changed_model=_describe_changed_model(item.placed),
            )


@register.simple_tag
def render_inquiry(inquiry: InquiryPair, item_context: ItemContext) -> SafeString:
    """Render an inquiry with its outcome."""
    return _render_element(inquiry.request, item_context, inquiry=inquiry)


@register.simple_tag
def render_result(response: PlacedElement, item_context: ItemContext) -> SafeString:
    """Render the result of a tool call."""
    body = response.element.body
    is_repeated = isinstance(body, ConversationEvent) and body.note.get("again") is True
    return _render_element(response, item_context, is_repeated=is_repeated)


def _get_decisions(item: Item, conversation: Conversation) -> Sequence[CallDecision]:
    """Return the approvals of a tool call, none of other items."""
    decisions_by_anchor = getattr(conversation, "call_decisions", {})
    return decisions_by_anchor.get(item.request.anchor, ()) if isinstance(item, ToolCall) else ()


def _describe_changed_model(placed_element: PlacedElement) -> str:
    """Return the model that a change of configuration names; empty for others."""
    kind = placed_element.element.kind
    name = model_history.read_changed_model(kind.delta) if isinstance(kind, ConfigDelta) else ""
    return invisible_characters.reveal_invisible(name)


def _build_call_context(call: ToolCall, conversation: Conversation) -> dict[str, Any]:
    """Return a call's approvals, and those of its questions that are shown."""
    questions = _choose_questions(call, getattr(conversation, "at_anchor", ""))
    shown_places = {inquiry.request.place for group in questions for inquiry in group.attempts}
    hidden_inquiries = [row for row in call.inquiries if row.request.place not in shown_places]
    states = [inquiry.state for inquiry in call.inquiries]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    call_approvals = _get_decisions(call, conversation)
    decisions = [row for row in call_approvals if row.state != ApprovalState.OPEN]
    awaited_kinds = [row.kind for row in call_approvals if row.state == ApprovalState.OPEN]
    return {
        "call_state": display_text.describe_waiting_call(*awaited_kinds[-1:]),
        "permission_policy": policy_labels.describe_policy(call.response, "permission"),
        "delivery_policy": policy_labels.describe_policy(call.response, "delivery"),
        "permissions": [row for row in decisions if row.kind == ApprovalKind.RUN],
        "deliveries": [row for row in decisions if row.kind == ApprovalKind.DELIVER],
        "questions": questions,
        "hidden_inquiries": hidden_inquiries,
        "counts": counts if len(states) > MAX_BADGES else None,
    }


def _choose_questions(call: ToolCall, at_anchor: str) -> list[QuestionAttempts]:
    """Return the first inquiries, up to ``MAX_INQUIRIES``, and the one that an address names."""
    questions: list[QuestionAttempts] = []
    remaining_count = MAX_INQUIRIES
    for question in call.question_groups:
        attempts = [
            inquiry
            for number, inquiry in enumerate(question.attempts)
            if number < remaining_count or at_anchor == inquiry.request.anchor
        ]
        if attempts:
            questions.append(QuestionAttempts(question.key, attempts))
        remaining_count -= len(question.attempts)
    return questions


def _render_element(
    placed_element: PlacedElement, item_context: ItemContext, **extra_context: Any
) -> SafeString:
    """Render one element with the template of its kind; raw where it is unknown or broken."""
    body = placed_element.element.body
    context: dict[str, Any] = {
        "placed": placed_element,
        "anchor": placed_element.anchor,
        "tag": placed_element.element.tag,
        "event": body,
        "item_context": item_context,
        "conversation": item_context.conversation,
        "is_open": placed_element.anchor in item_context.open_folds,
        "is_closed": placed_element.anchor in item_context.closed_folds,
    }
    if not isinstance(body, ConversationEvent):
        context["problem"] = body.problem if isinstance(body, BrokenEvent) else ""
        return render_to_string("events/unknown.html", context)
    context |= {
        "event": body.kind,
        "at": timestamps.parse_timestamp(body.timestamp),
        "formatted_payload": payloads.find_formatted_payload(body),
    }
    return render_to_string(f"events/{body.kind.TAG}.html", context | extra_context)


@register.simple_tag
def render_outcome(inquiry: InquiryPair, conversation: Conversation) -> SafeString:
    """Render an inquiry's outcome with the template of its state."""
    context = {
        "inquiry": inquiry,
        "outcome": outcome_labels.describe_outcome(inquiry),
        "conversation": conversation,
        "key": getattr(conversation, "question_keys", {}).get(inquiry.request.anchor),
    }
    return render_to_string(f"outcomes/{inquiry.state}.html", context)


@register.inclusion_tag("events/_payload.html", takes_context=True)
def render_payload(context: template.Context, name: str) -> dict[str, Any]:
    """Render a payload of an event: its first characters, its size, and the link to the rest."""
    placed_element: PlacedElement = context["placed"]
    event_payload = payloads.find_payload(placed_element.element, name)
    return {
        "payload": event_payload,
        "excerpt": event_payload and event_payload.render_excerpt(),
        "conversation": context["conversation"],
        "anchor": placed_element.anchor,
    }


@register.simple_tag
def long_text(
    text: str,
    conversation: Conversation,
    anchor: str,
    style: Literal["markdown", "question"] = "markdown",
) -> SafeString:
    """Render a long text: its first characters, its size, and the link to the rest.

    The style ``question`` keeps line breaks, as on a terminal.
    """
    beginning = next(code_fences.split_markdown(text[: MAX_PROSE_CHARS + 1], MAX_PROSE_CHARS), "")
    context = {
        "html": rendering.render_markdown(beginning, keep_line_ends=style == "question"),
        "char_count": f"{len(text):,}",
        "is_cut": len(text) > MAX_PROSE_CHARS,
        "conversation": conversation,
        "anchor": anchor,
    }
    return render_to_string("_long_text.html", context)


@register.simple_tag
def clock_time(at: datetime | None, link: str = "", response: PlacedElement | None = None) -> str:
    """Render the time of day of an event in UTC, and how long it took until its response."""
    if at is None:
        return ""
    end = response.time if response else None
    seconds = None if end is None else max((end - at).total_seconds(), 0)
    time_html = format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        iso_time(at),
        utc_seconds(at),
        f"{at:%H:%M:%S}",
    )
    if seconds is not None:
        time_html += format_html(" · {}", durations.format_duration(seconds))
    if link:
        return format_html('<a class="timestamp" href="{}">{}</a>', link, time_html)
    return format_html('<span class="timestamp">{}</span>', time_html)


@register.filter
def visible(value: Any) -> str:
    """Return a name or a title as text, cut to ``MAX_NAME_CHARS``; "" for None.

    Invisible and bidirectional controls are spelled out.
    """
    return _reveal_beginning(value, MAX_NAME_CHARS)


@register.filter
def visible_note(value: Any) -> str:
    """Return a text such as a person's reason like ``visible``, cut to ``MAX_NOTE_CHARS``."""
    return _reveal_beginning(value, MAX_NOTE_CHARS)


@register.filter
def visible_excerpt(value: Any) -> str:
    """Return a long text like ``visible``, cut to ``MAX_PROSE_CHARS``.

    ``events/_show_all.html`` links to the rest.
    """
    return _reveal_beginning(value, MAX_PROSE_CHARS)


@register.filter
def is_longer_than_excerpt(text: str) -> bool:
    """Tell whether ``visible_excerpt`` cuts a text."""
    return len(text) > MAX_PROSE_CHARS


def _reveal_beginning(value: Any, max_chars: int) -> str:
    if value is None:
        return ""
    text = str(value)
    shown_text = text if len(text) <= max_chars else f"{text[:max_chars]}…"
    return invisible_characters.reveal_invisible(shown_text)
