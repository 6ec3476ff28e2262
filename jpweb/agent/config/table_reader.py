"""Reads a table of a configuration: typed values, errors that name the key, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from jpweb.agent.config import display
from jpweb.agent.config.layers import Layer, find_origin, group_layers, merge_layers
from jpweb.agent.config.types import SettingPlace
from jpweb.agent.errors import InvalidConfiguration

E = TypeVar("E", bound=StrEnum)

#: Keys whose values no error repeats: they may be secrets, or hold one by mistake.
_SECRET_KEYS = frozenset({"answer", "api_key_env", "arguments", "headers", "options", "variables"})
_ADDRESS_KEYS = frozenset({"base_url", "url"})
_TIME_SPAN = re.compile(r"(?P<number>[0-9]{1,9})(?P<unit>[smhd])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MAX_SECONDS = 366 * 86_400


@dataclass
class TableReader:
    """One table at its path. Requested keys are known; ``note_unknown_keys`` notes the others.

    A null counts as absent. Every method raises InvalidConfiguration.
    """

    layers: Sequence[Layer]
    path: tuple[str, ...]
    values: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    known_keys: set[str] = field(default_factory=set)

    @classmethod
    def from_layers(cls, layers: Sequence[Layer], notes: list[str] | None = None) -> TableReader:
        """Return the merged values of the layers."""
        return cls(layers, (), merge_layers(layers), [] if notes is None else notes)

    @classmethod
    def from_layer(cls, layer: Layer) -> TableReader:
        """Return the values of one layer, without a copy."""
        return cls([layer], (), layer.values)

    @cached_property
    def layers_by_key(self) -> Mapping[str, Sequence[Layer]]:
        """The layers that set each key, lowest first.

        With all layers searched for each key, 5,000 tools under 500 layers took 18 s.
        """
        return group_layers(self.layers, self.path)

    def get(self, key: str) -> Any:
        """Return the value of any type."""
        self.known_keys.add(key)
        return self.values.get(key)

    def get_text(self, key: str) -> str | None:
        """Return a string."""
        value = self.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self.make_error(key, "a string")

    def get_flag(self, key: str) -> bool | None:
        """Return a boolean."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.make_error(key, "true or false")

    def get_whole_number(self, key: str, maximum: int) -> int | None:
        """Return a whole number from 0 on."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= maximum:
            return value
        raise self.make_error(key, f"a whole number from 0 to {maximum}")

    def get_seconds(self, key: str) -> float | None:
        """Return a time span: whole seconds, or a number with its unit."""
        value = self.get(key)
        if value is None:
            return None
        span = _TIME_SPAN.fullmatch(value) if isinstance(value, str) else None
        if span is not None:
            value = int(span["number"]) * _UNIT_SECONDS[span["unit"]]
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_SECONDS:
            return float(value)
        raise self.make_error(
            key, "seconds as a whole number, or like 90s, 15m, 2h or 3d; at most 366d"
        )

    def get_texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.make_error(key, "a list of strings")

    def get_choice(self, key: str, kind: type[E]) -> E | None:
        """Return one of an enumeration."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in list(kind):
            return kind(value)
        raise self.make_error(key, join_choices(*kind))

    def get_mapping(self, key: str) -> Mapping[str, Any] | None:
        """Return a table unread, with any keys."""
        value = self.get(key)
        if value is None or isinstance(value, Mapping):
            return value
        raise self.make_error(key, "a table")

    def get_table(self, key: str) -> TableReader:
        """Return a reader of a table and the layers that set it; of an empty one if absent."""
        child = self.make_child(key, self.get_mapping(key) or {})
        child.layers = self._find_layers(key)
        return child

    def descend(self, path: Sequence[str]) -> TableReader:
        """Return a reader of the table at a path below; of an empty one where it is absent."""
        table = self
        for key in path:
            table = table.get_table(key)
        return table

    def iter_tables(self) -> Iterator[tuple[str, TableReader]]:
        """Yield every entry, each a table."""
        for key in self.values:
            yield key, self.get_table(key)

    def make_child(self, key: str, values: Mapping[str, Any]) -> TableReader:
        """Return a reader of these values at the path of a key."""
        return TableReader(self.layers, (*self.path, key), values, self.notes)

    def locate_key(self, key: str) -> str:
        """Return a key with its file."""
        return f"{self._find_origin(key)}: {display.format_key((*self.path, key))}"

    def find_setting(self, key: str) -> SettingPlace | None:
        """Return the place of a value; None where it is absent."""
        if self.get(key) is None:
            return None
        return SettingPlace(display.format_key((*self.path, key)), self._find_origin(key))

    def _find_origin(self, key: str) -> str:
        return find_origin(self._find_layers(key), (*self.path, key))

    def _find_layers(self, key: str) -> Sequence[Layer]:
        """Return the layers that set a key; where none does, all."""
        return self.layers_by_key.get(key, self.layers) if len(self.layers) > 1 else self.layers

    def make_error(
        self, key: str, allowed_values: str, *, is_hidden: bool = False
    ) -> InvalidConfiguration:
        """Return the error to raise: the key, its value, the allowed values."""
        if self.values.get(key) is None:
            description = "is missing"
        elif is_hidden or key in _SECRET_KEYS:
            description = "has a value that is not allowed"
        else:
            description = _describe_value(key, self.values[key])
        return InvalidConfiguration(
            f"{self.locate_key(key)} {description}. It must be {allowed_values}."
        )

    def note_unknown_keys(self, *unused_keys: str) -> None:
        """Note every unknown key that JP does not use for another purpose."""
        for key in self.values:
            if key not in self.known_keys and key not in unused_keys:
                self.notes.append(f"{self.locate_key(key)} is not known and was ignored.")


def _describe_value(key: str, value: Any) -> str:
    """Return a description of the value without a possible key: everyone may read it."""
    if isinstance(value, Mapping):
        return "is a table"
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, list | Mapping) for item in items):
        return "is a list of lists or tables"
    for text in (item for item in items if isinstance(item, str)):
        if (key in _ADDRESS_KEYS or "://" in text) and not {"@", "?", "#"}.isdisjoint(text):
            return "has a value that is not allowed"
    return f"is {display.format_value(value)}"


def join_choices(*choices: str) -> str:
    """Return the words as a choice."""
    *first_choices, last_choice = choices
    return f"{', '.join(first_choices)} or {last_choice}" if first_choices else last_choice
