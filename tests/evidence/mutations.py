"""Mutations of JSON: each value, at any depth, replaced by values of other types, or left out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

#: In place of each value: other types, and numbers and nesting that programs stumble over.
VALUES: tuple[Any, ...] = (5, None, [], {}, "x", -1, 1.5, True, 10**30, [[]], {"x": 1})


def mutate_text(text: str) -> Iterator[str]:
    """Yield the text of a JSON value with each of its parts mutated, and texts that are no JSON."""
    value = json.loads(text)
    for mutated in _mutate(value):
        yield json.dumps(mutated)
    yield from ("", "{", "[" * 200_000, '{"a":' * 200_000, "\ud800", "NaN", "9" * 5000)


def _mutate(value: Any) -> Iterator[Any]:
    yield from VALUES
    keys = (
        value.keys()
        if isinstance(value, dict)
        else range(len(value[:2]))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        for mutated in _mutate(value[key]):
            changed = copy.copy(value)
            changed[key] = mutated
            yield changed
        changed = copy.copy(value)
        del changed[key]
        yield changed
