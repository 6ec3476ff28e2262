"""What every event kind says of itself, and typed reads of its fields; each failure names one.

The list of the kinds is in ``events``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from jpweb.stream.errors import BrokenElement

Fields: TypeAlias = Mapping[str, Any]
#: How many containers JP reads inside each other: 127, of which the stream's array is one.
_DEPTH = 126


if TYPE_CHECKING:
    _Base = ABC
else:
    # An abstract class makes every isinstance, and so every match, several times slower.
    _Base = object


@dataclass(frozen=True, slots=True)
class Kind(_Base):
    """A kind: its wire tag, who may see it, and how it is read and written."""

    TAG: ClassVar[str]
    #: True where a provider may see it. An allow-list: who says nothing stays invisible.
    PROVIDER_VISIBLE: ClassVar[bool] = False
    #: True for what lies over the stream instead of happening in a turn.
    OVERLAY: ClassVar[bool] = False
    #: The fields whose strings are base64 on disk.
    ENCODED: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the kind's own fields, decoded. Raises BrokenElement."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the kind's own fields in the order that JP writes them."""


def text(fields: Fields, key: str) -> str:
    """Return a required string. Raises BrokenElement."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise BrokenElement(f"“{key}” must be a string")
    return value


def flag(fields: Fields, key: str, *, default: bool | None = None) -> bool:
    """Return a boolean; required when there is no default. Raises BrokenElement."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise BrokenElement(f"“{key}” must be true or false")
    return value


def number(fields: Fields, key: str) -> int:
    """Return a required integer of zero or more. Raises BrokenElement."""
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BrokenElement(f"“{key}” must be a whole number")
    return value


def mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return an object, empty when the key is absent. Raises BrokenElement."""
    value = fields.get(key, {})
    if not isinstance(value, dict):
        raise BrokenElement(f"“{key}” must be an object")
    return value


def required_mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return a required object. Raises BrokenElement."""
    if key not in fields:
        raise BrokenElement(f"“{key}” is missing")
    return mapping(fields, key)


def optional_text(fields: Fields, key: str) -> str | None:
    """Return a string, or None for absent and null. Raises BrokenElement."""
    return None if fields.get(key) is None else text(fields, key)


def may_be_deep(raw: str) -> bool:
    """Tell whether a JSON text has enough brackets to be nested deeper than JP reads."""
    return raw.count("{") + raw.count("[") > _DEPTH


def check_storable(value: Any, room: int = _DEPTH) -> None:
    """Raise BrokenElement for values that JP's JSON cannot hold (jp-storage-format, section 6)."""
    if isinstance(value, float) and not math.isfinite(value):
        raise BrokenElement(f"{value} is not a number")
    if isinstance(value, list | dict):
        if not room:
            raise BrokenElement("nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            check_storable(inner, room - 1)
