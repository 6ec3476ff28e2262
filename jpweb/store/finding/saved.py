"""Searches that people keep by a name, each for themselves."""

from __future__ import annotations

from jpweb.store import plain
from jpweb.store.database import clock
from jpweb.store.models import SavedSearch

#: Searches that one person keeps, and characters of a name and of a query.
MOST = 100
NAME = 80
QUERY = 2000


def saved(person_id: int) -> list[SavedSearch]:
    """Return the searches of a person, by name."""
    return list(SavedSearch.objects.filter(person_id=person_id).order_by("name")[:MOST])


def save(person_id: int, name: str, query: str) -> bool:
    """Keep a search; one of the same name is written over. False where there are too many."""
    own = SavedSearch.objects.filter(person_id=person_id)
    spelled = plain.text(name)[:NAME]
    if own.count() >= MOST and not own.filter(name=spelled).exists():
        return False
    SavedSearch.objects.update_or_create(
        person_id=person_id,
        name=spelled,
        defaults={"query": plain.text(query)[:QUERY], "made_at": clock.now()},
    )
    return True


def forget(person_id: int, key: int) -> bool:
    """Forget a search of this person; tells whether it was there."""
    return SavedSearch.objects.filter(person_id=person_id, pk=key).delete()[0] > 0
