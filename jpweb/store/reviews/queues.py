"""Queues of things to review, with their progress, and the next one for a person.

Queues by outcome are made from the newest closed questions that a person audits, at most
``MAX_QUEUE_QUESTIONS``: a page costs the same with a million of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from jpweb.store import audit
from jpweb.store.choices import ReviewState, Role
from jpweb.store.database import clock
from jpweb.store.inquiries import OPEN_STATE, defer_questions
from jpweb.store.models import Conversation, Inquiry, Membership, Review, ReviewTask
from jpweb.store.reviews import reservations, subjects
from jpweb.store.reviews.inquiry_pages import OVERRIDING_DECIDERS
from jpweb.store.reviews.reviews import DECISION
from jpweb.stream.answer_type import Secret

#: Newest questions that queues are made from; 5,000 take 55 ms, also of 300,000.
MAX_QUEUE_QUESTIONS = 5_000
#: Things of a queue that comes from assignments or from one state of reviews.
MAX_QUEUE_TASKS = 1_000
#: Items of a queue's page; seconds after which an answer was late.
PAGE_ITEMS, LATE_SECONDS = 100, 3_600
#: One of so many questions is in the sample of a week.
SAMPLE_DIVISOR = 20
_ANSWERED_STATES = frozenset({"answered", "redacted"})
#: Kinds of deciders that are no person.
_AUTOMATIC_DECIDERS = frozenset({"configuration", "memory", "assistant"})
#: An item's key: that of its conversation, and the anchor of its question.
_ITEM_KEY = re.compile("([0-9]{1,18})-(.*)", re.DOTALL)
_FINISHED_STATES = frozenset({ReviewState.DONE, ReviewState.DISAGREED})
#: States of tasks that are a queue each; those of the index ``reviews_to_look_at``.
_QUEUED_STATES = (ReviewState.PARTIAL, ReviewState.DISAGREED, ReviewState.ESCALATED)


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A question or, without ``inquiry_id``, a conversation; with the state of its reviews.

    ``task_id`` is 0 where nobody assigned, reserved or reviewed it.
    ``is_own``: a review by the person whose queue it is in would be a self-review. ``is_owned``:
    they own its workspace and, in queues by outcome, may decide it where it was escalated.
    """

    conversation_id: int
    anchor: str
    inquiry_id: int | None
    is_own: bool = False
    state: ReviewState = ReviewState.UNREVIEWED
    first_reviewer_id: int | None = None
    assignee_id: int | None = None
    holder_id: int | None = None
    task_id: int = 0
    is_owned: bool = False

    @property
    def key(self) -> str:
        """Identify the item in an address."""
        return f"{self.conversation_id}-{self.anchor}"

    @property
    def is_finished(self) -> bool:
        return self.state in _FINISHED_STATES

    def is_open_for(self, person_id: int) -> bool:
        """Tell whether a person has yet to review it, and may."""
        is_done = self.state == ReviewState.PARTIAL and self.first_reviewer_id == person_id
        is_for_owner = self.state == ReviewState.ESCALATED and not self.is_owned
        return not (self.is_finished or is_done or is_for_owner or self.is_own)


#: An item, its question unless it is a conversation, and its conversation.
QueueRow: TypeAlias = tuple[QueueItem, Inquiry | None, Conversation]


class Queue(NamedTuple):
    """A queue as one person has it."""

    name: str
    items: list[QueueItem]
    remaining_items: list[QueueItem]

    @property
    def finished_count(self) -> int:
        """Number of items with all their reviews."""
        return sum(item.is_finished for item in self.items)

    @property
    def has_progress(self) -> bool:
        """Whether finished items stay in it: from the others, a review takes its item out."""
        return self.name not in _TASK_QUEUES


class ReviewQueues(NamedTuple):
    """All queues of a person; ``is_cut``: there are older questions than they are made from."""

    queues: dict[str, Queue]
    is_cut: bool


class _Row(NamedTuple):
    """The columns of a question by which it gets into queues."""

    pk: int
    conversation_id: int
    anchor: str
    state: str
    answer_type: str
    decided_by: str
    decider_id: int | None
    asked_at: datetime
    settled_at: datetime | None
    run__started_by_id: int | None


