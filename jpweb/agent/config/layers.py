"""Layers of a configuration: the values of each file, and their merge.

An annotated value is a table of ``value`` and ``strategy``, which says how it joins the value of
the layers below it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from functools import reduce
from typing import Any, NamedTuple

from jpweb.agent.config import display
from jpweb.agent.errors import InvalidConfiguration

_MAX_DEPTH = 64


class Strategy(StrEnum):
    """How a layer's list or text joins the one below it."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class TableStrategy(StrEnum):
    """How a layer's annotated table joins the one below it."""

    DEEP_MERGE = "deep_merge"
    MERGE = "merge"
    KEEP = "keep"
    REPLACE = "replace"


class Separator(StrEnum):
    """The text between two joined texts."""

    NONE = "none"
    SPACE = "space"
    LINE = "line"
    PARAGRAPH = "paragraph"


SEPARATOR_TEXTS = {
    Separator.NONE: "",
    Separator.SPACE: " ",
    Separator.LINE: "\n",
    Separator.PARAGRAPH: "\n\n",
}
_ANNOTATION_KEYS = frozenset({"value", "strategy", "separator", "dedup", "discard_when_merged"})


class AnnotatedValue(NamedTuple):
    """The parts of an annotated value."""

    value: Any
    strategy: str
    separator: Separator
    is_deduplicated: bool
    is_discarded: bool


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one file. ``name`` is its name for people."""

    name: str
    values: Mapping[str, Any]


def merge_values(base: Any, overlay: Any) -> Any:
    """Merge two values: tables key by key, otherwise the upper one replaces the lower one."""
    if not (isinstance(base, Mapping) and isinstance(overlay, Mapping)):
        return overlay
    combined_table = dict(base)
    for key, value in overlay.items():
        combined_table[key] = merge_values(base[key], value) if key in base else value
    return combined_table


def merge_layers(layers: Sequence[Layer]) -> Mapping[str, Any]:
    """Return the merged values of all layers; later ones win."""
    return reduce(merge_values, (layer.values for layer in layers), {})


def merge_options(layers_values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the merged options of a tool, lowest layer first, without annotations."""
    merged_options: dict[str, Any] = {}
    for values in layers_values:
        for key, value in values.items():
            merged_options[key] = (
                _merge_option(merged_options[key], value) if key in merged_options else value
            )
    return {key: _unwrap_annotations(value) for key, value in merged_options.items()}


def _merge_option(base: Any, overlay: Any) -> Any:
    base_annotation = _read_annotation(base)
    if base_annotation is not None:
        if base_annotation.is_discarded:
            return overlay
        base = base_annotation.value
    overlay_annotation = _read_annotation(overlay)
    if overlay_annotation is not None:
        return _join_annotated(base, overlay_annotation)
    if isinstance(base, Mapping) and isinstance(overlay, Mapping) and not _is_malformed(overlay):
        return {**base} | {
            key: _merge_option(base[key], value) if key in base else value
            for key, value in overlay.items()
        }
    return overlay


def _join_annotated(base: Any, overlay_annotation: AnnotatedValue) -> Any:
    """Join an annotated value with the one below it, which counts as empty if of another kind."""
    value, strategy = overlay_annotation.value, overlay_annotation.strategy
    if isinstance(value, Mapping):
        lower_table = base if isinstance(base, Mapping) else {}
        match strategy:
            case TableStrategy.DEEP_MERGE:
                return _merge_option(lower_table, value)
            case TableStrategy.MERGE:
                return {**lower_table, **value}
            case TableStrategy.KEEP:
                return {**value, **lower_table}
            case _:
                return value
    if isinstance(value, str):
        return _join_texts(base, overlay_annotation)
    return join_items(
        base if isinstance(base, list) and strategy != Strategy.REPLACE else [],
        value,
        is_prepended=strategy == Strategy.PREPEND,
        is_distinct=overlay_annotation.is_deduplicated,
    )


def _join_texts(base: Any, overlay_annotation: AnnotatedValue) -> str:
    if overlay_annotation.strategy == Strategy.REPLACE:
        return str(overlay_annotation.value)
    pair = (base if isinstance(base, str) else "", overlay_annotation.value)
    between = SEPARATOR_TEXTS[overlay_annotation.separator]
    return between.join(reversed(pair) if overlay_annotation.strategy == Strategy.PREPEND else pair)


