"""Subprocess that parses configuration files under resource limits; run by its path.

It imports the standard library alone, to start fast, and PyYAML where a text is YAML. Its input is
a JSON object: ``packages``, the folder that has PyYAML; ``limits``; and ``texts``, pairs of a
suffix and a text. It prints a line for each text: ``{"values": …, "count": …}`` or
``{"problem": …}``. Dates become strings.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import tomllib
from collections.abc import Callable
from datetime import date, time
from typing import Any


def parse_text(suffix: str, text: str, max_levels: int, max_values: int) -> dict[str, Any]:
    """Return the values of a text, or the problem with it."""
    kind, load = _PARSERS[suffix]
    try:
        values = load(text.removeprefix(_BYTE_ORDER_MARK))
    except ValueError as error:
        return {"problem": f"not {kind}: {str(error)[:200]}"}
    except RecursionError:
        return {"problem": "nested too deep to be read."}
    if not isinstance(values, dict):
        return {"problem": f"it is not a {kind} {'object' if kind == 'JSON' else 'table'}."}
    problem, count = check_limits(values, max_levels, max_values)
    max_characters = FREE_CHARACTERS + CHARACTER_RATIO * len(text)
    if not problem and count_characters(values) > max_characters:
        problem = f"its values have more than {max_characters:,} characters."
    if not problem and kind == "YAML":
        problem = _find_foreign_value(values)
    return {"problem": problem} if problem else {"values": values, "count": count}


def _load_json(text: str) -> Any:
    """Return the value of a JSON text; comments are left out, and an empty text is a table."""
    without_comments = _JSON_TOKEN.sub(
        lambda token: token[0] if token[0].startswith('"') else " ", text
    )
    return json.loads(without_comments) if without_comments.strip() else {}


def _load_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises ValueError."""
    import yaml  # noqa: PLC0415  a tenth of a second that TOML need not wait for

    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return {} if values is None else values


def _find_foreign_value(values: Any) -> str:
    """Return the problem of a value that JSON has not, empty where there is none."""
    try:
        json.dumps(values, default=_encode_date)
    except (TypeError, ValueError) as error:
        return f"it has a value that configuration has not: {str(error)[:100]}."
    return ""


_BYTE_ORDER_MARK = "\ufeff"
#: Characters that the values of any text may have, and those for each character of the text. Only
#: YAML's aliases exceed that of a text itself: 107 KB made 180 MB of JSON.
FREE_CHARACTERS, CHARACTER_RATIO = 8 * 1024, 2
#: A string or a comment of JSON with comments.
_JSON_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
#: Types that JSON writes as an object or array; YAML's pairs are tuples.
_CONTAINERS = (dict, list, tuple)
_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".toml": ("TOML", tomllib.loads),
    ".json": ("JSON", _load_json),
    ".jsonc": ("JSON", _load_json),
    ".yaml": ("YAML", _load_yaml),
    ".yml": ("YAML", _load_yaml),
}


def check_limits(values: Any, max_levels: int, max_values: int) -> tuple[str, int]:
    """Return the exceeded limit, empty where none, and the number of values inside."""
    containers, count = [values], 0
    for _ in range(max_levels + 1):
        nested_values: list[Any] = []
        for value in containers:
            count += len(value)
            if count > max_values:
                return f"it has more than {max_values:,} keys and items.", count
            nested_values += value.values() if isinstance(value, dict) else value
        containers = [value for value in nested_values if isinstance(value, _CONTAINERS)]
        if not containers:
            return "", count
    return f"nested too deep to be read; {max_levels} levels are the most.", count


def count_characters(values: Any) -> int:
    """Return about how many characters keys, strings and whole numbers have as JSON."""
    pending_values, count = [values], 0
    while pending_values:
        value = pending_values.pop()
        if isinstance(value, _CONTAINERS):
            pending_values += value
            pending_values += value.values() if isinstance(value, dict) else ()
        elif isinstance(value, str):
            count += len(value)
        elif isinstance(value, int):
            count += value.bit_length() // 3
    return count


def _encode_date(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(type(value).__name__)


#: Niceness that it adds to its parent's: processes that serve people have the processor first.
_NICENESS = 5


def main() -> None:
    """Parse the texts of the job on standard input."""
    os.nice(_NICENESS)
    job = json.load(sys.stdin)
    limits = job["limits"]
    sys.path.append(job["packages"])
    resource.setrlimit(resource.RLIMIT_AS, (limits["bytes"], limits["bytes"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"]))
    for suffix, text in job["texts"]:
        result = parse_text(suffix, text, limits["levels"], limits["values"])
        print(json.dumps(result, default=_encode_date), flush=True)  # noqa: T201  its answer


if __name__ == "__main__":
    main()
