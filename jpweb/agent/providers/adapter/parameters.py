"""Maps ``model.parameters`` as JP writes them to the settings of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jpweb.agent.errors import FailureKind, ProviderFailed


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


#: By parameter: its name in pydantic-ai, the check of a value, and the error's expectation.
_PARAMETERS: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    "max_tokens": ("max_tokens", _is_count, "a number of tokens"),
    "temperature": ("temperature", _is_number, "a number"),
    "top_p": ("top_p", _is_number, "a number"),
    "top_k": ("top_k", _is_count, "a whole number above 0"),
    "stop_words": ("stop_sequences", _are_texts, "a list of texts"),
    "other": ("extra_body", _is_table, "a table"),
}
#: Reasoning effort: a level, True (the vendor's choice), False (off), None (not configured).
ReasoningEffort: TypeAlias = bool | str | None
_EFFORT_LEVELS: Mapping[str, ReasoningEffort] = {
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
class ReasoningSettings:
    """How to reason; ``tokens`` where it is configured as their number.

    ``exclude`` asks a vendor not to send its reasoning. A vendor without such a switch sends it.
    """

    effort: ReasoningEffort = None
    tokens: int | None = None
    exclude: bool = False

    @property
    def is_shown(self) -> bool:
        """Tell whether reasoning is asked for and wanted back."""
        return self.effort not in (None, False) and not self.exclude


def read_reasoning(parameters: Mapping[str, Any]) -> ReasoningSettings:
    """Read ``reasoning``. Raises ProviderFailed for an unknown effort."""
    value = parameters.get("reasoning")
    if not isinstance(value, Mapping):
        return ReasoningSettings(_read_effort(value))
    effort, exclude = value.get("effort"), bool(value.get("exclude"))
    if effort is None:
        effort = "auto"
    if isinstance(effort, int) and _is_count(effort):
        return ReasoningSettings(True, effort, exclude)
    return ReasoningSettings(_read_effort(effort), None, exclude)


def make_settings(parameters: Mapping[str, Any], reasoning: ReasoningSettings) -> dict[str, Any]:
    """Return the settings that vendors have in common. Only a turn repeats a request.

    Raises ProviderFailed for a value that is not of its parameter's type.
    """
    common: dict[str, Any] = {"max_retries": 0}
    for name, (library_name, is_valid, kind) in _PARAMETERS.items():
        value = parameters.get(name)
        if value in (None, [], {}):
            continue
        if not is_valid(value):
            raise ProviderFailed(
                f"model.parameters.{name} is {str(value)[:40]!r}. It must be {kind}.",
                FailureKind.BAD_REQUEST,
            )
        common[library_name] = value
    if reasoning.effort is not None:
        common["thinking"] = reasoning.effort
    return common


def _read_effort(value: object) -> ReasoningEffort:
    if value is None:
        return None
    if isinstance(value, str) and value in _EFFORT_LEVELS:
        return _EFFORT_LEVELS[value]
    raise ProviderFailed(
        f"model.parameters.reasoning is {str(value)[:40]!r}. It must be one of "
        f"{', '.join(_EFFORT_LEVELS)}, or a number of tokens.",
        FailureKind.BAD_REQUEST,
    )
