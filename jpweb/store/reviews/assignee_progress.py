"""Progress of each assignee in a review queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jpweb.store.models import Person, Review
from jpweb.store.reviews.queues import QueueItem


class AssigneeProgress(NamedTuple):
    """A person's finished items of a queue, and all that are finished by or assigned to them."""

    name: str
    finished_count: int
    total_count: int


def measure_progress(items: Sequence[QueueItem]) -> list[AssigneeProgress]:
    """Return the progress of each assignee and each reviewer, by name; two queries.

    A review ends its author's assignment, so reviewers without an assignment count too.
    """
    assigned_keys: dict[int, set[str]] = defaultdict(set)
    for item in items:
        if item.assignee_id is not None:
            assigned_keys[item.assignee_id].add(item.key)
    reviewed_keys = _list_reviewed(items)
    names = load_names({*assigned_keys, *reviewed_keys})
    return [
        AssigneeProgress(
            name,
            len(reviewed_keys[key] - assigned_keys[key]),
            len(reviewed_keys[key] | assigned_keys[key]),
        )
        for key, name in sorted(names.items(), key=lambda pair: (pair[1], pair[0]))
    ]


def load_names(person_ids: Iterable[int]) -> dict[int, str]:
    """Return the names of people by key."""
    people = Person.objects.filter(pk__in=[*person_ids])
    return {person.pk: person.display_name for person in people}


def _list_reviewed(items: Sequence[QueueItem]) -> dict[int, set[str]]:
    """Return the keys of the items that have a review of a person, by that person's key."""
    keys = {item.key for item in items if item.task_id}
    rows = Review.objects.filter(
        conversation_id__in={item.conversation_id for item in items if item.task_id},
        reviewer_id__isnull=False,
    ).values_list("reviewer_id", "conversation_id", "anchor")
    reviewed_keys: dict[int, set[str]] = defaultdict(set)
    for person_id, conversation_id, anchor in rows:
        key = f"{conversation_id}-{anchor}"
        if key in keys:
            reviewed_keys[person_id].add(key)
    return reviewed_keys
