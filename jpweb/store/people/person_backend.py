"""Authentication backend of sessions: finds the person of a session on each request.

Its SQL is compiled once: Django's own query takes 0.55 ms longer, of the 0.8 ms in which a session
and its person were read.
"""

from __future__ import annotations

from django.contrib.auth.backends import BaseBackend

from jpweb.store.models import Person
from jpweb.store.sql.compiled_query import CompiledQuery

_person_query = CompiledQuery(lambda person_ids: Person.objects.filter(pk__in=person_ids))


class PersonBackend(BaseBackend):
    """Finds a person by key; it signs nobody in, since nobody here has a password."""

    def get_user(self, user_id: int) -> Person | None:
        """Return the person; None where they are inactive or were deleted."""
        rows: list[Person] = _person_query([user_id])
        return rows[0] if rows and rows[0].is_active else None
