"""Tags of lists: their rows, and the options and words of what filters them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from django import forms, template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from jpweb.store import inquiries
from jpweb.store.database import clock
from jpweb.store.jp_files import metadata_file
from jpweb.web import display_text, html_cache
from jpweb.web.labels import filter_labels
from jpweb.web.websocket import conversation_updates

if TYPE_CHECKING:
    from collections.abc import Collection

    from jpweb.store.choices import FilesState
    from jpweb.store.conversation_list.paginator import ConversationRow
    from jpweb.store.models import Conversation
    from jpweb.web.views.audit.inquiry_rows import InquiryRow

register = template.Library()
#: Labels of a conversation on a page, and characters of one: as many as people may set, and add.
MAX_SHOWN_LABELS = metadata_file.MAX_LABELS
MAX_LABEL_CHARS = metadata_file.MAX_LABEL_NAME_CHARS + 1 + metadata_file.MAX_LABEL_VALUE_CHARS


@register.filter
def readonly_reason(conversation: Conversation) -> str:
    """Return why a conversation cannot be changed here; "" where it can be."""
    return metadata_file.get_obstacle(conversation)


@register.filter
def metadata_key(conversation: Conversation) -> str:
    """Return the key of a conversation's metadata, by which a page detects that it changed."""
    return conversation_updates.make_metadata_key(conversation)


@register.filter
def files_state_label(state: FilesState) -> str:
    """Return whether the files of a workspace are mirrored, in words."""
    return display_text.FILES_STATE_LABELS[state]


class ShownLabel(NamedTuple):
    """A label as a page shows it; ``query`` filters the list by it, "" for a longer one."""

    name: str
    text: str
    query: str


class ShownLabels(NamedTuple):
    """The first labels of a conversation, and how many more it has."""

    labels: list[ShownLabel]
    more_count: int


@register.filter
def shown_labels(conversation: Conversation) -> ShownLabels:
    """Return the first labels of a conversation, cut and revealed: a file may hold 100,000."""
    labels = conversation.labels
    shown_items = islice(labels.items(), MAX_SHOWN_LABELS)
    return ShownLabels(
        [_describe_label(name, value) for name, value in shown_items],
        max(len(labels) - MAX_SHOWN_LABELS, 0),
    )


def _describe_label(name: str, value: str) -> ShownLabel:
    text = f"{name}={value}" if value else name
    is_short = len(text) <= MAX_LABEL_CHARS
    shown_text = text if is_short else f"{text[:MAX_LABEL_CHARS]}…"
    return ShownLabel(name, reveal_invisible(shown_text), quote(text, safe="") if is_short else "")


@register.simple_tag
def conversation_rows(
    rows: Iterable[ConversationRow],
    is_target: bool = False,
    answer_workspace_ids: Collection[int] = (),
) -> SafeString:
    """Render rows of the conversation list.

    ``is_target``: a row has the anchor to which its actions return. It has actions in the
    workspaces ``answer_workspace_ids``.
    """
    return SafeString(
        "".join(_render_conversation_row(row, is_target, answer_workspace_ids) for row in rows)
    )


def _render_conversation_row(
    row: ConversationRow, is_target: bool, answer_workspace_ids: Collection[int]
) -> SafeString:
    """Render a row, unless its HTML is cached."""
    conversation = row.conversation
    has_actions = conversation.workspace_id in answer_workspace_ids
    context = {
        "row": row,
        "conversation": conversation,
        "is_target": is_target,
        "has_actions": has_actions,
        "obstacle": metadata_file.get_obstacle(conversation) if has_actions else "",
    }
    key = (
        "conversation row",
        html_cache.list_fields(conversation),
        conversation.workspace.name,
        display_text.format_age(conversation.last_activity),
        (repr(row.inquiries), row.approval_count, row.new_entries, row.comment_count),
        (is_target, has_actions, context["obstacle"]),
    )
    return html_cache.get_or_render_html(
        key, lambda: render_to_string("conversations/_row.html", context)
    )


@register.simple_tag
def inquiry_rows(
    rows: Iterable[InquiryRow], has_workspace: bool, has_filter_link: bool
) -> SafeString:
    """Render rows of the audit's table.

    ``has_workspace``: a row names its workspace. ``has_filter_link``: it links to the table of
    its conversation alone.
    """
    return SafeString(
        "".join(_render_inquiry_row(row, has_workspace, has_filter_link) for row in rows)
    )


def _render_inquiry_row(row: InquiryRow, has_workspace: bool, has_filter_link: bool) -> SafeString:
    """Render a row, unless its HTML is cached."""
    inquiry = row.inquiry
    conversation = inquiry.conversation
    context = {
        "line": row,
        "row": inquiry,
        "has_workspace": has_workspace,
        "has_filter_link": has_filter_link,
    }
    key = (
        "inquiry row",
        html_cache.list_fields(inquiry),
        (conversation.title, conversation.workspace.name),
        (inquiry.decider_name, inquiries.get_waiting_seconds(inquiry)),
        row[1:],
        (has_workspace, has_filter_link),
    )
    return html_cache.get_or_render_html(
        key, lambda: render_to_string("audit/inquiry_row.html", context)
    )


@register.simple_tag
def unlisted_value(value: Any, options: Iterable[Any]) -> str:
    """Return the value of a filter if none of the options of its list has it, else "".

    An option is a value, or a row whose key is the value. A list may be cut, and an address may
    name what is on no list: an option of its own keeps the filter visible, and in the form.
    """
    text = "" if value is None else str(value)
    return "" if text in {_format_option(option) for option in options} else text


@register.filter
def row_names(rows: Iterable[Any]) -> list[str]:
    """Return the names of rows, as the options of a list whose values are names."""
    return [row.name for row in rows]


@register.inclusion_tag("audit/print_note.html", takes_context=True)
def print_note(context: Context) -> dict[str, Any]:
    """Render what the paper of a table or of charts counts: filters, time and address."""
    form = context.get("form")
    return {
        "has_filters": form is not None,
        "filters": "" if form is None else _describe_form(form, context),
        "is_dated": form is not None and bool({"since", "until"} & _list_filters(form).keys()),
        "has_dates": form is not None and "since" in form.fields,
        "at": clock.now(),
        "address": context["request"].build_absolute_uri(),
    }


def _describe_form(form: forms.Form, context: Context) -> str:
    """Return the filters of a form in words; keys are replaced by the names on the page."""
    filters = _list_filters(form)
    if "conversation" in filters:
        filters["conversation"] = context.get("conversation_title") or filters["conversation"]
    people: Mapping[int, str] = context.get("people") or {}
    if "person" in filters:
        filters["person"] = people.get(form.cleaned_data["person"], filters["person"])
    names = {row.pk: row.name for row in context.get("workspaces") or []}
    page_labels = {name: str(field.label) for name, field in form.fields.items() if field.label}
    return filter_labels.describe_filters(filters, names, page_labels)


def _list_filters(form: forms.Form) -> dict[str, str]:
    """Return the values by which a form filters, as its address has them."""
    return {
        name: (form.data.get(name) or str(value)).strip()
        for name, value in form.cleaned_data.items()
        if value and name != "view"
    }


def _format_option(option: Any) -> str:
    return str(getattr(option, "pk", option))
