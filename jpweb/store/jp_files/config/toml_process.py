"""Subprocess that parses configuration files under resource limits; run by its path.

It imports the standard library alone, to start fast. Its input is a JSON object:
``limits`` and ``texts``, pairs of a suffix and a text. It prints a line for each text:
``{"values": …, "count": …}`` or ``{"problem": …}``. Dates become strings.
"""

from __future__ import annotations

import json
import resource
import sys
import tomllib
from datetime import date, time
from typing import Any


def parse_text(suffix: str, text: str, max_levels: int, max_values: int) -> dict[str, Any]:
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
    problem, count = check_limits(values, max_levels, max_values)
    return {"problem": problem} if problem else {"values": values, "count": count}


def check_limits(values: Any, max_levels: int, max_values: int) -> tuple[str, int]:
    """Return the exceeded limit, empty where none, and the number of values inside."""
    containers, count = [values], 0
    for _ in range(max_levels + 1):
        nested: list[Any] = []
        for value in containers:
            nested += value.values() if isinstance(value, dict) else value
        count += len(nested)
        if count > max_values:
            return f"it has more than {max_values:,} keys and items.", count
        containers = [value for value in nested if isinstance(value, dict | list)]
        if not containers:
            return "", count
    return f"nested too deep to be read; {max_levels} levels are the most.", count


def _encode_date(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(type(value).__name__)


def main() -> None:
    """Parse the texts of the job on standard input."""
    job = json.load(sys.stdin)
    limits = job["limits"]
    resource.setrlimit(resource.RLIMIT_AS, (limits["bytes"], limits["bytes"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"]))
    for suffix, text in job["texts"]:
        result = parse_text(suffix, text, limits["levels"], limits["values"])
        print(json.dumps(result, default=_encode_date), flush=True)  # noqa: T201  its answer


if __name__ == "__main__":
    main()
