"""A process that parses files of a configuration, within bounds of its own; run by its path.

It knows the standard library alone, so that it starts at once. Its input is a JSON object:
``limits`` and ``texts``, pairs of a suffix and a text. For each it prints one line when it is done:
``{"values": …, "count": …}`` or ``{"problem": …}``. Dates are written as texts.
"""

from __future__ import annotations

import json
import resource
import sys
import tomllib
from datetime import date, time
from typing import Any


def read(suffix: str, text: str, most_levels: int, most_values: int) -> dict[str, Any]:
    """Return the values of a text, or the problem with it."""
    kind = "TOML" if suffix == ".toml" else "JSON"
    try:
        values = tomllib.loads(text) if kind == "TOML" else json.loads(text)
    except ValueError as error:
        return {"problem": f"not {kind}: {str(error)[:200]}"}
    except RecursionError:
        return {"problem": "nested too deep to be read."}
    if not isinstance(values, dict):
        return {"problem": "it is not a JSON object."}
    problem, count = measure(values, most_levels, most_values)
    return {"problem": problem} if problem else {"values": values, "count": count}


def measure(values: Any, most_levels: int, most_values: int) -> tuple[str, int]:
    """Return which bound a value exceeds, empty where none; and how many are inside it."""
    level, count = [values], 0
    for _ in range(most_levels + 1):
        inside: list[Any] = []
        for value in level:
            inside += value.values() if isinstance(value, dict) else value
        count += len(inside)
        if count > most_values:
            return f"it has more than {most_values:,} keys and items.", count
        level = [value for value in inside if isinstance(value, dict | list)]
        if not level:
            return "", count
    return f"nested too deep to be read; {most_levels} levels are the most.", count


def _spell(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(type(value).__name__)


def main() -> None:
    """Parse what stands on standard input."""
    order = json.load(sys.stdin)
    limits = order["limits"]
    resource.setrlimit(resource.RLIMIT_AS, (limits["bytes"], limits["bytes"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"]))
    for suffix, text in order["texts"]:
        made = read(suffix, text, limits["levels"], limits["values"])
        print(json.dumps(made, default=_spell), flush=True)  # noqa: T201  its answer


if __name__ == "__main__":
    main()
