"""Masks the copies of an event's text in other tables, and restores them after a dismissal.

Titles and questions are masked at once. Answers, notes and approvals are read by the run that
waits for them, so they are masked when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q

from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.masking import copied_text, derived_columns, masks
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    JournalEntry,
    Review,
    Run,
    SuspectedSecret,
)
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, Element

#: Columns of a question that a run does not read again, and those that it does.
_QUESTION_COLUMNS, _ANSWER_COLUMNS = ("question", "label"), ("answer", "note")


def mark_changed(conversation: Conversation) -> None:
    """Give a conversation a new revision, which open pages and the index follow; not saved.

    Its events are the same, so that its reviews become those of its new version.
    """
    is_scanned = conversation.scanned_revision == conversation.revision
    reviews = Review.objects.filter(
        conversation=conversation, anchor="", version=conversation.version
    )
    conversation.revision += 1
    reviews.update(version=conversation.version)
    conversation.needs_indexing = True
    if is_scanned:
        conversation.scanned_revision = conversation.revision


def mask_event(
    conversation: Conversation, position: int, element: Element, rows: Sequence[SuspectedSecret]
) -> None:
    """Mask the titles and the question that repeat an event. The caller saves the title."""
    markers = masks.read_secrets(element, rows)
    if _has_request(element):
        masked_element = masks.mask_element(element, markers)
        derived_columns.replace_turn_title(conversation, position, element, masked_element)
    conversation.title = copied_text.mask_title(conversation.title, markers)
    _replace_in_inquiries(conversation, [position], markers, _QUESTION_COLUMNS)


def _has_request(element: Element) -> bool:
    """Tell whether a title of a turn may repeat an element."""
    return any(isinstance(event.kind, ChatRequest) for event in element.events)


def mask_settled(conversation: Conversation, rows: Sequence[SuspectedSecret]) -> None:
    """Mask the answers and approvals that repeat secrets of a conversation without a run."""
    markers = read_markers(conversation.pk, rows)
    positions = sorted({row.position for row in rows})
    _replace_in_inquiries(conversation, positions, markers, (*_QUESTION_COLUMNS, *_ANSWER_COLUMNS))
    _replace_in_runs(conversation, markers)


def restore(
    conversation: Conversation, rows: Sequence[SuspectedSecret], markers: Mapping[str, str]
) -> None:
    """Put secrets back where copies have their markers. The caller saves the title."""
    secrets_by_marker = {marker: secret for secret, marker in markers.items()}
    entries = JournalEntry.objects.filter(
        conversation=conversation, anchor__in={row.anchor for row in rows}
    )
    event_masks = masks.load_conversation_masks(conversation.pk)  # without these rows
    titles, positions = derived_columns.TurnTitles(conversation), []
    columns = entries.values_list("position", "anchor", "text")
    for position, anchor, text in columns.iterator(chunk_size=20):
        positions.append(position)
        after = event_masks.read_element(anchor, text)
        if _has_request(after):
            titles.replace(position, masks.mask_element(after, markers), after)
    titles.save()
    conversation.title = copied_text.unmask(conversation.title, secrets_by_marker)[:500]
    columns_of_questions = (*_QUESTION_COLUMNS, *_ANSWER_COLUMNS)
    _replace_in_inquiries(conversation, positions, secrets_by_marker, columns_of_questions)
    _replace_in_runs(conversation, secrets_by_marker)


def read_markers(conversation_id: int, rows: Sequence[SuspectedSecret]) -> dict[str, str]:
    """Return the secrets of these rows, read from the journal, with their markers."""
    rows_by_anchor: dict[str, list[SuspectedSecret]] = {}
    for row in rows:
        rows_by_anchor.setdefault(row.anchor, []).append(row)
    return dict(_list_secrets(conversation_id, rows_by_anchor))


def read_open_secrets(conversation_id: int) -> dict[str, str]:
    """Return all markers of a conversation with the secrets that they replace."""
    rows_by_anchor = masks.load_open_rows(conversation_id)
    if not rows_by_anchor:
        return {}
    return {marker: secret for secret, marker in _list_secrets(conversation_id, rows_by_anchor)}


def _list_secrets(
    conversation_id: int, rows_by_anchor: Mapping[str, Sequence[SuspectedSecret]]
) -> Iterator[tuple[str, str]]:
    entries = JournalEntry.objects.filter(
        conversation_id=conversation_id, anchor__in=list(rows_by_anchor)
    )
    for anchor, text in entries.values_list("anchor", "text").iterator(chunk_size=20):
        yield from masks.list_secrets(wire.read_element(text), rows_by_anchor[anchor])


def _replace_in_inquiries(
    conversation: Conversation,
    positions: Sequence[int],
    replacements: Mapping[str, str],
    columns: Sequence[str],
) -> None:
    rows = Inquiry.objects.filter(conversation=conversation)
    for row in rows.filter(Q(position__in=positions) | Q(response_position__in=positions)):
        changes = {}
        for column in columns:
            value = getattr(row, column)
            replaced_value = replace_column(column, value, row.state, replacements)
            if replaced_value != value:
                changes[column] = _cut(row, column, replaced_value)
        if changes:
            Inquiry.objects.filter(pk=row.pk).update(**changes)


def replace_column(column: str, value: Any, state: str, replacements: Mapping[str, str]) -> Any:
    """Return a value of a question's row, replaced as ``replace_all`` does."""
    replaced_value = copied_text.replace_all(value, replacements)
    if column == "question" and state == OPEN_STATE:
        replaced_value["answer_type"] = value["answer_type"]  # people choose from its options
    return replaced_value


def _replace_in_runs(conversation: Conversation, replacements: Mapping[str, str]) -> None:
    approvals = Approval.objects.filter(conversation=conversation)
    for approval in approvals.iterator(chunk_size=200):
        _update(approval, ("subject", "decision"), replacements)
    for run in Run.objects.filter(conversation=conversation).exclude(problem=""):
        _update(run, ("problem",), replacements)


def _update(row: Any, columns: Sequence[str], replacements: Mapping[str, str]) -> None:
    values = {
        column: copied_text.replace_all(getattr(row, column), replacements) for column in columns
    }
    changes = {name: value for name, value in values.items() if value != getattr(row, name)}
    if changes:
        cut_values = {name: _cut(row, name, value) for name, value in changes.items()}
        type(row).objects.filter(pk=row.pk).update(**cut_values)


def _cut(row: Any, column: str, value: Any) -> Any:
    limit = row._meta.get_field(column).max_length  # noqa: SLF001  Django documents it
    return value[:limit] if limit and isinstance(value, str) else value
