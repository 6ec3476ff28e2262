"""The layers of a configuration: what each file says, and all of them laid over each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import reduce
from typing import Any

from jpweb.agent.config import spelling
from jpweb.agent.errors import BadConfiguration

_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file says. ``name`` is what people know it by."""

    name: str
    values: Mapping[str, Any]


def merge(below: Any, above: Any) -> Any:
    """Lay one value over another: tables key by key, of anything else the upper one counts."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    whole = dict(below)
    for key, value in above.items():
        whole[key] = merge(below[key], value) if key in below else value
    return whole


def merged(layers: Sequence[Layer]) -> Mapping[str, Any]:
    """Return what all layers say together; later ones win."""
    return reduce(merge, (layer.values for layer in layers), {})


def origin(layers: Sequence[Layer], path: Sequence[str]) -> str:
    """Return which layer decides about a key; where none names it, about the table it is in."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if _says(layer.values, path[:length]):
                return layer.name
    return layers[-1].name if layers else "the configuration"


def plain(layer: Layer) -> Layer:
    """Return the layer with JSON's values alone: dates as texts. Raises BadConfiguration."""
    values = _plain(layer.name, layer.values, ())
    return Layer(layer.name, values)


def _says(values: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not (isinstance(values, Mapping) and key in values):
            return False
        values = values[key]
    return True


def _plain(name: str, value: Any, path: tuple[str, ...]) -> Any:
    if len(path) > _DEPTH:
        raise BadConfiguration(
            f"{name}: {spelling.dotted(path[:3])} is nested deeper than {_DEPTH} levels."
        )
    if isinstance(value, Mapping):
        return {key: _plain(name, inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(name, item, (*path, str(place))) for place, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise BadConfiguration(
            f"{name}: {spelling.dotted(path)} is not a finite number; JSON has no others."
        )
    return value.isoformat() if isinstance(value, date | time) else value
