"""Index terms for filters, so that full-text search evaluates words and filters together.

The terms are in a separate column, so no text of a conversation can imitate one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice

#: Prefixes of a tool's name that are indexed, one per separator (``fs_read``: ``fs``).
_MAX_SEGMENTS = 8
#: Indexed labels of a conversation: each of its passages repeats them, and a file may hold many.
MAX_LABELS = 50
_SEGMENT_BREAK = re.compile(r"[_\-./:\s]+")
_TERM_PREFIXES = {"tool": "t", "who": "p", "reason": "r", "label": "l"}


def make_workspace_term(key: int) -> str:
    """Return the term of all passages of a workspace."""
    return f"w{key}"


def make_category_term(name: str) -> str:
    """Return the term of an entry's category."""
    return f"f{name}"


def make_state_term(name: str) -> str:
    """Return the term of an inquiry's state."""
    return f"o{name}"


def make_value_term(filter_name: str, value: str) -> str:
    """Return the term of a tool, person, reason or label, case-insensitive."""
    folded_value = " ".join(value.casefold().split())
    return _TERM_PREFIXES[filter_name] + blake2b(folded_value.encode(), digest_size=8).hexdigest()


def make_tool_terms(name: str) -> set[str]:
    """Return the terms of a tool: its name, and the prefixes of the name (``fs_read``: ``fs``)."""
    return {
        make_value_term("tool", spelling)
        for spelling in (name, *_segment_prefixes(name))
        if spelling
    }


def make_person_terms(name: str) -> set[str]:
    """Return the terms of a person: the full name, and each word of it."""
    return {
        make_value_term("who", spelling)
        for spelling in (name, *name.split()[:_MAX_SEGMENTS])
        if spelling
    }


def make_label_terms(labels: Mapping[str, object]) -> set[str]:
    """Return the terms of the first labels: each key, and each key with its value."""
    first_items = islice(labels.items(), MAX_LABELS)
    spellings = [(str(key), "" if value is None else str(value)) for key, value in first_items]
    return {make_value_term("label", key) for key, _ in spellings} | {
        make_value_term("label", f"{key}={value}") for key, value in spellings if value
    }


def _segment_prefixes(name: str) -> list[str]:
    ends = [match.start() for match in _SEGMENT_BREAK.finditer(name)]
    return [name[:end] for end in ends[:_MAX_SEGMENTS]]
