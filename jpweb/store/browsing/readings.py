"""How far people have read."""

from __future__ import annotations

from collections.abc import Collection

from django.utils import timezone

from jpweb.store.models import Reading
from jpweb.store.rows import many


def length(person_id: int, conversation_id: int) -> int | None:
    """Return how many entries a person has read, or None where they never looked."""
    own = Reading.objects.filter(person_id=person_id, conversation_id=conversation_id)
    return own.values_list("length", flat=True).first()


def lengths(person_id: int, conversation_ids: Collection[int]) -> dict[int, int]:
    """Return how many entries a person has read of conversations that they looked at."""
    own = Reading.objects.filter(person_id=person_id, conversation_id__in=conversation_ids)
    return dict(own.values_list("conversation_id", "length"))


def read(person_id: int, conversation_id: int, length: int) -> None:
    """Note that a person has read so many entries."""
    moment = many.moments()(timezone.now())
    columns = ("person_id", "conversation_id", "length", "at")
    many.upsert(Reading.TABLE, columns, [(person_id, conversation_id, length, moment)], columns[:2])
