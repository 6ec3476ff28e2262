"""Decisions of all kinds, for auditors, newest first.

Those on questions and approvals come from their rows. Trust, rights, redactions, reviews,
settings and dismissed suspicions come from the ledger, and so do calls and results that a policy
decided about. Its forged rows are no decisions. Calls that ran without asking are left out unless
they are filtered for: a turn may have hundreds.

A page merges up to a page of rows from each table, by keyset, and of the ledger from each act. An
auditor of a small workspace in a large database, or a filter by person, may read more rows than are
shown; that is not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from jpweb.store import exports
from jpweb.store.audit import list_workspaces
from jpweb.store.choices import Act, ApprovalKind, ApprovalState, DecisionKind, Role
from jpweb.store.decision_filters import decision_matches, decision_places
from jpweb.store.decision_filters.decision_places import (
    APPROVAL_RANK,
    ENTRY_RANK,
    INQUIRY_RANK,
    DecisionCursor,
    filter_place,
)
from jpweb.store.inquiries import defer_questions
from jpweb.store.ledger import newest_entries
from jpweb.store.models import (
    DEMO_ROOT,
    Approval,
    Conversation,
    Inquiry,
    LedgerEntry,
    Membership,
    Person,
)
from jpweb.store.reviews.state_counts import StateCount

PAGE_DECISIONS = 100
#: Calls that ran without asking, and are left out, that a page counts.
MAX_COUNTED_CALLS = 1000
#: Decisions that a page counts.
MAX_COUNTED_DECISIONS = 1000
#: The acts of the decisions that the ledger alone has.
ACTS_BY_KIND = {
    DecisionKind.RUN: (Act.CALL_DECIDED_BY_POLICY,),
    DecisionKind.UNATTENDED: (Act.CALL_RAN_UNATTENDED,),
    DecisionKind.DELIVER: (Act.RESULT_DECIDED_BY_POLICY,),
    DecisionKind.TRUST: (Act.TRUST_GIVEN, Act.TRUST_WITHDRAWN),
    DecisionKind.RIGHTS: (
        Act.MEMBER_INVITED, Act.INVITATION_WITHDRAWN, Act.INVITATION_DECLINED, Act.MEMBER_ADDED,
        Act.ROLE_CHANGED, Act.MEMBER_REMOVED, Act.GROUP_CHANGED, Act.PERSON_DEACTIVATED,
        Act.PERSON_REACTIVATED,
    ),
    DecisionKind.REDACTION: (Act.REDACTED,),
    DecisionKind.REVIEW: (Act.REVIEWED,),
    DecisionKind.SETTING: (Act.SETTING_CHANGED,),
    DecisionKind.SUSPICION: (Act.SUSPICION_DISMISSED,),
}  # fmt: skip
#: The kinds of decisions about a call that a policy decides, each at most once a call.
POLICY_KINDS = (DecisionKind.RUN, DecisionKind.UNATTENDED, DecisionKind.DELIVER)
#: The tables of rows that addresses name.
_RANK_BY_NAME = {"question": INQUIRY_RANK, "approval": APPROVAL_RANK}
#: The kinds of each table, in the order of ``_list_sources``.
_KINDS_BY_RANK = (
    {DecisionKind.QUESTION},
    {DecisionKind.RUN, DecisionKind.DELIVER},
    {*ACTS_BY_KIND},
)
_KINDS_BY_ACT = {act: kind for kind, acts in ACTS_BY_KIND.items() for act in acts}


@dataclass(frozen=True, slots=True)
class DecisionFilters:
    """The filters of decisions; an empty value does not filter. ``until`` is exclusive.

    Without a ``workspace`` or ``conversation`` the demo is left out, unless ``demo`` is set or the
    person audits nothing else. ``unattended`` adds calls that ran without asking, where tool calls
    are let through. ``identifier`` is the id of an inquiry or of a tool call; it lets through the
    decisions on them and the reviews of these questions. ``tool`` asked or was called. ``words``
    have to be in the question or in what a person wrote; ``decided`` is the kind of decider,
    ``decider`` the name on record, and ``person`` the key of an account, whatever its name was.
    """

    kind: str = ""
    workspace: int | None = None
    person: int | None = None
    conversation: int | None = None
    identifier: str = ""
    demo: bool = False
    unattended: bool = False
    tool: str = ""
    words: str = ""
    decided: str = ""
    decider: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Decision(NamedTuple):
    """A row of the page, its kind, and its place."""

    cursor: DecisionCursor
    kind: DecisionKind
    row: Inquiry | Approval | LedgerEntry

    @property
    def is_entry(self) -> bool:
        """Whether the row is an entry of the ledger."""
        return self.cursor.rank == ENTRY_RANK


def list_page(
    person_id: int, filters: DecisionFilters, after: DecisionCursor | None
) -> tuple[list[Decision], DecisionCursor | None]:
    """Return the decisions that follow a place (None: the newest), and the place of the last.

    That is None where no more follow. Filters that no index answers are tested on so many rows
    of each table, or of each act, as ``MAX_SCANNED_ROWS``.
    """
    horizon = _find_horizon(filters, after) if decision_matches.is_scan(filters) else None
    decisions: list[Decision] = []
    for rank, (column, rows) in enumerate(_list_sources(person_id, filters)):
        matches = filter_place(rows, rank, filters, after, horizon)
        if rank == INQUIRY_RANK:
            matches = defer_questions(matches)
        if rank == ENTRY_RANK:
            acts = _list_acts(filters)
            page_rows = newest_entries.list_newest(matches, acts, PAGE_DECISIONS + 1)
        else:
            page_rows = [*matches.order_by(F(column).desc(), "-id")[: PAGE_DECISIONS + 1]]
        decisions += [
            Decision(DecisionCursor(getattr(row, column), rank, row.pk), _get_kind(row), row)
            for row in page_rows
        ]
    decisions.sort(key=lambda decision: decision.cursor, reverse=True)
    page = decisions[:PAGE_DECISIONS]
    if len(decisions) > PAGE_DECISIONS:
        return page, page[-1].cursor
    return page, DecisionCursor(horizon, 0, 0) if horizon else None


def read_pages(person_id: int, filters: DecisionFilters) -> Iterator[tuple[list[Decision], bool]]:
    """Yield all decisions that the filters let through, a page at a time, and whether it is last.

    What is decided meanwhile is newer than all that follow, so it is on no page. Raises
    ExportBroken where the person's roles are changed meanwhile.
    """
    memberships = _list_memberships(person_id, filters)
    workspace_ids = exports.list_workspace_ids(memberships)
    after: DecisionCursor | None = None
    while True:
        page, after = list_page(person_id, filters, after)
        exports.check_memberships(memberships, workspace_ids)
        yield page, after is None
        if after is None:
            return


def count_decisions(person_id: int, filters: DecisionFilters) -> StateCount:
    """Return the number of the newest decisions that match, up to ``MAX_COUNTED_DECISIONS``.

    They are counted among the rows of one scan, but within a conversation or of an id.
    """
    is_narrow = filters.conversation is not None or bool(filters.identifier)
    horizon = None if is_narrow else _find_horizon(filters, None)
    number = 0
    for rank, (column, rows) in enumerate(_list_sources(person_id, filters)):
        matches = filter_place(rows, rank, filters, horizon=horizon)
        limit = MAX_COUNTED_DECISIONS + 1 - number
        if rank == ENTRY_RANK:
            number += len(newest_entries.list_newest(matches, _list_acts(filters), limit))
        else:
            number += matches.order_by(F(column).desc(), "-id").values("pk")[:limit].count()
    is_least = horizon is not None or number > MAX_COUNTED_DECISIONS
    return StateCount(min(number, MAX_COUNTED_DECISIONS), is_least)


def count_omitted_calls(person_id: int, filters: DecisionFilters) -> StateCount:
    """Count the calls that ran without asking and that ``unattended`` would add.

    At most ``MAX_COUNTED_CALLS`` are counted.
    """
    added_kinds = _list_kinds(replace(filters, unattended=True)) - _list_kinds(filters)
    # These calls have no id and no words on record.
    if not added_kinds or filters.identifier or filters.words:
        return StateCount(0, is_least=False)
    filters = replace(filters, kind=DecisionKind.UNATTENDED)
    horizon = _find_horizon(filters, None) if decision_matches.is_scan(filters) else None
    _, rows = _list_sources(person_id, filters)[ENTRY_RANK]
    matches = filter_place(rows, ENTRY_RANK, filters, horizon=horizon)
    acts = ACTS_BY_KIND[DecisionKind.UNATTENDED]
    number = len(newest_entries.list_newest(matches, acts, MAX_COUNTED_CALLS + 1))
    is_least = horizon is not None or number > MAX_COUNTED_CALLS
    return StateCount(min(number, MAX_COUNTED_CALLS), is_least)


def list_matching_workspaces(person_id: int, filters: DecisionFilters) -> list[int]:
    """Return the keys of the workspaces that have any of the decisions; two queries."""
    has_match = Q()
    for rank, (_, rows) in enumerate(_list_sources(person_id, filters)):
        matches = filter_place(rows, rank, filters)
        if rank == ENTRY_RANK:
            has_match |= Q(workspace_id__in=newest_entries.list_unsealed_workspaces(matches))
            matches = matches.filter(sequence__isnull=False)
        has_match |= Q(Exists(matches.filter(workspace_id=OuterRef("workspace_id"))))
    memberships = _list_memberships(person_id, filters).filter(has_match)
    return sorted(memberships.values_list("workspace_id", flat=True))


def list_conversation_ids(person_id: int, filters: DecisionFilters, limit: int) -> list[int]:
    """Return the keys of the conversations of the decisions, in order, at most ``limit``.

    Decisions about no conversation, such as rights and trust, have none.
    """
    keys: set[int] = set()
    for rank, (_, rows) in enumerate(_list_sources(person_id, filters)):
        matches = filter_place(rows, rank, filters).exclude(conversation_id=None)
        if rank == ENTRY_RANK:
            keys |= newest_entries.list_unsealed_conversations(matches)
            matches = matches.filter(sequence__isnull=False)
        keys.update(matches.order_by().values_list("conversation_id", flat=True).distinct()[:limit])
    # Entries outlive their conversations.
    audited_memberships = _list_memberships(person_id, filters).values("workspace_id")
    existing_rows = Conversation.objects.filter(
        pk__in=keys, workspace__in=audited_memberships
    ).order_by("pk")
    return list(existing_rows.values_list("pk", flat=True)[:limit])


def find_place(
    person_id: int, filters: DecisionFilters, name: str, key: int
) -> DecisionCursor | None:
    """Return the place that a question's or an approval's row follows; None for an unknown one.

    ``name`` is that of its model in an address: *question* or *approval*.
    """
    if name not in _RANK_BY_NAME:
        return None
    rank = _RANK_BY_NAME[name]
    _, rows = _list_sources(person_id, filters)[rank]
    row = rows.filter(pk=key).first()
    return DecisionCursor(row.settled_at, rank, row.pk + 1) if row else None


def find_policy_place(
    person_id: int, filters: DecisionFilters, kind: str, anchor: str
) -> DecisionCursor | None:
    """Return the place that a policy's row follows, of the call whose response has the anchor.

    ``kind`` is one of ``POLICY_KINDS``; None for an unknown row.
    """
    column, rows = _list_sources(person_id, filters)[ENTRY_RANK]
    acts = ACTS_BY_KIND[DecisionKind(kind)]
    row = rows.filter(subject=f"event:{anchor}", act__in=acts).order_by("-id").first()
    return DecisionCursor(getattr(row, column), ENTRY_RANK, row.pk + 1) if row else None


def list_people(person_id: int) -> dict[int, str]:
    """Return the names of the deciders in the workspaces that a person audits, by key.

    The members are among them, and people who were removed since.
    """
    keys = [workspace.pk for workspace in list_workspaces(person_id)]
    members = Membership.objects.filter(workspace_id__in=keys).values("person_id")
    in_audited = {"conversation__workspace_id__in": keys}
    entries = LedgerEntry.objects.filter(workspace_id__in=keys, act__in=[*_KINDS_BY_ACT])
    people = Person.objects.filter(
        Q(pk__in=members)
        | Exists(Inquiry.objects.filter(decider_id=OuterRef("pk"), **in_audited))
        | Exists(Approval.objects.filter(decider_id=OuterRef("pk"), **in_audited))
        | Exists(entries.filter(person_id=OuterRef("pk")))
    )
    return {person.pk: person.display_name for person in people.order_by("first_name", "username")}


def _get_kind(row: Inquiry | Approval | LedgerEntry) -> DecisionKind:
    if isinstance(row, Inquiry):
        return DecisionKind.QUESTION
    if isinstance(row, Approval):
        return DecisionKind(row.kind)
    return _KINDS_BY_ACT[Act(row.act)]


def _list_sources(person_id: int, filters: DecisionFilters) -> list[tuple[str, QuerySet[Any]]]:
    """Return the tables that the filters let through, with the column of the instant.

    Forged rows of the ledger are among them.
    """
    audited_memberships = _list_memberships(person_id, filters)
    matches = decision_matches.match_filters(audited_memberships, filters)
    inquiries = Inquiry.objects.filter(
        Exists(audited_memberships.filter(workspace__conversations=OuterRef("conversation_id"))),
        matches.inquiries,
        settled_at__isnull=False,
        **_make_conditions(filters, "decider_id"),
    )
    approvals = Approval.objects.filter(
        Exists(audited_memberships.filter(workspace__conversations=OuterRef("conversation_id"))),
        matches.approvals,
        ~Q(state=ApprovalState.OPEN),
        settled_at__isnull=False,
        **_make_conditions(filters, "decider_id"),
    )
    if filters.kind in ApprovalKind.values:
        approvals = approvals.filter(kind=filters.kind)
    kinds = _list_kinds(filters)
    entries = LedgerEntry.objects.filter(
        Exists(audited_memberships.filter(workspace_id=OuterRef("workspace_id"))),
        matches.entries,
        act__in=_list_acts(filters),
        **_make_conditions(filters, "person_id"),
    )
    related_fields = ("conversation__workspace", "decider")
    sources: list[tuple[str, QuerySet[Any], tuple[DecisionKind, ...]]] = [
        ("settled_at", inquiries.prefetch_related(*related_fields), (DecisionKind.QUESTION,)),
        (
            "settled_at",
            approvals.prefetch_related(*related_fields),
            (DecisionKind.RUN, DecisionKind.DELIVER),
        ),
        ("at", entries, tuple(ACTS_BY_KIND)),
    ]
    return [
        (column, rows.none() if kinds.isdisjoint(source_kinds) else rows)
        for column, rows, source_kinds in sources
    ]


def _list_acts(filters: DecisionFilters) -> list[Act]:
    """Return the acts of the ledger that the filters let through."""
    kinds = _list_kinds(filters)
    return [act for act, kind in _KINDS_BY_ACT.items() if kind in kinds]


def _list_kinds(filters: DecisionFilters) -> set[DecisionKind]:
    """Return the kinds that the filters let through."""
    kinds = {DecisionKind(filters.kind)} if filters.kind else set(DecisionKind)
    if filters.unattended and DecisionKind.RUN in kinds:
        return kinds | {DecisionKind.UNATTENDED}
    return kinds if filters.kind else kinds - {DecisionKind.UNATTENDED}


def _make_conditions(filters: DecisionFilters, person_column: str) -> dict[str, int]:
    values = {person_column: filters.person, "conversation_id": filters.conversation}
    return {name: value for name, value in values.items() if value is not None}


def _find_horizon(filters: DecisionFilters, after: DecisionCursor | None) -> datetime | None:
    """Return the instant at which a scan for the filters stops; None where it reads all rows."""
    kinds = _list_kinds(filters)
    ranks = [rank for rank, own_kinds in enumerate(_KINDS_BY_RANK) if kinds & own_kinds]
    return decision_places.find_horizon(filters, after, ranks, _list_acts(filters))


def _list_memberships(person_id: int, filters: DecisionFilters) -> QuerySet[Membership]:
    rows = Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )
    if filters.workspace is not None:
        return rows.filter(workspace_id=filters.workspace)
    if filters.conversation is not None:
        return rows
    without_demo = rows.exclude(workspace__root=DEMO_ROOT)
    return rows if filters.demo or not without_demo.exists() else without_demo