def _is_late(row: _Row) -> bool:
    if row.settled_at is None or row.state not in _ANSWERED_STATES:
        return False
    return (row.settled_at - row.asked_at).total_seconds() > LATE_SECONDS


def _make_sampler() -> Callable[[_Row], bool]:
    """Return the condition of this week's sample: the same questions all week, on each server."""
    year, week, _ = clock.now().isocalendar()

    def is_sampled(row: _Row) -> bool:
        identity = f"{year}-{week} {row.conversation_id} {row.anchor}"
        return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % SAMPLE_DIVISOR == 0

    return is_sampled


#: Queues of questions, by name, in the order of pages.
_CONDITIONS: dict[str, Callable[[_Row], bool]] = {
    "cancelled": lambda row: row.state == "cancelled",
    "late": _is_late,
    "overridden": lambda row: row.decided_by in OVERRIDING_DECIDERS,
    "automatic": lambda row: (
        row.state in _ANSWERED_STATES and row.decided_by in _AUTOMATIC_DECIDERS
    ),
    "secret": lambda row: row.answer_type == Secret.TAG,
}
#: Queues of assigned and reviewed items.
_TASK_QUEUES = ("assigned", "second", "disagreed", "escalated")
#: Those of items that an owner may decide.
_UNDECIDED_QUEUES = ("disagreed", "escalated")
QUEUE_NAMES = (*_TASK_QUEUES, *_CONDITIONS, "sample")


def load_queues(person_id: int) -> ReviewQueues:
    """Return all queues of a person; up to ten queries."""
    workspace_ids = _list_workspace_ids(person_id)
    newest_rows = _list_newest(workspace_ids)
    questions = newest_rows[:MAX_QUEUE_QUESTIONS]
    tasks = _list_tasks({row.conversation_id for row in questions}, person_id)
    items = {row.pk: _make_item(row, tasks, person_id) for row in questions}
    escalations = {key: item for key, item in items.items() if item.state == ReviewState.ESCALATED}
    decidable_items = set(_list_decidable("escalated", [*escalations.values()], person_id))
    for key, item in escalations.items():
        items[key] = replace(item, is_owned=item in decidable_items)
    queues = _list_task_items(person_id, workspace_ids)
    for name, is_member in (*_CONDITIONS.items(), ("sample", _make_sampler())):
        queues[name] = [items[row.pk] for row in questions if is_member(row)]
    is_cut = len(newest_rows) > MAX_QUEUE_QUESTIONS
    return ReviewQueues(
        {name: _make_queue(name, queues[name], person_id) for name in QUEUE_NAMES}, is_cut
    )


def load_own_queues(person_id: int) -> list[Queue]:
    """Return the items that are assigned to a person or wait for them as an owner; five queries.

    Queues in which nothing is left are left out; with no such task it takes two queries.
    """
    rows = _list_owned(person_id).filter(
        Q(assignee_id=person_id) | Q(state=ReviewState.ESCALATED, is_owned=True),
        conversation__workspace__in=_list_workspace_ids(person_id),
    )
    tasks = list(rows.order_by("-id")[:MAX_QUEUE_TASKS])
    if not tasks:
        return []
    items = [*_locate_tasks(tasks, person_id).values()]
    assigned_items = [item for item in items if item.assignee_id == person_id]
    escalations = [item for item in items if item.state == ReviewState.ESCALATED and item.is_owned]
    own_queues = (
        _make_queue("assigned", assigned_items, person_id),
        _make_queue("escalated", escalations, person_id),
    )
    return [queue for queue in own_queues if queue.remaining_items]


def _list_workspace_ids(person_id: int) -> list[int]:
    """Return the workspaces of a person's queues; the demo is left out, unless it is all."""
    workspaces = audit.list_workspaces(person_id)
    keys = [row.pk for row in workspaces if not audit.is_demo(row)]
    return keys or [row.pk for row in workspaces]


def _list_newest(workspace_ids: list[int]) -> list[_Row]:
    """Return the newest closed questions of workspaces, one more than queues are made from."""
    # As in ``audit.read_batches``: an index has the rows in this order, and with a join or a
    # condition on an indexed column SQLite would sort all rows (1 s for 300,000).
    is_audited = Exists(
        Conversation.objects.filter(pk=OuterRef("conversation_id"), workspace__in=workspace_ids)
    )
    rows = Inquiry.objects.annotate(any_state=Coalesce("state", Value("")))
    rows = rows.filter(is_audited).exclude(any_state=OPEN_STATE).order_by("-asked_at", "-id")
    columns = rows.values_list(*_Row._fields)[: MAX_QUEUE_QUESTIONS + 1]
    return [_Row(*values) for values in columns]


