"""Redacts the columns of other tables that repeat the content of events.

What the scanner masked there is redacted as if it had no masks, and masked again: a redaction may
name the text that a mask replaces, a part of it, or a longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import models

from jpweb.store.masking import copied_text, cut_text, number_texts, replacement
from jpweb.store.masking.redacted_titles import MAX_TITLE_CHARS
from jpweb.store.models import (
    Approval,
    CallCheckpoint,
    Comment,
    Conversation,
    Passage,
    Redaction,
    Review,
    Run,
    RunInterrupt,
    SuspectedSecret,
    Turn,
)


@dataclass(frozen=True, slots=True)
class CopiedContent:
    """Strings, and keys of objects, that ``marker`` replaces; copies may have masks in them."""

    strings: Sequence[str]
    keys: Collection[str]
    marker: str
    secrets_by_marker: Mapping[str, str]


class Copy(NamedTuple):
    """A row that repeats content, in some of these columns; ``place`` is its table's name."""

    place: str
    model: type[models.Model]
    key: int
    columns: tuple[str, ...]


def find_copies(
    conversation: Conversation,
    content: CopiedContent,
    turn_titles: Mapping[int, str] | None = None,
) -> list[Copy]:
    """Return the rows of other tables that repeat content; the conversation's own is not one.

    ``turn_titles``: titles that turns are going to have, by the key of the turn.
    """
    titles = turn_titles or {}
    found_copies: list[Copy] = []
    for place, rows, columns in _list_sources(conversation):
        for row in rows.iterator(chunk_size=200):
            if isinstance(row, Turn):
                row.title = titles.get(row.pk, row.title)
            if _change_columns(row, columns, content):
                found_copies.append(Copy(place, type(row), row.pk, columns))
    return found_copies


def replace_copy(copy: Copy, content: CopiedContent) -> None:
    """Replace content in a row, as it is now."""
    row = copy.model._default_manager.filter(pk=copy.key).first()  # noqa: SLF001  Django documents it
    if row and (changes := _change_columns(row, copy.columns, content)):
        copy.model._default_manager.filter(pk=copy.key).update(**changes)  # noqa: SLF001  Django documents it


def replace_title(conversation: Conversation, content: CopiedContent) -> None:
    """Replace content in the title, which the caller saves, and remove it from the index."""
    conversation.title = replace_in_title(conversation.title, content)
    Passage.objects.filter(conversation=conversation, position=Passage.TITLE_POSITION).delete()


def _list_sources(
    conversation: Conversation,
) -> list[tuple[str, models.QuerySet[Any], tuple[str, ...]]]:
    """Return the rows that may repeat content, with their place and their columns."""
    runs = Run.objects.filter(conversation=conversation)
    return [
        ("approvals", Approval.objects.filter(conversation=conversation), ("subject", "decision")),
        ("results", CallCheckpoint.objects.filter(run__in=runs), ("content", "edited")),
        ("messages", RunInterrupt.objects.filter(run__in=runs), ("text",)),
        ("failures", runs, ("problem",)),
        ("turns", Turn.objects.filter(conversation=conversation), ("title",)),
        ("comments", Comment.objects.filter(thread__conversation=conversation), ("text",)),
        ("review_notes", Review.objects.filter(conversation=conversation), ("note",)),
        ("earlier_reasons", Redaction.objects.filter(conversation=conversation), ("reason",)),
        (
            "dismissal_notes",
            SuspectedSecret.objects.filter(conversation=conversation),
            ("note",),
        ),
    ]


def replace_in_title(masked_title: str, content: CopiedContent) -> str:
    """Return the title of a conversation with the content replaced."""

    def replace(title: str) -> str:
        if title and any(title.rstrip("…") in string for string in content.strings):
            return content.marker
        return _replace_in_cut_text("title", title, content)

    title: str = _replace_unmasked("title", masked_title, MAX_TITLE_CHARS, content, replace)
    return title[:MAX_TITLE_CHARS]


def _change_columns(row: Any, columns: Sequence[str], content: CopiedContent) -> dict[str, Any]:
    """Return the columns of a row in which the content is replaced."""
    changes: dict[str, Any] = {}
    for column in columns:
        limit = row._meta.get_field(column).max_length  # noqa: SLF001  Django documents it
        replace = _choose_replacement(row, column, content)
        value = getattr(row, column)
        replaced_value = _replace_unmasked(column, value, limit, content, replace)
        if replaced_value != value:
            changes[column] = replaced_value[:limit] if limit else replaced_value
    if changes and isinstance(row, Approval):
        changes["digest"] = ""  # a plain hash, from which a short secret could be guessed
    if changes and isinstance(row, Comment | Review):
        changes["nonce"] = ""  # with it, a short secret could be guessed from the ledger's hash
    return changes


def _choose_replacement(row: Any, column: str, content: CopiedContent) -> Callable[[Any], Any]:
    """Return the function that replaces the content in a value without masks."""

    def replace_all(value: Any) -> Any:
        texts = number_texts.convert_numbers(value, content.strings)
        replaced_value = replacement.replace_strings(texts, content.strings, content.marker)
        return replacement.replace_keys(replaced_value, content.keys, content.marker)

    def replace_parts(value: Any) -> Any:
        if isinstance(value, dict):  # its own keys are jpweb's
            return {name: replace_all(part) for name, part in value.items()}
        return replace_all(value)

    def replace_cut(value: str) -> str:
        return _replace_in_cut_text(column, value, content)

    if column in cut_text.CUT_CHARS:
        return replace_cut
    return replace_parts if isinstance(row, Approval) else replace_all


def _replace_in_cut_text(column: str, text: str, content: CopiedContent) -> str:
    """Return the text of a column with the strings replaced, also one that its end cuts."""
    replaced_value: str = replacement.replace_strings(text, content.strings, content.marker)
    if cut_text.can_be_cut(column, text):
        markers = dict.fromkeys(content.strings, content.marker)
        return cut_text.replace_cut_end(replaced_value, markers)
    return replaced_value


def _replace_unmasked(
    column: str,
    value: Any,
    limit: int | None,
    content: CopiedContent,
    replace: Callable[[Any], Any],
) -> Any:
    """Return a value replaced without its masks, and masked again; the same without a change."""
    for unmasked_text in copied_text.list_unmasked(value, content.secrets_by_marker, limit):
        replaced_value = replace(unmasked_text)
        if replaced_value == unmasked_text:
            continue
        if unmasked_text == value:
            return replaced_value
        markers = {secret: marker for marker, secret in content.secrets_by_marker.items()}
        masked_text = copied_text.replace_all(replaced_value, markers)
        is_cut = column == "title" and cut_text.can_be_cut(column, unmasked_text)
        return copied_text.mask_cut_end(masked_text, markers) if is_cut else masked_text
    return value
