"""Base class of event kinds, and typed readers of their fields; errors name the field.

The list of the kinds is in ``events``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from jpweb.stream.errors import MalformedElement

Fields: TypeAlias = Mapping[str, Any]
#: Nesting limit of an element: JP reads 127 levels, of which the stream's array is one.
_MAX_DEPTH = 126


if TYPE_CHECKING:
    _Base = ABC
else:
    # ABCMeta makes every isinstance, and so every match, several times slower.
    _Base = object


@dataclass(frozen=True, slots=True)
class EventKindBase(_Base):
    """An event kind: its wire tag, whether providers see it, and how it is read and written."""

    TAG: ClassVar[str]
    #: Whether events of the kind are sent to a provider: an allow-list, False by default.
    PROVIDER_VISIBLE: ClassVar[bool] = False
    #: Whether the kind is an overlay: it applies to the stream and is no event of a turn.
    OVERLAY: ClassVar[bool] = False
    #: The fields whose strings are base64 on disk.
    ENCODED: ClassVar[frozenset[str]] = frozenset()
    #: One of ``transcript.categories.CATEGORIES``; a kind that names none counts as unknown.
    CATEGORY: ClassVar[str] = "unknown"

    @property
    def category(self) -> str:
        """The category of the event: its kind's, unless fields decide it."""
        return self.CATEGORY

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the kind's own fields, decoded. Raises MalformedElement."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the kind's own fields in the order that JP writes them."""


def read_text(fields: Fields, key: str) -> str:
    """Return a required string. Raises MalformedElement."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise MalformedElement(f"“{key}” must be a string")
    return value


def read_flag(fields: Fields, key: str, *, default: bool | None = None) -> bool:
    """Return a boolean; required when there is no default. Raises MalformedElement."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise MalformedElement(f"“{key}” must be true or false")
    return value


def read_number(fields: Fields, key: str) -> int:
    """Return a required integer of zero or more. Raises MalformedElement."""
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedElement(f"“{key}” must be a whole number")
    return value


def read_mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return an object, empty when the key is absent. Raises MalformedElement."""
    value = fields.get(key, {})
    if not isinstance(value, dict):
        raise MalformedElement(f"“{key}” must be an object")
    return value


def read_required_mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return a required object. Raises MalformedElement."""
    if key not in fields:
        raise MalformedElement(f"“{key}” is missing")
    return read_mapping(fields, key)


def read_optional_text(fields: Fields, key: str) -> str | None:
    """Return a string, or None for absent and null. Raises MalformedElement."""
    return None if fields.get(key) is None else read_text(fields, key)


def can_exceed_depth(raw_text: str) -> bool:
    """Tell whether a JSON text has enough brackets to be nested deeper than JP reads."""
    return raw_text.count("{") + raw_text.count("[") > _MAX_DEPTH


def check_storable(value: Any, remaining_depth: int = _MAX_DEPTH) -> None:
    """Raise MalformedElement for values that JP cannot store (docs/jp-format.md, File text)."""
    if isinstance(value, float) and not math.isfinite(value):
        raise MalformedElement(f"{value} is not a number")
    if isinstance(value, list | dict):
        if not remaining_depth:
            raise MalformedElement("nested too deeply")
        for item in value.values() if isinstance(value, dict) else value:
            check_storable(item, remaining_depth - 1)
