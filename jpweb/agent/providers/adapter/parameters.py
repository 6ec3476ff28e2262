"""Maps ``model.parameters`` as JP writes them to the settings of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jpweb.agent.errors import FailureKind, ProviderFailed


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


#: By parameter: its name in pydantic-ai, the check of a value, and the error's expectation.
_PARAMETERS: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    "max_tokens": ("max_tokens", _is_count, "a number of tokens"),
    "temperature": ("temperature", _is_number, "a number"),
    "top_p": ("top_p", _is_number, "a number"),
    "top_k": ("top_k", _is_count, "a whole number above 0"),
    "stop_words": ("stop_sequences", _is_text_list, "a list of strings"),
    "other": ("extra_body", _is_table, "a table"),
}
#: JP's words for an effort; ``minimal`` is another name of ``xlow`` in files that jpweb wrote.
_EFFORTS: Mapping[str, str] = {
    "none": "none",
    "auto": "auto",
    "xlow": "xlow",
    "minimal": "xlow",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}


class ReasoningMode(StrEnum):
    """How ``reasoning`` is configured: not at all, off, left to the model, or with an effort."""

    UNSET = "unset"
    OFF = "off"
    AUTO = "auto"
    SET = "set"


@dataclass(frozen=True, slots=True)
class ReasoningSettings:
    """The configured ``reasoning``; ``effort`` is a level, “auto” or a number of tokens.

    JP carries ``exclude`` and sends it to nobody, so it is not read here.
    """

    mode: ReasoningMode = ReasoningMode.UNSET
    effort: str | int = "medium"


def read_reasoning(parameters: Mapping[str, Any]) -> ReasoningSettings:
    """Read ``reasoning``. Raises ProviderFailed for an unknown effort."""
    value = parameters.get("reasoning")
    if value is None:
        return ReasoningSettings()
    if isinstance(value, Mapping):
        return ReasoningSettings(ReasoningMode.SET, _read_effort(value.get("effort", "medium")))
    if value in ("off", "none"):
        return ReasoningSettings(ReasoningMode.OFF)
    if value == "auto":
        return ReasoningSettings(ReasoningMode.AUTO)
    return ReasoningSettings(ReasoningMode.SET, _read_effort(value))


def make_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that vendors have in common. Only a turn repeats a request.

    Raises ProviderFailed for a value that is not of its parameter's type.
    """
    common_settings: dict[str, Any] = {"max_retries": 0}
    for name, (library_name, is_valid, kind) in _PARAMETERS.items():
        value = parameters.get(name)
        if value in (None, [], {}):
            continue
        if not is_valid(value):
            raise ProviderFailed(
                f"model.parameters.{name} is {str(value)[:40]!r}. It must be {kind}.",
                FailureKind.BAD_REQUEST,
            )
        common_settings[library_name] = value
    return common_settings


def _read_effort(value: object) -> str | int:
    """Return a level or a number of tokens; JP's files write a number as ``{absolute: N}``."""
    if value is None:
        return "medium"
    if isinstance(value, Mapping) and set(value) == {"absolute"}:
        value = value["absolute"]
    if isinstance(value, str) and value in _EFFORTS:
        return _EFFORTS[value]
    if isinstance(value, int) and _is_count(value):
        return value
    raise ProviderFailed(
        f"model.parameters.reasoning is {str(value)[:40]!r}. It must be off, one of "
        f"{', '.join(_EFFORTS)}, or a number of tokens.",
        FailureKind.BAD_REQUEST,
    )
