"""What is asked for many pages at once: who may, what waits where, what changed.

Each function takes the same number of queries however many people and pages there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, Window
from django.db.models.functions import RowNumber

from jpweb.store.inquiries import OPEN, goes_on
from jpweb.store.models import Conversation, Inquiry, Membership, Prompt, Run
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import PromptState, Role

#: Keys that one query names at most; every database takes as many.
KEYS = 10_000
#: Cards that a desk shows at most: the oldest of what waits.
DESK = 100
#: What waits is counted up to here where nobody is shown more than that it is many.
COUNTED = 1000


class Waiting(NamedTuple):
    """An open question, or an open prompt, of a run that has not ended."""

    asked_at: datetime
    prompt: bool
    key: int
    workspace_id: int
    conversation_id: int


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits in one place: how much, the oldest of it in the order of asking, the newest."""

    count: int = 0
    oldest: tuple[Waiting, ...] = ()
    newest: Waiting | None = None

    @classmethod
    def of(cls, queues: Iterable[Queue]) -> Queue:
        """Return several queues as one, of which no more is named than of each."""
        every = list(queues)
        oldest = sorted(row for each in every for row in each.oldest)[:DESK]
        newest = max((each.newest for each in every if each.newest), default=None)
        return cls(sum(each.count for each in every), tuple(oldest), newest)

    @property
    def whole(self) -> bool:
        """Whether ``oldest`` is all that waits there."""
        return self.count == len(self.oldest)


_roles = Prepared(
    lambda people: Membership.objects.filter(person_id__in=people).values_list(
        "person_id", "workspace_id", "role"
    )
)
_roles_in = Prepared(
    lambda homes, people: Membership.objects.filter(
        workspace_id__in=homes, person_id__in=people
    ).values_list("person_id", "role")
)


def roles(person_ids: Collection[int]) -> dict[int, dict[int, Role]]:
    """Return the roles of people by workspace; who has none has an empty one."""
    found: dict[int, dict[int, Role]] = {key: {} for key in person_ids}
    for keys in _parts(person_ids):
        for person_id, workspace_id, role in _roles(keys):
            found[person_id][workspace_id] = Role(role)
    return found


def roles_in(workspace_id: int, person_ids: Collection[int]) -> dict[int, Role]:
    """Return the roles that people have in one workspace; outsiders are left out."""
    found: dict[int, Role] = {}
    for keys in _parts(person_ids):
        found |= {key: Role(role) for key, role in _roles_in([workspace_id], keys)}
    return found


def waiting_in(workspace_ids: Collection[int]) -> dict[int, Queue]:
    """Return what waits for people in each of these workspaces, where anything does."""
    return _queues("workspace_id", workspace_ids)


def waiting_of(conversation_ids: Collection[int], homes: Collection[Queue]) -> dict[int, Queue]:
    """Return what waits of each of these conversations, where anything does.

    ``homes`` is what waits in the workspaces that they are in; conversations of others may be left
    out. No query is made where all of it was read, which is so unless a desk could not show it.
    """
    if not all(home.whole for home in homes):
        return _queues("conversation_id", conversation_ids)
    found: dict[int, list[Waiting]] = defaultdict(list)
    for home in homes:
        for row in home.oldest:
            if row.conversation_id in conversation_ids:
                found[row.conversation_id].append(row)
    return {key: Queue(len(rows), tuple(rows), rows[-1]) for key, rows in found.items()}


def questions(keys: Collection[int]) -> dict[int, Inquiry]:
    """Return the rows of questions, with what a card shows; those that are gone are left out."""
    return _rows(Inquiry, keys)


def prompts(keys: Collection[int]) -> dict[int, Prompt]:
    """Return the rows of prompts, with what a card shows; those that are gone are left out."""
    return _rows(Prompt, keys)


def conversations(keys: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return what differs once a conversation has changed."""
    found: dict[int, tuple[Any, ...]] = {}
    of_run = ("run", "state", "resumed")
    newest = Run.objects.filter(conversation_id=OuterRef("pk")).order_by("-id")
    for part in _parts(keys):
        rows = Conversation.objects.filter(pk__in=part).annotate(
            run=Subquery(newest.values("pk")[:1]),
            state=Subquery(newest.values("state")[:1]),
            resumed=Subquery(newest.values("resumed")[:1]),
        )
        columns = ("length", "revision", "archived", "gone_at", "expires_at")
        told = ("title", "pinned_at", "labels")
        found |= {row[0]: row[1:] for row in rows.values_list("pk", *columns, *told, *of_run)}
    return found


def desks(workspace_ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return what differs once something came to wait in a workspace, or waits no more."""
    found: dict[int, list[Any]] = defaultdict(list)
    place = "workspace_id"
    for keys in _parts(workspace_ids):
        for is_prompt in (False, True):
            rows = _open(place, is_prompt, keys)
            # Without an order of the model's own, by which rows would be told apart.
            marks = rows.order_by().values(place).annotate(Count("pk"), Max("pk"), Sum("pk"))
            for key, *mark in marks.values_list(place, "pk__count", "pk__max", "pk__sum"):
                found[key].append((is_prompt, *mark))
    return {key: tuple(found[key]) for key in workspace_ids}


def _open(place: str, is_prompt: bool, keys: Collection[int]) -> QuerySet[Any, Any]:
    """Return the questions, or the prompts, that wait in some places."""
    there = {f"{place}__in": keys}
    if is_prompt:
        return Prompt.objects.filter(goes_on(), state=PromptState.OPEN, **there)
    return Inquiry.objects.filter(goes_on(), state=OPEN, **there)


def _queues(place: str, keys: Collection[int]) -> dict[int, Queue]:
    """Return what waits by place. The database counts; of each place few rows leave it."""
    found: dict[int, list[Queue]] = defaultdict(list)
    for part in _parts(keys):
        for is_prompt in (False, True):
            for key, nth, count, asked_at, *more in _ENDS[place, is_prompt](part):
                row = Waiting(asked_at, is_prompt, *more)
                found[key].append(
                    Queue(
                        count if nth == 1 else 0,
                        (row,) if nth <= DESK else (),
                        row if nth == count else None,
                    )
                )
    return {key: Queue.of(queues) for key, queues in found.items()}


def _ends(place: str, is_prompt: bool, keys: list[int]) -> QuerySet[Any, Any]:
    """Return the oldest rows of each place and the newest, counted."""
    ranked = (
        _open(place, is_prompt, keys)
        .order_by()
        .annotate(
            nth=Window(RowNumber(), partition_by=place, order_by=("asked_at", "pk")),
            count=Window(Count("pk"), partition_by=place),
        )
    )
    ends: QuerySet[Any, Any] = ranked.filter(Q(nth__lte=DESK) | Q(nth=F("count")))
    columns = ("asked_at", "pk", "workspace_id", "conversation_id")
    return ends.values_list(place, "nth", "count", *columns)


_ENDS = {
    (place, is_prompt): Prepared(partial(_ends, place, is_prompt))
    for place in ("workspace_id", "conversation_id")
    for is_prompt in (False, True)
}


def _rows(model: Any, keys: Collection[int]) -> dict[int, Any]:
    return {row.pk: row for part in _parts(keys) for row in _CARDS[model](part)}


def _card(model: Any, keys: list[int]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model.objects.select_related("conversation__workspace", "run")
    return rows.filter(pk__in=keys)


_CARDS = {model: Prepared(partial(_card, model)) for model in (Inquiry, Prompt)}


def _parts(keys: Collection[int]) -> Iterator[list[int]]:
    every = sorted(keys)
    for start in range(0, len(every), KEYS):
        yield every[start : start + KEYS]
