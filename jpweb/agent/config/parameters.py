"""``model.parameters``: kept as they are written, once each has a form that can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.tables import Table, one_of

#: How hard to think, in JP's words.
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
_TOKENS = 2**31 - 1
_EFFORT = f"{', '.join(EFFORTS)}, or a whole number of tokens from 1 to {_TOKENS}"


def parameters(model: Table) -> Mapping[str, Any] | None:
    """Return the parameters of a model; None where there are none. Raises BadConfiguration."""
    found = model.mapping("parameters")
    if found is None:
        return None
    table = model.table("parameters")
    for key in ("max_tokens", "top_k"):
        value = table.get(key)
        if value is not None and not _tokens(value):
            raise table.refuse(key, f"a whole number from 1 to {_TOKENS}")
    for key in ("temperature", "top_p"):
        value = table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise table.refuse(key, "a number")
    table.texts("stop_words")
    table.mapping("other")
    _reasoning(table)
    return found


def _reasoning(table: Table) -> None:
    value = table.get("reasoning")
    if value is None or (isinstance(value, str) and value in EFFORTS):
        return
    if not isinstance(value, Mapping):
        raise table.refuse("reasoning", f"{one_of(*EFFORTS)}, or a table of effort and exclude")
    inner = table.table("reasoning")
    effort = inner.get("effort")
    named = isinstance(effort, str) and effort in EFFORTS
    if effort is not None and not named and not _tokens(effort):
        raise inner.refuse("effort", _EFFORT)
    inner.flag("exclude")


def _tokens(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _TOKENS
