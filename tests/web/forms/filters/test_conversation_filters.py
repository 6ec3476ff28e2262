from __future__ import annotations

import pytest

from jpweb.store.choices import Origin
from jpweb.store.conversation_list.filters import ListFilters, Sort
from jpweb.web.forms.filters.conversation_filters import MAX_PARAM_CHARS, ConversationFilterForm


@pytest.mark.parametrize(
    ("params", "filters"),
    [
        ({}, ListFilters()),
        ({"q": " a\0b ", "archived": "1"}, ListFilters(words="a\0b", archived=True)),
        ({"q": "a" * 5_000}, ListFilters(words="a" * MAX_PARAM_CHARS)),
        ({"workspace": "7", "origin": "native"}, ListFilters(workspace=7, origin=Origin.NATIVE)),
        ({"has": "problem", "sort": "length"}, ListFilters(problem=True, sort=Sort.LENGTH)),
        ({"has": "waiting", "sort": "length"}, ListFilters(sort=Sort.WAITING)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_filters_of_known_values_are_built(params: dict[str, str], filters: ListFilters):
    form = ConversationFilterForm(params)
    assert form.build_filters() == filters
    assert form.list_unknown() == []


@pytest.mark.parametrize("name", ["workspace", "origin", "has", "sort"])
def test_filters_of_an_unknown_value_leave_it_out_and_name_it(name: str):
    form = ConversationFilterForm({name: "<b>", "label": "area"})
    assert form.build_filters() == ListFilters(label="area")
    assert form.list_unknown() == [f"{name}=<b>"]
