"""The reasoning that a configuration wants of a model, by JP's rules: unset is not off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings

#: A level of ``LEVELS``, “auto” (the model's own), or a number of tokens.
Effort: TypeAlias = str | int

#: Levels from the least to the most.
LEVELS = ("none", "xlow", "low", "medium", "high", "xhigh", "max")
#: Share of the output limit that a level takes where a model is given tokens, in percent.
_LEVEL_PERCENT: Mapping[str, int] = {
    "none": 0, "xlow": 10, "low": 20, "auto": 50, "medium": 50, "high": 80, "xhigh": 90, "max": 100,
}  # fmt: skip
#: Levels that replace an absent medium: the first that a model has.
_MEDIUM_SUBSTITUTES = ("medium", "high", "xhigh", "low", "max", "xlow")


class ReasoningKind(StrEnum):
    """How a model is told how much to reason; UNKNOWN is a model that the library has not heard of.

    ADAPTIVE models decide themselves, within an effort.
    """

    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    BUDGET = "budget"
    LEVELS = "levels"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class ReasoningModel:
    """A model's capabilities. ``levels`` are accepted ones, ``max_output`` its limit in tokens."""

    kind: ReasoningKind
    levels: Sequence[str] = LEVELS
    can_disable: bool = True
    max_output: int | None = None


def choose_effort(settings: ReasoningSettings, model: ReasoningModel) -> Effort | None:
    """Return the wanted effort; None where no reasoning is wanted."""
    if model.kind is ReasoningKind.UNSUPPORTED or settings.mode is ReasoningMode.OFF:
        return None
    if settings.mode is ReasoningMode.SET:
        return settings.effort
    if model.kind is ReasoningKind.UNKNOWN:
        return "auto" if settings.mode is ReasoningMode.AUTO else None
    if model.kind is ReasoningKind.ADAPTIVE:
        return "high"
    if model.kind is ReasoningKind.BUDGET:
        return "medium"
    return next((level for level in _MEDIUM_SUBSTITUTES if level in model.levels), "medium")


def convert_to_level(effort: Effort, max_output: int | None) -> str:
    """Return the level of a number of tokens; a level stays."""
    if isinstance(effort, str):
        return effort
    if max_output is None:
        return "auto"
    percent = 100 * effort / max_output
    for level, least_percent in (("max", 90), ("xhigh", 80), ("high", 50), ("medium", 20)):
        if percent > least_percent:
            return level
    return "low"


def convert_to_budget(effort: Effort, max_tokens: int) -> int:
    """Return the number of tokens that an effort takes of the output limit."""
    return effort if isinstance(effort, int) else max_tokens * _LEVEL_PERCENT[effort] // 100


def get_lower_level(level: str, accepted_levels: Sequence[str]) -> str:
    """Return the level, or the next lower one that a model accepts; the least where none is."""
    position = LEVELS.index(level)
    for lower_level in reversed(LEVELS[: position + 1]):
        if lower_level in accepted_levels:
            return lower_level
    return next((name for name in LEVELS if name in accepted_levels), level)
