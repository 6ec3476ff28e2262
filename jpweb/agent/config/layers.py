"""Layers of a configuration: the values of each file, and their merge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import reduce
from typing import Any

from jpweb.agent.config import display
from jpweb.agent.errors import InvalidConfiguration

_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one file. ``name`` is its name for people."""

    name: str
    values: Mapping[str, Any]


def merge_values(below: Any, above: Any) -> Any:
    """Merge two values: tables key by key, otherwise the upper one replaces the lower one."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    combined = dict(below)
    for key, value in above.items():
        combined[key] = merge_values(below[key], value) if key in below else value
    return combined


def merge_layers(layers: Sequence[Layer]) -> Mapping[str, Any]:
    """Return the merged values of all layers; later ones win."""
    return reduce(merge_values, (layer.values for layer in layers), {})


def find_origin(layers: Sequence[Layer], path: Sequence[str]) -> str:
    """Return the name of the layer that sets a key; where none does, the table that it is in."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if _has_path(layer.values, path[:length]):
                return layer.name
    return layers[-1].name if layers else "the configuration"


def normalize_layer(layer: Layer) -> Layer:
    """Return the layer with JSON values alone: dates as texts. Raises InvalidConfiguration."""
    values = _normalize_value(layer.name, layer.values, ())
    return Layer(layer.name, values)


def _has_path(values: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not (isinstance(values, Mapping) and key in values):
            return False
        values = values[key]
    return True


def _normalize_value(name: str, value: Any, path: tuple[str, ...]) -> Any:
    if len(path) > _MAX_DEPTH:
        raise InvalidConfiguration(
            f"{name}: {display.format_key(path[:3])} is nested deeper than {_MAX_DEPTH} levels."
        )
    if isinstance(value, Mapping):
        return {key: _normalize_value(name, child, (*path, key)) for key, child in value.items()}
    if isinstance(value, list):
        return [
            _normalize_value(name, item, (*path, str(index))) for index, item in enumerate(value)
        ]
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidConfiguration(
            f"{name}: {display.format_key(path)} is not a finite number; JSON has no others."
        )
    return value.isoformat() if isinstance(value, date | time) else value
