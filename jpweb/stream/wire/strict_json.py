"""JSON as JP reads it: Python's ``json`` also accepts NaN and Infinity."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def parse_strict_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, and RecursionError for deep nesting.

    A JSONDecodeError, which is a ValueError, has the line and the column.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")
