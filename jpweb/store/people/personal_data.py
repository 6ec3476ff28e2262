"""Personal data: what the store holds about one person, as one JSON file.

Keys, codes and hashes of sign-ins and links are in none of it. What others wrote, such as a
question's words or a title, is in it only where the person may still read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.exports import ExportChunk
from jpweb.store.models import (
    AnswerLink,
    Approval,
    Conversation,
    DisplayReceipt,
    Group,
    GroupMember,
    Identity,
    Inquiry,
    Invitation,
    LedgerEntry,
    Membership,
    NotificationDelivery,
    NotificationDestination,
    Passkey,
    Person,
    Presence,
    PushDelivery,
    PushSubscription,
    ReadMark,
    Redaction,
    Review,
    ReviewTask,
    Run,
    RunInterrupt,
    SavedSearch,
    SecondFactor,
    SignIn,
    SignInLink,
    SuspectedSecret,
    Trust,
)
from jpweb.store.people import second_factors, sessions

#: Rows of one query, and of one piece of the file.
BATCH_ROWS = 250


@dataclass(frozen=True)
class Reader:
    """The person whose data it is, and the workspaces in which they may read."""

    person: Person
    workspace_ids: frozenset[int]
    #: Returns a destination's address without its keys.
    redact_address: Callable[[str], str]

    def describe_conversation(self, conversation: Conversation) -> dict[str, Any]:
        may_read = conversation.workspace_id in self.workspace_ids
        return {"id": conversation.pk} | ({"title": conversation.title} if may_read else {})


class Section(NamedTuple):
    """A list of the file: its rows by the columns that name the person, and their columns.

    ``describe`` adds values to a row. ``related`` are the relations that it follows.
    """

    name: str
    model: Any
    person_columns: tuple[str, ...]
    columns: tuple[str, ...] = ()
    describe: Callable[[Any, Reader], Mapping[str, Any]] = lambda _row, _reader: {}
    related: tuple[str, ...] = ()


def _describe_workspace(row: Any, _reader: Reader) -> dict[str, Any]:
    return {"workspace": {"id": row.workspace_id, "name": row.workspace.name}}


def _describe_conversation(row: Any, reader: Reader) -> dict[str, Any]:
    return {"conversation": reader.describe_conversation(row.conversation)}


def _describe_answer(row: Inquiry, reader: Reader) -> dict[str, Any]:
    may_read = row.conversation.workspace_id in reader.workspace_ids
    question = {"asker": row.asker, "question": row.question} if may_read else {}
    return _describe_conversation(row, reader) | question


def _describe_membership(row: Membership, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"role": Role(row.role).label}


def _describe_invitation(row: Invitation, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"role": Role(row.role).label}


def _describe_destination(row: NotificationDestination, reader: Reader) -> dict[str, Any]:
    return _describe_workspace(row, reader) | {"address": reader.redact_address(row.url)}


SECTIONS = (
    Section("memberships", Membership, ("person",), (), _describe_membership, ("workspace",)),
    Section(
        "groups",
        GroupMember,
        ("person",),
        (),
        lambda row, _reader: {"group": row.group.name},
        ("group",),
    ),
    Section("groups_made", Group, ("maker",), ("name", "made_at")),
    Section(
        "sign_ins",
        SignIn,
        ("person",),
        ("began_at", "seen_at", "expires_at"),
        lambda row, _reader: {"browser": sessions.read_browser(row)},
    ),
    Section(
        "identities",
        Identity,
        ("person",),
        ("issuer", "subject", "email", "connected_at", "used_at"),
    ),
    Section("passkeys", Passkey, ("person",), ("name", "added_at", "used_at")),
    Section(
        "second_factor",
        SecondFactor,
        ("person",),
        ("confirmed_at", "failure_count", "locked_until"),
        lambda row, _reader: {"recovery_codes": second_factors.count_recovery_codes(row)},
    ),
    Section(
        "sign_in_links",
        SignInLink,
        ("person", "maker"),
        ("created_at", "expires_at", "used_at"),
        lambda row, reader: {
            "is_for_me": row.person_id == reader.person.pk,
            "is_made_by_me": row.maker_id == reader.person.pk,
        },
    ),
    Section(
        "invitations_made",
        Invitation,
        ("inviter",),
        ("name", "created_at", "expires_at"),
        _describe_invitation,
        ("workspace",),
    ),
    Section(
        "conversations_started",
        Conversation,
        ("started_by",),
        (),
        lambda row, reader: reader.describe_conversation(row),
    ),
    Section(
        "turns_started",
        Run,
        ("started_by",),
        ("started_at", "ended_at", "state"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "interrupts",
        RunInterrupt,
        ("person",),
        ("kind", "text", "sent_at"),
        lambda row, reader: _describe_conversation(row.run, reader),
        ("run__conversation",),
    ),
    Section(
        "redactions",
        Redaction,
        ("person",),
        ("anchor", "reason", "at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "suspected_secrets_decided",
        SuspectedSecret,
        ("decided_by",),
        ("anchor", "kind", "state", "note", "decided_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "answers",
        Inquiry,
        ("decider",),
        ("state", "reason", "answer", "note", "asked_at", "settled_at"),
        _describe_answer,
        ("conversation",),
    ),
    Section(
        "approvals",
        Approval,
        ("decider",),
        ("kind", "tool_name", "decision", "asked_at", "settled_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "reviews",
        Review,
        ("reviewer",),
        ("anchor", "round", "verdict", "note", "reviewed_at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "review_tasks",
        ReviewTask,
        ("first_reviewer", "assignee", "holder"),
        ("anchor",),
        _describe_conversation,
        ("conversation",),
    ),
    Section(
        "receipts",
        DisplayReceipt,
        ("person",),
        ("inquiry_id", "delivered_at", "visible_at", "focused_at", "draft_at"),
    ),
    Section(
        "conversations_read",
        ReadMark,
        ("person",),
        ("entry_count", "at"),
        _describe_conversation,
        ("conversation",),
    ),
    Section("open_pages", Presence, ("person",), ("seen_at",), _describe_workspace, ("workspace",)),
    Section("saved_searches", SavedSearch, ("person",), ("page", "name", "query", "made_at")),
    Section(
        "notification_destinations",
        NotificationDestination,
        ("person",),
        ("delay", "problem", "added_at"),
        _describe_destination,
        ("workspace",),
    ),
    Section(
        "notifications",
        NotificationDelivery,
        ("destination__person",),
        ("inquiry_id", "approval_id", "sent_at", "problem"),
    ),
    Section(
        "push_subscriptions",
        PushSubscription,
        ("person",),
        ("browser", "delay", "problem", "added_at"),
    ),
    Section(
        "push_messages",
        PushDelivery,
        ("subscription__person",),
        ("inquiry_id", "approval_id", "sent_at", "problem"),
    ),
    Section(
        "answer_links",
        AnswerLink,
        ("person",),
        ("inquiry_id", "created_at", "expires_at", "used_at"),
    ),
    Section(
        "commands_trusted",
        Trust,
        ("trusted_by",),
        ("kind", "name", "trusted_at"),
        _describe_workspace,
        ("workspace",),
    ),
)


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
    account = {
        "id": person.pk,
        "account": person.username,
        "name": person.display_name,
        "email": person.email,
        "joined_at": person.date_joined,
        "last_sign_in_at": person.last_login,
        "is_active": person.is_active,
    }
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
    by_others = Q(person_id=None) | ~Q(person_id=person_id)
    named = entries.filter(by_others, subject=f"person:{person_id}")
    acts = [entries.filter(person_id=person_id, act=act) for act in Act]
    for rows in (*acts, named):
        for batch in _iterate_batches(rows, "pk__lt"):
            yield [
                _format(
                    {
                        "sequence": entry.sequence,
                        "text_hash": entry.text_hash,
                        "entry": json.loads(entry.text) if entry.text else None,
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
