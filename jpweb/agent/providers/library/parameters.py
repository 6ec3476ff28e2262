"""``model.parameters`` as JP writes them, to the settings of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jpweb.agent.errors import FailureKind, ProviderFailed

_NAMES = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop_words": "stop_sequences",
    "other": "extra_body",
}
#: How hard to think: a level, the vendor's own choice (True), not at all (False), unsaid (None).
Effort: TypeAlias = bool | str | None
_EFFORTS: Mapping[str, Effort] = {
    "off": False,
    "none": False,
    "auto": True,
    "xlow": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How to reason; ``tokens`` where it is configured as their number.

    ``exclude`` asks a vendor not to send its reasoning. Who has no such switch sends it.
    """

    effort: Effort = None
    tokens: int | None = None
    exclude: bool = False

    @property
    def shown(self) -> bool:
        """Tell whether reasoning is asked for and wanted back."""
        return self.effort not in (None, False) and not self.exclude


def reasoning(parameters: Mapping[str, Any]) -> Reasoning:
    """Read ``reasoning``. Raises ProviderFailed for an effort that there is not."""
    value = parameters.get("reasoning")
    if not isinstance(value, Mapping):
        return Reasoning(_effort(value))
    effort, exclude = value.get("effort", "auto"), bool(value.get("exclude"))
    if isinstance(effort, int) and not isinstance(effort, bool):
        return Reasoning(True, effort, exclude)
    return Reasoning(_effort(effort), None, exclude)


def settings(parameters: Mapping[str, Any], wanted: Reasoning) -> dict[str, Any]:
    """Return the settings that vendors have in common. Only a turn repeats a request."""
    known: dict[str, Any] = {"max_retries": 0}
    for ours, theirs in _NAMES.items():
        if parameters.get(ours) not in (None, [], {}):
            known[theirs] = parameters[ours]
    if wanted.effort is not None:
        known["thinking"] = wanted.effort
    return known


def _effort(value: object) -> Effort:
    if value is None:
        return None
    if isinstance(value, str) and value in _EFFORTS:
        return _EFFORTS[value]
    raise ProviderFailed(
        f"model.parameters.reasoning says {str(value)[:40]!r}, which is none of "
        f"{', '.join(_EFFORTS)} or a number of tokens: change it.",
        FailureKind.BAD_REQUEST,
    )
