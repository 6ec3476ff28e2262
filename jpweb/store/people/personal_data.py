"""Personal data: the rows about one person, as one JSON file.

Keys, codes and hashes of sign-ins and links are in none of it. What others wrote, such as a
question's words or a title, is in it only where the person may still read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Q, QuerySet

from jpweb.evidence.ledger_verifier import parse_object
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.exports import ExportChunk
from jpweb.store.models import LedgerEntry, Membership, Person
from jpweb.store.people.data_sections import SECTIONS, Reader, Section

#: Rows of one query, and of one piece of the file.
BATCH_ROWS = 250
#: Names of the account's values in the file, by their column.
ACCOUNT_NAMES = {
    "id": "id",
    "username": "account",
    "first_name": "name",
    "email": "email",
    "date_joined": "joined_at",
    "last_login": "last_sign_in_at",
    "is_active": "is_active",
    "theme": "theme",
    "density": "density",
    "is_welcomed": "is_welcomed",
    "is_notified_of_mentions": "is_notified_of_mentions",
    "unseen_mention_count": "unseen_mentions",
    "hidden_demo_role": "hidden_demo_role",
}


def make_personal_data(
    person: Person, redact_address: Callable[[str], str]
) -> Iterator[ExportChunk]:
    """Yield the file: an object with the account, and a list for each section and the ledger."""
    memberships = Membership.objects.filter(person=person)
    workspace_ids = frozenset(memberships.values_list("workspace_id", flat=True))
    reader = Reader(person, workspace_ids, redact_address)
    text, done_rows, piece_rows = _format_head(person), 0, 0
    for piece_text, row_count in _iterate_parts(reader):
        text += piece_text
        piece_rows += row_count
        if piece_rows >= BATCH_ROWS:
            done_rows += piece_rows
            # What follows is not counted: that would read all of it twice.
            yield ExportChunk(_encode(text), done_rows, done_rows + BATCH_ROWS)
            text, piece_rows = "", 0
    done_rows += piece_rows
    yield ExportChunk(_encode(text + "\n}\n"), done_rows, done_rows)


def _format_head(person: Person) -> str:
    account = {name: getattr(person, column) for column, name in ACCOUNT_NAMES.items()}
    account["name"] = person.display_name
    if person.hidden_demo_role is not None:
        account["hidden_demo_role"] = Role(person.hidden_demo_role).label
    return f'{{\n"exported_at": {_format(clock.now())},\n"account": {_format(account)}'


def _iterate_parts(reader: Reader) -> Iterator[tuple[str, int]]:
    """Yield parts of the text, each with its number of rows; at most ``BATCH_ROWS``."""
    for section in SECTIONS:
        yield from _format_list(section.name, _iterate_section(section, reader))
    yield from _format_list("ledger_entries", _iterate_ledger(reader.person.pk))


def _format_list(name: str, batches: Iterator[list[str]]) -> Iterator[tuple[str, int]]:
    yield f',\n"{name}": [', 0
    separator = "\n"
    for lines in batches:
        yield separator + ",\n".join(lines), len(lines)
        separator = ",\n"
    yield "]", 0


def _iterate_section(section: Section, reader: Reader) -> Iterator[list[str]]:
    condition = Q()
    for column in section.person_columns:
        condition |= Q(**{column: reader.person})
    rows = section.model.objects.filter(condition).select_related(*section.related)
    for batch in _iterate_batches(rows.order_by("pk"), "pk__gt"):
        yield [
            _format(
                {column: getattr(row, column) for column in section.columns}
                | dict(section.describe(row, reader))
            )
            for row in batch
        ]


def _iterate_ledger(person_id: int) -> Iterator[list[str]]:
    """Yield the entries of the person's acts, by act, then those of others that name the person.

    Indexes have the rows in these orders: no batch sorts what follows it.
    """
    entries = LedgerEntry.objects.order_by("-id")
    is_by_others = Q(person_id=None) | ~Q(person_id=person_id)
    entries_about_person = entries.filter(is_by_others, subject=f"person:{person_id}")
    acts = [entries.filter(person_id=person_id, act=act) for act in Act]
    for rows in (*acts, entries_about_person):
        for batch in _iterate_batches(rows, "pk__lt"):
            yield [
                _format(
                    {
                        "sequence": entry.sequence,
                        "text_hash": entry.text_hash,
                        # A damaged text is given as it is: the person may know why.
                        "entry": parse_object(entry.text) or entry.text or None,
                    }
                )
                for entry in batch
            ]


def _iterate_batches(rows: QuerySet[Any], lookup: str) -> Iterator[list[Any]]:
    """Yield the rows in batches, each by its own query; ``lookup`` is that of later rows."""
    batch = list(rows[:BATCH_ROWS])
    while batch:
        yield batch
        if len(batch) < BATCH_ROWS:
            return
        batch = list(rows.filter(**{lookup: batch[-1].pk})[:BATCH_ROWS])


def _format(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda moment: moment.isoformat())


def _encode(text: str) -> bytes:
    # A half of a surrogate pair has no UTF-8; its JSON escape has this form.
    return text.encode("utf-8", "backslashreplace")
