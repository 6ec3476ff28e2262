"""How far people have read."""

from __future__ import annotations

from jpweb.store.database import clock, patience
from jpweb.store.models import Reading
from jpweb.store.rows import many

_READ = """
INSERT INTO store_reading (person_id, conversation_id, length, at) VALUES (%s, %s, %s, %s)
ON CONFLICT (person_id, conversation_id) DO UPDATE SET at = excluded.at, length = CASE
    WHEN store_reading.length BETWEEN excluded.length AND
        (SELECT length FROM store_conversation WHERE id = excluded.conversation_id)
    THEN store_reading.length ELSE excluded.length END
"""


def length(person_id: int, conversation_id: int) -> int | None:
    """Return how many entries a person has read, or None where they never looked."""
    own = Reading.objects.filter(person_id=person_id, conversation_id=conversation_id)
    return own.values_list("length", flat=True).first()


def read(person_id: int, conversation_id: int, length: int) -> bool:
    """Note that a person has read so many entries; tells whether it was noted.

    Who read further stays there, in whatever order pages tell it; but no further than there is.
    Where the row, or the database, is locked it is left out: the page would wait for it.
    """
    moment = many.moments()(clock.now())
    return patience.write_briefly(_READ, [person_id, conversation_id, length, moment])
