"""Conditions that ignore case also beyond ASCII, where SQLite and PostgreSQL's locale C do not."""

from __future__ import annotations

from django.db.models import Q


def list_spellings(text: str) -> list[str]:
    """Return a text as written, and in lower, upper and title case where it is not ASCII."""
    if text.isascii():
        return [text]
    return list(dict.fromkeys([text, text.lower(), text.upper(), text.title()]))


def build_contains(column: str, text: str) -> Q:
    """Return the condition that a column, or a JSON value, contains a text in any of its cases."""
    condition = Q()
    for spelling in list_spellings(text):
        condition |= Q(**{f"{column}__icontains": spelling})
    return condition