class JoinedList(list[Any]):
    """Items of several layers. If they are distinct, ``read_items`` drops those that are not.

    So items are compared once for many layers: at each layer, 19,000 texts took 7 s.
    """

    def __init__(
        self, items: Iterable[Any], is_distinct: bool, texts: dict[int, tuple[str, Any]]
    ) -> None:
        super().__init__(items)
        self.is_distinct = is_distinct
        #: The canonical text of a value that was compared, and the value, by its identity.
        self.texts = texts

    def read_items(self, get_value: Callable[[Any], Any] = lambda item: item) -> list[Any]:
        """Return the items, if distinct without those whose value equals that of an earlier one."""
        if not self.is_distinct:
            return [*self]
        items_by_text: dict[str, Any] = {}
        for item in self:
            value = get_value(item)
            if id(value) not in self.texts:
                self.texts[id(value)] = _format_canonical(value), value
            items_by_text.setdefault(self.texts[id(value)][0], item)
        return [*items_by_text.values()]


def join_items(
    base: list[Any],
    overlay_items: list[Any],
    *,
    is_prepended: bool,
    is_distinct: bool,
    get_value: Callable[[Any], Any] = lambda item: item,
) -> JoinedList:
    """Return the items of two layers."""
    texts: dict[int, tuple[str, Any]] = {}
    if isinstance(base, JoinedList):
        texts = base.texts
        base = base if is_distinct else base.read_items(get_value)
    return JoinedList(
        overlay_items + base if is_prepended else base + overlay_items, is_distinct, texts
    )


def _format_canonical(value: Any) -> str:
    """Return the JSON that equal values have in common, as 1, 1.0 and True are in Python."""
    return json.dumps(_unify_numbers(value), sort_keys=True)


def _unify_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unify_numbers(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_unify_numbers(item) for item in value]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _read_annotation(value: Any) -> AnnotatedValue | None:
    """Return the parts of an annotated value; None for any other value."""
    if not isinstance(value, Mapping) or not {"value", "strategy"} <= value.keys():
        return None
    if not value.keys() <= _ANNOTATION_KEYS:
        return None
    inner_value, strategy = value["value"], value["strategy"]
    strategies = list(TableStrategy if isinstance(inner_value, Mapping) else Strategy)
    separator = value.get("separator", Separator.NONE)
    flags = [value.get(key, False) for key in ("dedup", "discard_when_merged")]
    is_valid = (
        isinstance(inner_value, Mapping | list | str)
        and strategy in strategies
        and separator in list(Separator)
        and all(isinstance(flag, bool) for flag in flags)
    )
    return AnnotatedValue(inner_value, strategy, Separator(separator), *flags) if is_valid else None


def _is_malformed(value: Mapping[str, Any]) -> bool:
    """Tell whether a table looks annotated, but of a value that has no strategy."""
    return {"value", "strategy"} <= value.keys() and not isinstance(value["value"], Mapping | list)


def _unwrap_annotations(value: Any) -> Any:
    annotation = _read_annotation(value)
    if annotation is not None:
        return _unwrap_annotations(annotation.value)
    if isinstance(value, Mapping):
        return {key: _unwrap_annotations(child) for key, child in value.items()}
    return value.read_items() if isinstance(value, JoinedList) else value


def find_origin(layers: Sequence[Layer], path: Sequence[str]) -> str:
    """Return the name of the layer that sets a key; where none does, the table that it is in."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if _has_path(layer.values, path[:length]):
                return layer.name
    return layers[-1].name if layers else "the configuration"


def group_layers(layers: Sequence[Layer], path: Sequence[str]) -> Mapping[str, Sequence[Layer]]:
    """Return the layers that set each key of the table at a path, lowest first."""
    layers_by_key: dict[str, list[Layer]] = {}
    for layer in layers:
        value: Any = layer.values
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        for key in value if isinstance(value, Mapping) else ():
            layers_by_key.setdefault(key, []).append(layer)
    return layers_by_key


def list_values(layers: Sequence[Layer], path: Sequence[str]) -> list[Any]:
    """Return the values that layers have at a path, lowest first."""
    values: list[Any] = []
    for layer in layers:
        value: Any = layer.values
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            values.append(value)
    return values


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
