"""Tags: what filters look for, as words of the index, which so joins filters with words itself.

The tags stand in a column of their own, so nothing that anybody wrote passes for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice

#: Segments of a name that a filter can name alone.
_SEGMENTS = 8
#: Labels by which a conversation is found: each passage carries them, and a file may hold many.
LABELS = 50
_BREAK = re.compile(r"[_\-./:\s]+")
_LETTERS = {"tool": "t", "who": "p", "reason": "r", "label": "l"}


def workspace(key: int) -> str:
    """Return the tag of all passages of a workspace."""
    return f"w{key}"


def facet(name: str) -> str:
    """Return the tag of what an entry is."""
    return f"f{name}"


def state(name: str) -> str:
    """Return the tag of how an inquiry stands."""
    return f"o{name}"


def named(filter_name: str, value: str) -> str:
    """Return the tag of a tool, person, reason or label; the case of the name does not count."""
    spelled = " ".join(value.casefold().split())
    return _LETTERS[filter_name] + blake2b(spelled.encode(), digest_size=8).hexdigest()


def of_tool(name: str) -> set[str]:
    """Return the tags of a tool: of its name, and of what it begins with (``fs_read``: ``fs``)."""
    return {named("tool", each) for each in (name, *_beginnings(name)) if each}


def of_person(name: str) -> set[str]:
    """Return the tags of a person: of the whole name, and of each word of it."""
    return {named("who", each) for each in (name, *name.split()[:_SEGMENTS]) if each}


def of_labels(labels: Mapping[str, object]) -> set[str]:
    """Return the tags of the first labels: of each key, and of each key with its value."""
    first = islice(labels.items(), LABELS)
    spelled = [(str(key), "" if value is None else str(value)) for key, value in first]
    return {named("label", key) for key, _ in spelled} | {
        named("label", f"{key}={value}") for key, value in spelled if value
    }


def _beginnings(name: str) -> list[str]:
    ends = [found.start() for found in _BREAK.finditer(name)]
    return [name[:end] for end in ends[:_SEGMENTS]]
