"""Suspected secrets as auditors see them: lists, reveals, dismissals, and the way to redaction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet

from jpweb.store import exports, journal
from jpweb.store.choices import Act, Role, SuspectedSecretState
from jpweb.store.database import clock
from jpweb.store.errors import StoreError
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.masking import copied_text, masks
from jpweb.store.models import Conversation, JournalEntry, Membership, Person, SuspectedSecret
from jpweb.store.suspected_secrets import copies
from jpweb.stream import wire
from jpweb.stream.events import Element

#: Rows of a page.
PAGE_ROWS = 50
#: Characters of a note.
MAX_NOTE_CHARS = 500
#: Characters around a secret that its page shows.
_CONTEXT_CHARS = 120
_ALREADY_DECIDED = "Someone has already decided about this suggestion."


class NotSuspected(StoreError):
    """The suggestion was decided, or its event changed."""


class NoteRepeatsText(NotSuspected):
    """The note of a dismissal repeats a suspected secret; ``note`` is the note without it."""

    def __init__(self, note: str) -> None:
        super().__init__("The note repeats the text. Say it in other words.")
        self.note = note


class SecretContext(NamedTuple):
    """A secret, or its marker, with the masked text around it."""

    before: str
    secret: str
    after: str


def list_page(
    person_id: int, state: str, workspace_id: int | None, before_key: int
) -> tuple[list[SuspectedSecret], int | None]:
    """Return a page of the rows that a person audits, newest first, and the key of the next.

    ``before_key`` is a key, 0 for the first page.
    """
    rows = _list_audited(person_id, workspace_id).filter(state=state)
    if before_key:
        rows = rows.filter(pk__lt=before_key)
    ordered_rows = rows.select_related("conversation__workspace", "decided_by").order_by("-id")
    page = list(ordered_rows[: PAGE_ROWS + 1])
    return page[:PAGE_ROWS], page[PAGE_ROWS - 1].pk if len(page) > PAGE_ROWS else None


def read_pages(
    person_id: int, state: str, workspace_id: int | None
) -> Iterator[tuple[list[SuspectedSecret], int, bool]]:
    """Yield all rows of a list a page at a time, the number so far, and whether it is the last.

    Raises ExportBroken where the person's roles are changed meanwhile.
    """
    memberships = _list_memberships(person_id)
    workspace_ids = exports.list_workspace_ids(memberships)
    done_count, before_key = 0, 0
    while True:
        page, next_key = list_page(person_id, state, workspace_id, before_key)
        exports.check_memberships(memberships, workspace_ids)
        done_count += len(page)
        yield page, done_count, next_key is None
        if next_key is None:
            return
        before_key = next_key


def list_workspace_ids(person_id: int, state: str, workspace_id: int | None) -> list[int]:
    """Return the keys of the workspaces of all rows of a list."""
    rows = _list_audited(person_id, workspace_id).filter(state=state).order_by()
    return sorted(rows.values_list("workspace_id", flat=True).distinct())


def get_suspected_secret(key: int) -> SuspectedSecret:
    """Return a row. Raises StoreError."""
    rows = SuspectedSecret.objects.select_related("conversation__workspace", "decided_by")
    row = rows.filter(pk=key).first()
    if row is None:
        raise NotSuspected("This suspected secret no longer exists.")
    return row


def find_suspected_secret(conversation_id: int, key: int) -> SuspectedSecret | None:
    """Return an open row of a conversation, or None."""
    rows = SuspectedSecret.objects.filter(conversation_id=conversation_id, pk=key)
    return rows.filter(state=SuspectedSecretState.OPEN).first()


def list_event_secrets(conversation_id: int, anchor: str) -> list[SuspectedSecret]:
    """Return the open rows of an event, in the order of its text."""
    rows = SuspectedSecret.objects.filter(
        conversation_id=conversation_id, anchor=anchor, state=SuspectedSecretState.OPEN
    )
    return list(rows.order_by("text_index", "start"))


def count_same(row: SuspectedSecret) -> int:
    """Return in how many other places of the workspace the same secret is open."""
    rows = SuspectedSecret.objects.filter(workspace_id=row.workspace_id, digest=row.digest)
    return rows.filter(state=SuspectedSecretState.OPEN).exclude(pk=row.pk).count()


def load_context(row: SuspectedSecret) -> SecretContext | None:
    """Return the marker with the masked text around it; None where its event changed."""
    return _make_context(row, row.marker)


@transaction.atomic
def reveal(row: SuspectedSecret, person: Person) -> SecretContext:
    """Return the secret with the masked text around it, and record that. Raises NotSuspected."""
    journal.lock_conversation(row.conversation_id)
    if find_suspected_secret(row.conversation_id, row.pk) is None:
        raise NotSuspected(_ALREADY_DECIDED)
    secret = _read_secret(row)
    context = _make_context(row, secret)
    if context is None:
        raise NotSuspected("The event was changed or removed. There is nothing to reveal.")
    _record(Act.TEXT_REVEALED, row, person)
    return context


@transaction.atomic
def dismiss(row: SuspectedSecret, person: Person, note: str) -> int:
    """Unmask a text that is not a secret in its whole conversation; return the number of places.

    Later findings of the same text in the workspace are dismissed at once. Raises NotSuspected,
    and NoteRepeatsText.
    """
    conversation = journal.lock_conversation(row.conversation_id)
    rows = SuspectedSecret.objects.filter(
        conversation=conversation, digest=row.digest, state=SuspectedSecretState.OPEN
    )
    dismissed_rows = list(rows)
    if row.pk not in {dismissed_row.pk for dismissed_row in dismissed_rows}:
        raise NotSuspected(_ALREADY_DECIDED)
    markers = copies.read_markers(conversation.pk, dismissed_rows)
    if any(secret in note for secret in markers):
        raise NoteRepeatsText(_remove_texts(note, markers))
    rows.update(
        state=SuspectedSecretState.DISMISSED,
        decided_at=clock.now(),
        decided_by=person,
        note=note,
        needs_copies=False,
    )
    copies.restore(conversation, dismissed_rows, markers)
    _save_changed(conversation)
    _record(Act.SUSPICION_DISMISSED, row, person, note=note, count=len(dismissed_rows))
    return len(dismissed_rows)


def _remove_texts(note: str, texts: Iterable[str]) -> str:
    """Return a note with an ellipsis in place of each text, the longest first."""
    for text in sorted(texts, key=len, reverse=True):
        note = note.replace(text, "…")
    return note


def resolve_markers(conversation_id: int, strings: Sequence[str]) -> tuple[str, ...]:
    """Return strings to redact, with the secret in place of each marker of the conversation."""
    if not any(string.startswith("[masked ") for string in strings):
        return tuple(strings)
    rows = SuspectedSecret.objects.filter(
        conversation_id=conversation_id, state=SuspectedSecretState.OPEN
    )
    suspicions = [row for row in rows.order_by("id") if row.marker in strings]
    markers = copies.read_markers(conversation_id, suspicions)
    secrets_by_marker = {marker: secret for secret, marker in markers.items()}
    return tuple(secrets_by_marker.get(string, string) for string in strings)


def follow_redaction(
    conversation: Conversation,
    entry: JournalEntry,
    old_element: Element,
    new_element: Element,
    person: Person,
) -> list[SuspectedSecret]:
    """Close the rows whose secret a redaction has replaced in the event of an entry.

    The others move to their new places, and the titles and the question that repeat the event are
    masked by them: the detector may be off. The caller saves the title, and masks the answers and
    approvals that repeat the returned rows: no run reads these any more.
    """
    rows = SuspectedSecret.objects.filter(conversation=conversation, anchor=entry.anchor)
    old_texts = masks.list_texts(old_element)
    moved_rows: list[tuple[SuspectedSecret, list[tuple[int, int]]]] = []
    replaced_keys: list[int] = []
    for row in rows.filter(state=SuspectedSecretState.OPEN).order_by("text_index", "start"):
        text = old_texts[row.text_index].text if row.text_index < len(old_texts) else ""
        secret = text[row.start : row.start + row.length]
        places = _find_places(new_element, secret) if secret else []
        if places:
            moved_rows.append((row, places))
        else:
            replaced_keys.append(row.pk)
    rows.filter(pk__in=replaced_keys).update(
        state=SuspectedSecretState.REDACTED,
        needs_copies=False,
        decided_at=clock.now(),
        decided_by=person,
    )
    open_rows = _move_rows(rows, moved_rows)
    if open_rows:
        copies.mask_event(conversation, entry.position, new_element, open_rows)
    return open_rows


def _move_rows(
    rows: QuerySet[SuspectedSecret],
    moved_rows: Sequence[tuple[SuspectedSecret, list[tuple[int, int]]]],
) -> list[SuspectedSecret]:
    """Give rows the first free of their places: text index and start. Returns those that have one.

    A row without one is deleted: that of an equal secret masks its text.
    """
    rows.filter(pk__in=[row.pk for row, _ in moved_rows]).delete()
    taken_places = set(rows.values_list("text_index", "start"))
    saved_rows: list[SuspectedSecret] = []
    for row, places in moved_rows:
        place = next((place for place in places if place not in taken_places), None)
        if place is not None:
            taken_places.add(place)
            row.text_index, row.start = place
            saved_rows.append(row)
    return SuspectedSecret.objects.bulk_create(saved_rows)


def _list_audited(person_id: int, workspace_id: int | None) -> QuerySet[SuspectedSecret]:
    audited_memberships = _list_memberships(person_id)
    condition = Q(workspace_id__in=list(audited_memberships.values_list("workspace_id", flat=True)))
    if workspace_id is not None:
        condition &= Q(workspace_id=workspace_id)
    return SuspectedSecret.objects.filter(condition)


def _list_memberships(person_id: int) -> QuerySet[Membership]:
    return Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )


def _read_element(row: SuspectedSecret) -> Element | None:
    entry = JournalEntry.objects.filter(conversation_id=row.conversation_id, anchor=row.anchor)
    text = entry.values_list("text", flat=True).first()
    return None if text is None else wire.read_element(text)


def _read_secret(row: SuspectedSecret) -> str:
    element = _read_element(row)
    return next(iter(masks.read_secrets(element, [row])), "") if element else ""


def _make_context(row: SuspectedSecret, secret: str) -> SecretContext | None:
    element = _read_element(row)
    texts = masks.list_texts(element) if element else []
    if element is None or row.text_index >= len(texts) or not secret:
        return None
    text = texts[row.text_index].text
    open_rows = list_event_secrets(row.conversation_id, row.anchor)
    secrets = masks.read_secrets(element, open_rows)
    end = row.start + row.length
    before = copied_text.replace_all(text[: row.start], secrets)
    after = copied_text.replace_all(text[end:], secrets)
    return SecretContext(before[-_CONTEXT_CHARS:], secret, after[:_CONTEXT_CHARS])


def _find_places(element: Element, secret: str) -> list[tuple[int, int]]:
    """Return where a secret occurs in the content of an element: text index and start."""
    return [
        (index, match.start())
        for index, (_, text) in enumerate(masks.list_texts(element))
        for match in re.finditer(re.escape(secret), text)
    ]


def _save_changed(conversation: Conversation) -> None:
    copies.mark_changed(conversation)
    conversation.save(update_fields=["title", "revision", "needs_indexing", "scanned_revision"])


def _record(act: Act, row: SuspectedSecret, person: Person, **details: str | int) -> None:
    record_act(
        act,
        Actor.from_person(person),
        Place(row.workspace_id, row.conversation_id, f"event:{row.anchor}"),
        event=row.anchor,
        kind=row.kind,
        suggestion=row.pk,
        digest=row.digest,
        **details,
    )
