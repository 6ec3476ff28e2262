"""Filters by what no list has: the form shows them, so that it sends them again."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from jpweb.store.models import Inquiry
from tests.web.reading import parse_page
from tests.web.world import World

UNLISTED = [
    *(("/audit", name, f"no-{name}") for name in ("reason", "source", "tool", "person")),
    ("/audit", "workspace", "99999"),
    ("/audit/charts", "tool", "no-tool"),
    *(("/audit/decisions", name, "77777") for name in ("workspace", "person")),
    ("/audit/decisions", "decider", "no-decider"),
    *(("/audit/ledger", name, "77777") for name in ("workspace", "person")),
    ("/audit/secrets", "workspace", "77777"),
    ("/conversations", "workspace", "77777"),
    ("/search", "in", "Nowhere"),
]


def get(world: World, path: str, **filters: Any) -> Any:
    return world.client("auditor").get(f"{path}?{urlencode(filters)}")


def list_selected(response: Any, name: str) -> list[tuple[str, str]]:
    """Return the values and texts of the selected options of a list."""
    return [
        (tag["value"], tag.text)
        for tag in parse_page(response)
        if tag.tag == "option" and "selected" in tag and tag.inside(name=name)
    ]


@pytest.mark.parametrize(("path", "name", "value"), UNLISTED)
def test_filter_by_an_unlisted_value_is_the_selected_option(
    world: World, path: str, name: str, value: str
):
    response = get(world, path, **{name: value})
    assert response.status_code == 200
    ((selected, text),) = list_selected(response, name)
    assert selected == value
    assert value in text


@pytest.mark.parametrize(("path", "name"), [("/audit", "person"), ("/audit/decisions", "person")])
def test_filter_by_a_listed_value_has_one_option(world: World, path: str, name: str):
    owner = world.people["owner"]
    Inquiry.objects.update(decider_name="Owner", decider=owner)
    value = "Owner" if path == "/audit" else str(owner.pk)
    response = get(world, path, **{name: value})
    text = "Owner" if path == "/audit" else f"Owner, account {value}"
    assert list_selected(response, name) == [(value, text)]
    options = [tag for tag in parse_page(response) if tag.get("value") == value]
    assert len(options) == 1


@pytest.mark.parametrize("path", ["/audit", "/audit/charts", "/audit/decisions"])
def test_unknown_kind_of_decider_is_refused_on_every_page(world: World, path: str):
    response = get(world, path, decided="foo")
    assert response.status_code == 422
    text = parse_page(response).find_one(role="alert").text
    assert "Unknown type of decider “foo”" in text


PAGES = ("/audit", "/audit/charts", "/audit/decisions", "/audit/ledger")


@pytest.mark.parametrize("path", PAGES)
def test_period_that_ends_before_it_begins_is_refused(world: World, path: str):
    response = get(world, path, since="2026-05-02", until="2026-05-01")
    assert response.status_code == 422
    page = parse_page(response)
    assert page.find_one(role="alert").text.strip() == "From is after To."
    assert page.find_one(id="id_until_error").text == "From is after To."
    assert page.find_one(name="until")["aria-invalid"] == "true"


@pytest.mark.parametrize("path", [*PAGES, "/audit/secrets"])
def test_too_large_a_key_is_refused_by_the_name_of_its_filter(world: World, path: str):
    response = get(world, path, workspace="9" * 30)
    assert response.status_code == 422
    text = parse_page(response).find_one(role="alert").text
    assert text.strip() == "“workspace” must be a whole number of at most 18 digits."
