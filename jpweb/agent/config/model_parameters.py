"""Checks ``model.parameters``, which are kept as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.layers import list_values, merge_options
from jpweb.agent.config.table_reader import TableReader, join_choices

#: Reasoning efforts, by JP's names.
EFFORTS = (
    "off",
    "none",
    "auto",
    "xlow",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
)
_MAX_TOKENS = 2**31 - 1
_EFFORT_TEXT = f"{', '.join(EFFORTS)}, or a whole number of tokens from 1 to {_MAX_TOKENS}"


def read_parameters(model: TableReader) -> Mapping[str, Any] | None:
    """Return the parameters of a model; None where it has none. Raises InvalidConfiguration."""
    values = model.get_mapping("parameters")
    if values is None:
        return None
    path = (*model.path, "parameters", "stop_words")
    # Of these alone a layer may say how they join those below it, as variables do.
    values = {**values, **merge_options([{path[-1]: v} for v in list_values(model.layers, path)])}
    table = model.make_child("parameters", values)
    for key in ("max_tokens", "top_k"):
        value = table.get(key)
        if value is not None and not _is_token_count(value):
            raise table.make_error(key, f"a whole number from 1 to {_MAX_TOKENS}")
    for key in ("temperature", "top_p"):
        value = table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise table.make_error(key, "a number")
    table.get_texts("stop_words")
    table.get_mapping("other")
    _check_reasoning(table)
    return values


def _check_reasoning(table: TableReader) -> None:
    value = table.get("reasoning")
    if value is None or (isinstance(value, str) and value in EFFORTS):
        return
    if not isinstance(value, Mapping):
        raise table.make_error(
            "reasoning", f"{join_choices(*EFFORTS)}, or a table of effort and exclude"
        )
    reasoning_table = table.get_table("reasoning")
    effort = reasoning_table.get("effort")
    is_named = isinstance(effort, str) and effort in EFFORTS
    if isinstance(effort, Mapping) and set(effort) == {"absolute"}:  # as JP's files write it
        effort = effort["absolute"]
    if effort is not None and not is_named and not _is_token_count(effort):
        raise reasoning_table.make_error("effort", _EFFORT_TEXT)
    reasoning_table.get_flag("exclude")


def _is_token_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_TOKENS
