"""Entries of the ledger, as people may see them: those of workspaces they audit, and their own.

Auditors also see those of the installation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from jpweb.evidence import ledger_verifier
from jpweb.store import exports
from jpweb.store.choices import Act, Role
from jpweb.store.exports import ExportChunk
from jpweb.store.ledger import entry_macs, identifier_match, retention, sealing, signing
from jpweb.store.models import Conversation, LedgerEntry, Membership, Person, Run, Workspace

PAGE_ENTRIES = 100
#: Acts of the operator and of jpweb itself that belong to no workspace.
_INSTALLATION_ACTS = (Act.EXPORTED, Act.RESTORED, Act.PURGED)
#: Entries of one query of a ledger file.
_BATCH_ENTRIES = 500


@dataclass(frozen=True, slots=True)
class LedgerFilters:
    """The filters of the ledger; an empty value does not filter. ``until`` is exclusive.

    ``identifier`` is the id of an inquiry or of a tool call that a person audits.
    """

    act: str = ""
    workspace: int | None = None
    person: int | None = None
    conversation: int | None = None
    identifier: str = ""
    since: datetime | None = None
    until: datetime | None = None


class EntryBatch(NamedTuple):
    """Consecutive entries of an export; ``done`` are in this batch and those before it.

    ``left_out`` is the number of the chain's other entries, known with the last batch;
    ``purged`` of them were purged, so that nobody sees them.
    """

    entries: list[LedgerEntry]
    done: int
    is_last: bool
    left_out: int
    purged: int


class ConversationReader(NamedTuple):
    """A reader of a conversation: how often, and when last.

    ``person_name`` is empty for the operator, and for a person whose account is gone.
    """

    conversation: Conversation
    is_operator: bool
    person_name: str
    read_count: int
    last_at: datetime


class WorkspaceExporter(NamedTuple):
    """An exporter of lists of a workspace's conversations: how often, and when last.

    ``person_name`` is as in ``ConversationReader``.
    """

    workspace_name: str
    is_operator: bool
    person_name: str
    export_count: int
    last_at: datetime


def list_entries(person_id: int, filters: LedgerFilters) -> QuerySet[LedgerEntry]:
    """Return the entries that a person may see, the newest first."""
    values_by_lookup: dict[str, Any] = {
        "act": filters.act,
        "workspace_id": filters.workspace,
        "person_id": filters.person,
        "conversation_id": filters.conversation,
        "at__gte": filters.since,
        "at__lt": filters.until,
    }
    conditions = {name: value for name, value in values_by_lookup.items() if value}
    if filters.identifier:
        audited_memberships = _list_audited(person_id)
        conditions["subject__in"] = identifier_match.list_subjects(
            audited_memberships, filters.identifier
        )
    return LedgerEntry.objects.filter(_is_visible(person_id), **conditions).order_by("-id")


def get_page(
    entries: QuerySet[LedgerEntry], before_key: int, limit: int = PAGE_ENTRIES
) -> tuple[list[LedgerEntry], int]:
    """Return the entries below the key ``before_key`` (0 for the first page), and the next key."""
    if before_key:
        entries = entries.filter(pk__lt=before_key)
    rows = list(entries[: limit + 1])
    return rows[:limit], rows[limit - 1].pk if len(rows) > limit else 0


def read_batches(person_id: int, filters: LedgerFilters) -> Iterator[EntryBatch]:
    """Yield the entries of ``list_entries`` in batches, at least one.

    What is recorded meanwhile is newer than all that follow, so it is in no batch. Raises
    ExportBroken where the person's roles are changed meanwhile.
    """
    audited_memberships = _list_audited(person_id)
    workspace_ids = exports.list_workspace_ids(audited_memberships)
    head_sequence = sealing.get_head().sequence
    entries = list_entries(person_id, filters)
    done_count = chained_count = before_key = 0
    while True:
        batch, before_key = get_page(entries, before_key, _BATCH_ENTRIES)
        exports.check_memberships(audited_memberships, workspace_ids)
        done_count += len(batch)
        # Entries may be chained since the head was read.
        sequences = [entry.sequence for entry in batch if entry.sequence is not None]
        chained_count += sum(sequence <= head_sequence for sequence in sequences)
        purged_count = 0 if before_key else retention.count_tombstones(head_sequence)
        left_out = head_sequence - chained_count
        yield EntryBatch(batch, done_count, not before_key, left_out, purged_count)
        if not before_key:
            return


def list_matching_workspaces(person_id: int, filters: LedgerFilters) -> list[int]:
    """Return the keys of the audited workspaces that have any of the entries; one query."""
    matches = list_entries(person_id, filters).filter(workspace_id=OuterRef("workspace_id"))
    return sorted(exports.list_workspace_ids(_list_audited(person_id).filter(Exists(matches))))


def list_actors(person_id: int) -> dict[int, str]:
    """Return the names of the people who act in entries that a person may see, by key."""
    keys = LedgerEntry.objects.filter(_is_visible(person_id)).values("person_id").distinct()
    people = Person.objects.filter(pk__in=keys).order_by("first_name", "username")
    return {person.pk: person.display_name for person in people}


def list_conversation_readers(
    person_id: int, before_key: int = 0
) -> tuple[list[ConversationReader], int]:
    """Return other readers of the conversations that a person started or continued, latest first.

    Those of workspaces in which the person has no role any more are left out. A page begins below
    the entry ``before_key`` (0 for the first page); the second value is that of the next page.
    """
    conversations = _list_started(person_id)
    reads = LedgerEntry.objects.filter(
        act__in=(Act.READ, Act.EXPORTED), conversation_id__in=conversations.values("pk")
    ).exclude(person_id=person_id)
    groups = reads.values("conversation_id", "person_id").annotate(
        count=Count("id"), last_at=Max("at"), last_key=Max("id")
    )
    if before_key:
        groups = groups.filter(last_key__lt=before_key)
    rows = list(groups.order_by("-last_key")[: PAGE_ENTRIES + 1])
    next_key = rows[PAGE_ENTRIES - 1]["last_key"] if len(rows) > PAGE_ENTRIES else 0
    return _make_readers(conversations, rows[:PAGE_ENTRIES]), next_key


def list_workspace_exporters(person_id: int) -> list[WorkspaceExporter]:
    """Return other exporters of lists of workspaces where a person started or continued any.

    Such an export, as that of all questions as CSV, names no conversation: it may hold one of
    theirs. The latest come first, at most ``PAGE_ENTRIES``.
    """
    workspace_ids = _list_started(person_id).values("workspace_id")
    exports_of_lists = LedgerEntry.objects.filter(
        act=Act.EXPORTED, conversation_id=None, workspace_id__in=workspace_ids
    ).exclude(person_id=person_id)
    groups = exports_of_lists.values("workspace_id", "person_id").annotate(
        count=Count("id"), last_at=Max("at"), last_key=Max("id")
    )
    rows = list(groups.order_by("-last_key")[:PAGE_ENTRIES])
    workspaces = Workspace.objects.in_bulk([row["workspace_id"] for row in rows])
    names = _load_names(rows)
    return [
        WorkspaceExporter(
            workspaces[row["workspace_id"]].name,
            row["person_id"] is None,
            names.get(row["person_id"] or 0, ""),
            row["count"],
            row["last_at"],
        )
        for row in rows
    ]


def has_started_any(person_id: int) -> bool:
    """Tell whether a conversation or a turn is on record as started by a person."""
    return _list_started(person_id).exists()


def _list_started(person_id: int) -> QuerySet[Conversation]:
    """Return the conversations that a person started or continued, where they still have a role.

    Those of jp have no starter: they are the person's who started a turn in them.
    """
    continued_ids = Run.objects.filter(started_by_id=person_id).values("conversation_id")
    return Conversation.objects.filter(
        Q(started_by_id=person_id) | Q(pk__in=continued_ids),
        workspace__memberships__person_id=person_id,
    )


def _load_names(rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the names of the people of groups of entries, by key."""
    people = Person.objects.filter(pk__in=[row["person_id"] for row in rows])
    return {person.pk: person.display_name for person in people}


