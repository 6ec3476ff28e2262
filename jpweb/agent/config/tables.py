"""A table of a configuration while it is read: typed values, refusals that say where, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from jpweb.agent.config import spelling
from jpweb.agent.config.layers import Layer, merged, origin
from jpweb.agent.errors import BadConfiguration

E = TypeVar("E", bound=StrEnum)

#: Keys whose values may be secrets, or hold some where they are written wrongly.
_SECRETS = frozenset({"answer", "api_key_env", "arguments", "headers", "options", "variables"})
_ADDRESSES = frozenset({"base_url", "url"})
_SPAN = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>[smhd])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LONGEST = 366 * 86_400


@dataclass
class Table:
    """One table at its place. What is asked for is known; ``close`` notes the rest.

    A null is as good as nothing. Everything raises BadConfiguration.
    """

    layers: Sequence[Layer]
    path: tuple[str, ...]
    values: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    @classmethod
    def root(cls, layers: Sequence[Layer], notes: list[str] | None = None) -> Table:
        """Return what the layers say together."""
        return cls(layers, (), merged(layers), [] if notes is None else notes)

    def get(self, key: str) -> Any:
        """Return whatever is there."""
        self.known.add(key)
        return self.values.get(key)

    def text(self, key: str) -> str | None:
        """Return a string."""
        value = self.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self.refuse(key, "a string")

    def flag(self, key: str) -> bool | None:
        """Return a boolean."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.refuse(key, "true or false")

    def whole(self, key: str, high: int) -> int | None:
        """Return a whole number from 0 on."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high:
            return value
        raise self.refuse(key, f"a whole number from 0 to {high}")

    def seconds(self, key: str) -> float | None:
        """Return a time span: whole seconds, or a number with its unit."""
        value = self.get(key)
        if value is None:
            return None
        span = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if span is not None:
            value = int(span["number"]) * _UNITS[span["unit"]]
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LONGEST:
            return float(value)
        raise self.refuse(
            key, "seconds as a whole number, or like 90s, 15m, 2h or 3d; at most 366d"
        )

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.refuse(key, "a list of strings")

    def choice(self, key: str, kind: type[E]) -> E | None:
        """Return one of an enumeration."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in list(kind):
            return kind(value)
        raise self.refuse(key, one_of(*kind))

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """Return a table as it is, whatever its keys are."""
        value = self.get(key)
        if value is None or isinstance(value, Mapping):
            return value
        raise self.refuse(key, "a table")

    def table(self, key: str) -> Table:
        """Return a table to read; an empty one where there is none."""
        return self.beneath(key, self.mapping(key) or {})

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Yield every entry, each a table."""
        for key in self.values:
            yield key, self.table(key)

    def beneath(self, key: str, values: Mapping[str, Any]) -> Table:
        """Return a table of these values at the place of a key."""
        return Table(self.layers, (*self.path, key), values, self.notes)

    def place(self, key: str) -> str:
        """Return a key with its file."""
        whole = (*self.path, key)
        return f"{origin(self.layers, whole)}: {spelling.dotted(whole)}"

    def refuse(self, key: str, allowed: str, *, hidden: bool = False) -> BadConfiguration:
        """Return what to raise: where, what stands there, what may."""
        if self.values.get(key) is None:
            said = "is missing"
        elif hidden or key in _SECRETS:
            said = "has a value that is not allowed"
        else:
            said = _said(key, self.values[key])
        return BadConfiguration(f"{self.place(key)} {said}. It must be {allowed}.")

    def close(self, *unused: str) -> None:
        """Note every key that nothing asked for and that is not JP's for something else."""
        for key in self.values:
            if key not in self.known and key not in unused:
                self.notes.append(f"{self.place(key)} is not known and was ignored.")


def _said(key: str, value: Any) -> str:
    """Return what stands there, unless it may hold a key: everybody may read the message."""
    if isinstance(value, Mapping):
        return "is a table"
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, list | Mapping) for item in items):
        return "is a list of lists or tables"
    for text in (item for item in items if isinstance(item, str)):
        if (key in _ADDRESSES or "://" in text) and not {"@", "?", "#"}.isdisjoint(text):
            return "has a value that is not allowed"
    return f"is {spelling.shown(value)}"


def one_of(*words: str) -> str:
    """Return the words as a choice."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
