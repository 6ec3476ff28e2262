"""Progress of each assignee in a review queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jpweb.store.choices import ReviewState
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
    """Return the keys of the items that a person has reviewed, by that person's key.

    A review counts as in the item's state: a change of a question takes the state back, and of its
    reviews those of the newest version count.
    """
    reviewed_items = [item for item in items if item.state != ReviewState.UNREVIEWED]
    keys = {item.key for item in reviewed_items}
    rows = Review.objects.filter(
        conversation_id__in={item.conversation_id for item in reviewed_items}
    ).order_by("pk")
    columns = ("reviewer_id", "conversation_id", "anchor", "version")
    versions: dict[str, str] = {}
    reviewer_ids: dict[str, set[int]] = {}
    for person_id, conversation_id, anchor, version in rows.values_list(*columns):
        key = f"{conversation_id}-{anchor}"
        if versions.get(key) != version:
            versions[key], reviewer_ids[key] = version, set()
        if person_id is not None:
            reviewer_ids[key].add(person_id)
    reviewed_keys: dict[int, set[str]] = defaultdict(set)
    for key in keys & reviewer_ids.keys():
        for person_id in reviewer_ids[key]:
            reviewed_keys[person_id].add(key)
    return reviewed_keys