def _make_readers(
    conversations: QuerySet[Conversation], rows: Sequence[Mapping[str, Any]]
) -> list[ConversationReader]:
    """Return the readers of groups of entries, with two queries."""
    by_key = conversations.in_bulk([row["conversation_id"] for row in rows])
    names = _load_names(rows)
    return [
        ConversationReader(
            by_key[row["conversation_id"]],
            row["person_id"] is None,
            names.get(row["person_id"] or 0, ""),
            row["count"],
            row["last_at"],
        )
        for row in rows
    ]


def load_subject_names(entries: Collection[LedgerEntry]) -> dict[str, str]:
    """Return the names of the people whom entries are about, by subject; one query.

    A deleted person has none, and what a forged row is about is not looked up.
    """
    recorded_entries = (entry for entry in entries if not entry_macs.is_forged(entry))
    keys = {key for entry in recorded_entries if (key := _get_subject_id(entry)) is not None}
    people = Person.objects.filter(pk__in=keys) if keys else ()
    return {f"person:{person.pk}": person.display_name for person in people}


def make_ledger_file(person_id: int) -> Iterator[ExportChunk]:
    """Yield a ledger file: the signed head, and every sealed entry up to it.

    Entries that the person may not see are hashes: the chain verifies, and they stay hidden.
    Raises ValueError for an empty ledger, and ExportBroken where the person's roles are changed
    meanwhile.
    """
    audited_memberships = _list_audited(person_id)
    workspace_ids = exports.list_workspace_ids(audited_memberships)
    head = sealing.get_head()
    first_line = ledger_verifier.encode_canonical(signing.make_statement(head))
    visible_ids = set(
        LedgerEntry.objects.filter(_is_visible(person_id)).values_list("pk", flat=True)
    )
    text = f"{first_line}\n"
    last_sequence = 0
    while True:
        batch = _read_batch(last_sequence, head.sequence)
        exports.check_memberships(audited_memberships, workspace_ids)
        text += "".join(_format_line(values, visible_ids) for values in batch)
        last_sequence = (batch[-1][1] if batch else None) or head.sequence
        yield ExportChunk(text.encode("utf-8", "surrogatepass"), last_sequence, head.sequence)
        if last_sequence >= head.sequence:
            return
        text = ""


