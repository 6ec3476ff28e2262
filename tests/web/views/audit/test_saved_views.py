"""Saved views of the audit's tables: kept for one person and one table, by address alone."""

from __future__ import annotations

import pytest

from jpweb.store.models import SavedSearch
from tests.web.reading import parse_page
from tests.web.world import World


@pytest.mark.parametrize(
    ("page", "path", "query", "kept_query"),
    [
        ("audit", "/audit", "outcome=open&sort=-waited&before=7", "outcome=open&sort=-waited"),
        ("decisions", "/audit/decisions", "kind=run&after=1.0.1&evil=1", "kind=run"),
    ],
)
def test_saved_view_is_listed_on_its_table_alone_and_deleted(
    world: World, page: str, path: str, query: str, kept_query: str
):
    client = world.client("auditor")
    data = {"page": page, "name": " Mine ", "query": query}
    assert client.post("/audit/views/save", data)["Location"] == f"{path}?{kept_query}"
    (view,) = SavedSearch.objects.all()
    for other_path in ("/audit", "/audit/decisions", "/search"):
        tags = parse_page(client.get(other_path))
        links = [tag["href"] for tag in tags if tag.tag == "a" and tag.text == "Mine"]
        assert links == ([f"{path}?{kept_query}"] if other_path == path else [])
    delete = {"page": page, "view": view.pk}
    world.client("owner").post("/audit/views/delete", delete)
    assert SavedSearch.objects.count() == 1
    assert client.post("/audit/views/delete", delete)["Location"] == path
    assert SavedSearch.objects.count() == 0


@pytest.mark.parametrize(
    ("name", "query", "message"),
    [
        ("", "outcome=open", "Enter a name"),
        ("Mine", "", "Choose filters or an order"),
        ("Mine", f"words={'x' * 2000}", "Choose filters or an order"),
    ],
)
def test_view_without_name_or_filters_is_refused(world: World, name: str, query: str, message: str):
    data = {"page": "audit", "name": name, "query": query}
    response = world.client("auditor").post("/audit/views/save", data, follow=True)
    assert message in response.content.decode()
    assert SavedSearch.objects.count() == 0


@pytest.mark.parametrize(
    ("page", "name", "message"),
    [
        ("audit", "x" * 81, "Shorten the name to 80 characters"),
        ("audit", "a\0b", "Null characters are not allowed"),
        ("search", "Mine", "Choose one of the options"),
        ("", "Mine", "Choose one of the options"),
    ],
)
def test_view_of_an_invalid_name_or_table_is_refused(
    world: World, page: str, name: str, message: str
):
    data = {"page": page, "name": name, "query": "outcome=open"}
    response = world.client("auditor").post("/audit/views/save", data, follow=True)
    assert message in response.content.decode()
    assert not SavedSearch.objects.exists()
