"""Filters and order of the conversation list."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact

from jpweb.store import db_text
from jpweb.store.choices import Origin
from jpweb.store.sql.spellings import build_contains


class Sort(StrEnum):
    """Orders of the list: latest activity first, longest waiting first, most entries first."""

    ACTIVITY = "activity"
    WAITING = "waiting"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class ListFilters:
    """Filters, an order, and the cursor of the page: after ``before``, or ahead of ``after``.

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

    def build_condition(self, prefix: str = "") -> Q:
        """Return the condition that no index answers; ``prefix`` is the conversation's lookup."""
        condition = Q()
        for word in (
            db_text.clean_text(self.words).replace("\N{REPLACEMENT CHARACTER}", " ").split()
        ):
            condition &= build_contains(f"{prefix}title", word)
        name, has_value, value = db_text.clean_text(self.label).partition("=")
        if name:
            condition &= Q(**{f"{prefix}labels__has_key": name})
        if name and has_value:
            # No ``labels__<name>`` lookup: the name of a label may contain ``__``.
            condition &= Q(Exact(KeyTextTransform(name, f"{prefix}labels"), value))
        return condition


def has_problem() -> Q:
    """Return the condition that a conversation has a problem, as its partial index spells it."""
    return Q(RawSQL("NOT (store_conversation.problem = '')", [], BooleanField()))