def _make_queue(name: str, items: list[QueueItem], person_id: int) -> Queue:
    if name in _UNDECIDED_QUEUES:
        return Queue(name, items, _list_decidable(name, items, person_id))
    return Queue(name, items, [item for item in items if item.is_open_for(person_id)])


def _list_decidable(name: str, items: list[QueueItem], person_id: int) -> list[QueueItem]:
    """Return the items that a person may decide as an owner.

    Who gave one of two reviews that disagree may also give it again.
    """
    if not items:
        return []
    rows = Review.objects.filter(
        conversation_id__in={item.conversation_id for item in items},
        anchor__in={item.anchor for item in items},
    ).order_by("pk")
    columns = rows.values_list("conversation_id", "anchor", "round", "reviewer_id")
    # The last row of a round is of the latest version, the only one that can be reviewed.
    reviewers = {(key, anchor, number): reviewer for key, anchor, number, reviewer in columns}
    own_places = {
        slot[:2]
        for slot, reviewer_id in reviewers.items()
        if reviewer_id == person_id and slot[2] != DECISION
    }

    def can_review(item: QueueItem) -> bool:
        if (item.conversation_id, item.anchor) in own_places:
            return name == "disagreed"
        return item.is_owned

    return [item for item in items if not item.is_own and can_review(item)]


def _list_tasks(conversation_ids: set[int], person_id: int) -> dict[tuple[int, str], ReviewTask]:
    rows = _list_owned(person_id).filter(conversation_id__in=conversation_ids).exclude(anchor="")
    return {(row.conversation_id, row.anchor): row for row in rows}


def _make_item(row: _Row, tasks: dict[tuple[int, str], ReviewTask], person_id: int) -> QueueItem:
    is_own = person_id in (row.decider_id, row.run__started_by_id)
    item = QueueItem(row.conversation_id, row.anchor, row.pk, is_own)
    task = tasks.get((row.conversation_id, row.anchor))
    return _apply_task(item, task) if task else item


def _apply_task(item: QueueItem, task: ReviewTask) -> QueueItem:
    is_held = task.held_until is not None and task.held_until > clock.now()
    has_changed = getattr(task, "has_changed", False)
    return replace(
        item,
        state=ReviewState.UNREVIEWED if has_changed else ReviewState(task.state),
        first_reviewer_id=None if has_changed else task.first_reviewer_id,
        assignee_id=task.assignee_id,
        holder_id=task.holder_id if is_held else None,
        task_id=task.pk,
        is_owned=getattr(task, "is_owned", False),
    )


def _list_task_items(person_id: int, workspace_ids: list[int]) -> dict[str, list[QueueItem]]:
    """Return the items of the queues that come from assignments and reviews."""
    rows = _list_owned(person_id).filter(conversation__workspace__in=workspace_ids).order_by("-id")
    own_tasks = list(rows.filter(assignee_id=person_id)[:MAX_QUEUE_TASKS])
    reviewed_tasks = _list_reviewed(person_id, workspace_ids)
    tasks = {task.pk: task for task in (*own_tasks, *reviewed_tasks)}
    items = _locate_tasks(tasks.values(), person_id)

    def pick(tasks: list[ReviewTask], state: ReviewState | None = None) -> list[QueueItem]:
        return [
            items[task.pk] for task in tasks if task.pk in items and state in (None, task.state)
        ]

    second_items = [
        item for item in pick(reviewed_tasks, ReviewState.PARTIAL) if item.is_open_for(person_id)
    ]
    return {
        "assigned": pick(own_tasks),
        "second": second_items,
        "disagreed": pick(reviewed_tasks, ReviewState.DISAGREED),
        "escalated": pick(reviewed_tasks, ReviewState.ESCALATED),
    }


