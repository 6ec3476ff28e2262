"""Conditions that an inquiry has an id, or is one of the tool call that has it."""

from __future__ import annotations

from django.db.models import Q, Value
from django.db.models.functions import Left
from django.db.models.lookups import Exact


def build_inquiry_match(identifier: str) -> Q:
    """Return the condition that an inquiry has this id, or that its tool call has it.

    By JP's rule an inquiry's id is ``<tool call>.<question>.<attempt>``. ``startswith`` ignores
    case in SQLite.
    """
    prefix = f"{identifier}."
    is_of_call = Exact(Left("inquiry_id", len(prefix)), Value(prefix))
    return Q(inquiry_id=identifier) | Q(is_of_call)
