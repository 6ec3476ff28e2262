from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import layers as merging
from jpweb.agent.config.layers import (
    JoinedList,
    Layer,
    find_origin,
    join_items,
    merge_layers,
    merge_options,
    merge_values,
    normalize_layer,
)
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.errors import InvalidConfiguration
from jpweb.stream.thread import SystemPart

KEYS = st.sampled_from(["a", "b", "c"])
VALUES: Any = st.recursive(
    st.integers() | st.text(max_size=3) | st.none() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)


@given(VALUES, VALUES)
def test_merge_values_prefers_the_upper_layer(below: Any, above: Any):
    result = merge_values(below, above)
    assert merge_values(result, above) == result
    assert merge_values(below, result) == result


def shapes(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], bool]:
    """Return the keys of all tables, and which of them are tables."""
    shape_by_path = {path: isinstance(value, dict)}
    for key, inner in value.items() if isinstance(value, dict) else ():
        shape_by_path |= shapes(inner, (*path, key))
    return shape_by_path


def agree(*values: Any) -> bool:
    """Tell whether a key is a table everywhere or nowhere."""
    shape_by_path: dict[tuple[str, ...], bool] = {}
    return all(
        shape_by_path.setdefault(k, v) is v for value in values for k, v in shapes(value).items()
    )


@given(TABLES, TABLES, TABLES)
def test_merge_values_is_associative(first: Any, second: Any, third: Any):
    """Where a key is a table here and a value there, the value cuts off what is below it."""
    if agree(first, second, third):
        assert merge_values(merge_values(first, second), third) == merge_values(
            first, merge_values(second, third)
        )


@given(TABLES)
def test_merge_values_with_an_empty_layer_changes_nothing(table: Any):
    assert merge_values({}, table) == merge_values(table, {}) == table
    assert merge_layers([Layer("one", table)]) == table
    assert merge_layers([]) == {}


@given(TABLES, TABLES)
def test_merging_changes_no_layer(below: Any, above: Any):
    before = repr((below, above))
    merge_values(below, above)
    assert repr((below, above)) == before


def test_tables_are_merged_and_lists_replaced():
    below = {"t": {"a": 1, "l": [1, 2]}, "x": {"y": 1}}
    assert merge_values(below, {"t": {"b": 2, "l": [3]}, "x": 5}) == {
        "t": {"a": 1, "b": 2, "l": [3]},
        "x": 5,
    }


def test_the_origin_of_a_key_is_who_decides_it_or_its_table():
    layers = [Layer("low", {"a": {"b": 1, "c": 1}}), Layer("high", {"a": {"b": 2}})]
    assert find_origin(layers, ("a", "b")) == "high"
    assert find_origin(layers, ("a", "c")) == "low"
    assert find_origin(layers, ("a", "missing")) == "high"
    assert find_origin(layers, ("nowhere",)) == "high"
    assert find_origin([Layer("low", {"a": 1}), Layer("high", {})], ("a", "b")) == "low"
    assert find_origin([], ("a",)) == "the configuration"


def test_dates_become_texts():
    values = {"a": [date(2026, 1, 2), time(3, 4)], "b": datetime(2026, 1, 2, 3, 4)}
    assert normalize_layer(Layer("f", values)).values == {
        "a": ["2026-01-02", "03:04:00"],
        "b": "2026-01-02T03:04:00",
    }


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_refused_with_its_place(number: float):
    with pytest.raises(InvalidConfiguration, match=r"^f: a\.b\.1 is not a finite number"):
        normalize_layer(Layer("f", {"a": {"b": [1, number]}}))