def _list_reviewed(person_id: int, workspace_ids: list[int]) -> list[ReviewTask]:
    """Return the newest tasks of each state that a queue holds, the newest first; one query.

    Each state has its own maximum, so that first reviews cannot hide what was escalated.
    """
    tasks, rows = _list_owned(person_id), ReviewTask.objects.order_by("-id")
    is_void = Q(state=ReviewState.PARTIAL) & subjects.build_change_condition()
    rows = rows.filter(~is_void, conversation__workspace__in=workspace_ids)
    # SQLite takes a LIMIT only in a subquery of a UNION's parts.
    first_tasks, *other_tasks = [
        tasks.filter(pk__in=rows.filter(state=state).values("pk")[:MAX_QUEUE_TASKS])
        for state in _QUEUED_STATES
    ]
    return list(first_tasks.union(*other_tasks, all=True).order_by("-id"))


def _list_owned(person_id: int) -> QuerySet[ReviewTask]:
    """Return all tasks; ``is_owned`` tells of each whether the person owns its workspace.

    ``has_changed`` tells whether a conversation has changed since its reviews.
    """
    owned_memberships = Membership.objects.filter(
        person_id=person_id, role=Role.OWNER, workspace=OuterRef("conversation__workspace")
    )
    has_changed = subjects.build_change_condition()
    return ReviewTask.objects.annotate(is_owned=Exists(owned_memberships), has_changed=has_changed)


def _locate_tasks(tasks: Collection[ReviewTask], person_id: int) -> dict[int, QueueItem]:
    """Return the items of tasks by the tasks' keys; those of vanished questions are left out."""
    rows = Inquiry.objects.filter(
        conversation_id__in={task.conversation_id for task in tasks},
        anchor__in={task.anchor for task in tasks},
    ).values_list("conversation_id", "anchor", "pk", "decider_id", "run__started_by_id")
    items_by_place = {
        (conversation_id, anchor): QueueItem(conversation_id, anchor, key, person_id in people)
        for conversation_id, anchor, key, *people in rows
    }
    conversation_ids = {task.conversation_id for task in tasks if not task.anchor}
    own_ids = subjects.find_own_conversations(conversation_ids, person_id)
    items = {}
    for task in tasks:
        place = task.conversation_id, task.anchor
        item = items_by_place.get(place)
        if not task.anchor:
            item = QueueItem(*place, None, task.conversation_id in own_ids)
        if item is not None:
            items[task.pk] = _apply_task(item, task)
    return items


def reserve_next(queue: Queue, person_id: int, after_key: str = "") -> QueueItem | None:
    """Reserve the next item of a queue that is left for a person; None where there is none.

    ``after_key`` names the item before. The first item follows the last, because it may have been
    skipped. Items that others are reviewing are passed over.
    """
    start = find_start(queue, person_id, after_key)
    remaining_keys = {item.key for item in queue.remaining_items}
    for item in (*queue.items[start:], *queue.items[:start]):
        if item.key not in remaining_keys or item.holder_id not in (None, person_id):
            continue
        if reservations.reserve(item.conversation_id, item.anchor, person_id):
            return item
    return None


def find_start(queue: Queue, person_id: int, after_key: str) -> int:
    """Return the index of the item after ``after_key``; 0 where a person audits no such item."""
    keys = [item.key for item in queue.items]
    if after_key in keys:
        return keys.index(after_key) + 1
    match = _ITEM_KEY.fullmatch(after_key)
    if match is None or queue.name not in _TASK_QUEUES:
        return 0
    # A review removes its item from these queues, which have the newest task first.
    tasks = ReviewTask.objects.filter(conversation_id=int(match[1]), anchor=match[2])
    task = tasks.filter(conversation__workspace__in=_list_workspace_ids(person_id)).first()
    return sum(item.task_id > task.pk for item in queue.items) if task else 0


def load_page(items: list[QueueItem]) -> list[QueueRow]:
    """Return the items of a page with their rows; two queries."""
    keys = [item.inquiry_id for item in items if item.inquiry_id]
    rows = defer_questions(Inquiry.objects.filter(pk__in=keys)).select_related("decider")
    inquiries = {row.pk: row for row in rows}
    conversations = Conversation.objects.select_related("workspace").in_bulk(
        {item.conversation_id for item in items}
    )
    return [
        (item, inquiries.get(item.inquiry_id or 0), conversations[item.conversation_id])
        for item in items
        if item.conversation_id in conversations
    ]
