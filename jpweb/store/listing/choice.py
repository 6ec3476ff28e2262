"""What somebody wants to see in a list, as they chose it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact

from jpweb.store import plain
from jpweb.store.terms import Origin


class Sort(StrEnum):
    """The orders of a list: active last first, waiting longest first, longest first."""

    ACTIVITY = "activity"
    WAITING = "waiting"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Choice:
    """Filters, an order, and where the page begins: behind ``before``, or ahead of ``after``.

    ``words`` must all occur in the title. ``label`` is a name, or ``name=value``.
    """

    words: str = ""
    workspace: int | None = None
    label: str = ""
    origin: Origin | None = None
    archived: bool = False
    problem: bool = False
    sort: Sort = Sort.ACTIVITY
    before: str = field(default="", compare=False)
    after: str = field(default="", compare=False)

    def conditions(self, to: str = "") -> Q:
        """Return what no index answers; ``to`` is the way from a row to its conversation."""
        found = Q()
        for word in plain.text(self.words).replace("\N{REPLACEMENT CHARACTER}", " ").split():
            found &= Q(**{f"{to}title__icontains": word})
        name, has_value, value = plain.text(self.label).partition("=")
        if name:
            found &= Q(**{f"{to}labels__has_key": name})
        if name and has_value:
            # Not by a lookup's name: a label's may hold what parts those.
            found &= Q(Exact(KeyTextTransform(name, f"{to}labels"), value))
        return found


def in_trouble() -> Q:
    """Return that a conversation has a problem, in the words of the index over those."""
    return Q(RawSQL("NOT (store_conversation.problem = '')", [], BooleanField()))