def test_normalize_layer_refuses_deep_nesting():
    deep: Any = 1
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(InvalidConfiguration, match=r"^f: a\.a\.a is nested deeper than 64"):
        normalize_layer(Layer("f", deep))


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        (42, 99, 99),
        ({"w": {"h": 1, "p": 2}}, {"w": {"p": 3}, "l": True}, {"w": {"h": 1, "p": 3}, "l": True}),
        ("s", {"k": 1}, {"k": 1}),
        ({"k": 1}, 42, 42),
        ([1, 2], [3, 4], [3, 4]),
        ([1, 2], {"value": [3, 4], "strategy": "append"}, [1, 2, 3, 4]),
        ([3, 4], {"value": [1, 2], "strategy": "prepend"}, [1, 2, 3, 4]),
        ([1, 2], {"value": [3], "strategy": "replace"}, [3]),
        ([1, 2], {"value": [2, 3], "strategy": "append", "dedup": True}, [1, 2, 3]),
        ("text", {"value": [1, 2], "strategy": "append"}, [1, 2]),
        ({"a": 1, "b": 2}, {"value": {"a": 9}, "strategy": "replace"}, {"a": 9}),
        (
            {"a": {"x": 1}, "b": 2},
            {"value": {"a": {"y": 3}, "c": 4}, "strategy": "deep_merge"},
            {"a": {"x": 1, "y": 3}, "b": 2, "c": 4},
        ),
        (
            {"a": {"x": 1}, "b": 2},
            {"value": {"a": {"y": 3}, "c": 4}, "strategy": "merge"},
            {"a": {"y": 3}, "b": 2, "c": 4},
        ),
        (
            {"a": {"x": 1}, "b": 2},
            {"value": {"a": {"y": 3}, "c": 4}, "strategy": "keep"},
            {"a": {"x": 1}, "b": 2, "c": 4},
        ),
        (None, {"value": {"a": 1}, "strategy": "keep"}, {"a": 1}),
        ("hello", {"value": " w", "strategy": "append"}, "hello w"),
        ("hello", {"value": " w", "strategy": "prepend"}, " whello"),
        ("hello", {"value": " w", "strategy": "replace"}, " w"),
        ("l1", {"value": "l2", "strategy": "append", "separator": "line"}, "l1\nl2"),
        ("l2", {"value": "l1", "strategy": "prepend", "separator": "paragraph"}, "l1\n\nl2"),
        (42, {"value": "x", "strategy": "append"}, "x"),
        (
            {"tags": ["a", "b"], "n": 1},
            {"tags": {"value": ["c"], "strategy": "append"}, "n": 2},
            {"tags": ["a", "b", "c"], "n": 2},
        ),
        (
            {"a": 1},
            {"value": 1, "strategy": "append", "extra": True},
            {"value": 1, "strategy": "append", "extra": True},
        ),
        ({"a": 1}, {"value": 1, "strategy": "odd"}, {"value": 1, "strategy": "odd"}),
        (
            {"a": 1},
            {"value": {"b": 2}, "strategy": "append"},
            {"a": 1, "value": {"b": 2}, "strategy": "append"},
        ),
        # Decided otherwise than JP, which loses the first: docs/decisions.md.
        (
            {"value": [1], "strategy": "append"},
            {"value": [2], "strategy": "append"},
            [1, 2],
        ),
        ({"value": [1], "strategy": "append", "discard_when_merged": True}, [2], [2]),
        ([3, 2], {"value": [2, 2, 1], "strategy": "prepend", "dedup": True}, [2, 1, 3]),
        ([1], {"value": [2, 2], "strategy": "replace", "dedup": True}, [2]),
        ("hello", {"value": "aa", "strategy": "replace", "dedup": True}, "aa"),
    ],
)
def test_an_option_of_two_layers_is_joined_as_its_annotation_says(
    below: Any, above: Any, expected: Any
):
    assert merge_options([{"o": below}, {"o": above}]) == {"o": expected}


ITEMS: Any = st.recursive(
    st.sampled_from([0, 1, 2, 2**53, 2**53 + 1, 0.0, -0.0, 1.0, 1.5, 2.0**53, 1e300])
    | st.sampled_from([True, False, None, "", "1", "a", '"a"', "null", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.tuples(st.lists(ITEMS, max_size=4), st.booleans(), st.booleans()), max_size=5))
def test_join_items_keeps_the_first_of_equal_items(steps: list[tuple[list[Any], bool, bool]]):
    joined: list[Any] = []
    expected: list[Any] = []
    for items, is_prepended, is_distinct in steps:
        joined = join_items(joined, items, is_prepended=is_prepended, is_distinct=is_distinct)
        expected = items + expected if is_prepended else expected + items
        if is_distinct:
            expected = [e for index, e in enumerate(expected) if e not in expected[:index]]
    result = joined.read_items() if isinstance(joined, JoinedList) else joined
    assert repr(result) == repr(expected)


@pytest.mark.parametrize("every", [1, 2], ids=["each layer", "every second layer"])
def test_lists_without_duplicates_compare_each_value_once(
    monkeypatch: pytest.MonkeyPatch, every: int
):
    real, compared_values = merging._format_canonical, []

    def format_canonical(value: Any) -> str:
        compared_values.append(value["content"])
        return real(value)

    monkeypatch.setattr(merging, "_format_canonical", format_canonical)
    names = [[*"abcdea"], *([*"xy"] for _ in range(20))]
    lists = [
        {
            "value": [{"content": name} for name in layer_names],
            "strategy": "append",
            "dedup": number % every == 0,
        }
        for number, layer_names in enumerate(names)
    ]
    options = merge_options([{"o": []}, *({"o": value} for value in lists)])
    assert [item["content"] for item in options["o"]] == [*"abcdexy"]
    tables = [{"assistant": {"system_prompt_sections": value}} for value in lists]
    system = load_configuration([Layer("f", table) for table in tables]).assistant.system
    assert [part.content for part in system[1:] if isinstance(part, SystemPart)] == [*"abcdexy"]
    assert len(compared_values) == 2 * sum(map(len, names))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"value": [1, 2], "strategy": "append"}, [1, 2]),
        ({"s": {"value": {"p": 1}, "strategy": "keep"}}, {"s": {"p": 1}}),
        ({"value": "e", "strategy": "append", "separator": "line"}, "e"),
        (
            {"value": [1], "strategy": "append", "extra": 1},
            {"value": [1], "strategy": "append", "extra": 1},
        ),
        ({"value": [1]}, {"value": [1]}),
    ],
)
def test_an_option_of_one_layer_has_no_annotation_left(value: Any, expected: Any):
    assert merge_options([{"o": value}]) == {"o": expected}