def list_audited_workspaces(person_id: int) -> list[int]:
    """Return the keys of the workspaces whose entries a person may see."""
    return sorted(exports.list_workspace_ids(_list_audited(person_id)))


def _read_batch(after: int, last_sequence: int) -> list[tuple[int, int | None, str, str]]:
    rows = LedgerEntry.objects.filter(sequence__gt=after, sequence__lte=last_sequence).order_by(
        "sequence"
    )
    return list(rows.values_list("pk", "sequence", "text", "text_hash")[:_BATCH_ENTRIES])


def _format_line(values: tuple[int, int | None, str, str], visible_ids: set[int]) -> str:
    key, sequence, text, text_hash = values
    content = {"sequence": sequence, "text_hash": text_hash}
    if text and key in visible_ids:
        content["text"] = text  # the hash beside it names the entry whose text was changed
    return ledger_verifier.encode_canonical(content) + "\n"


def _get_subject_id(entry: LedgerEntry) -> int | None:
    """Return the key of the other person whom an entry is about."""
    kind, _, key = entry.subject.partition(":")
    is_other = kind == "person" and key.isdecimal() and key != str(entry.person_id)
    return int(key) if is_other else None


def _list_audited(person_id: int) -> QuerySet[Membership]:
    return Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )


def _is_visible(person_id: int) -> Q:
    """Return the condition that a person may see an entry.

    Backups, restorations and purges are of the whole installation, and have no content: people who
    audit a workspace see them.
    """
    audited_memberships = _list_audited(person_id)
    is_own = Q(workspace_id__in=audited_memberships.values("workspace_id")) | Q(person_id=person_id)
    is_of_installation = Q(act__in=_INSTALLATION_ACTS, workspace_id=None, person_id=None)
    return is_own | Q(is_of_installation, Exists(audited_memberships))
