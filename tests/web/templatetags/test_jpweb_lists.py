"""What a table's paper says of its filters."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from jpweb.store.database import clock
from tests.web.reading import parse_page
from tests.web.world import World


def read_note(world: World, path: str, **filters: Any) -> str:
    query = f"?{urlencode(filters)}" if filters else ""
    page = parse_page(world.client("auditor").get(path + query))
    text = " ".join(page.find_one(**{"class": "print-only"}).text.split())
    assert text.endswith(f" UTC, http://testserver{path}{query}")
    return text


@pytest.mark.parametrize(
    "path", ["/audit", "/audit/charts", "/audit/decisions", "/audit/ledger"], ids=str
)
def test_print_note_has_filters_time_and_address(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str
):
    now = clock.now().replace(microsecond=0)
    monkeypatch.setattr(clock, "now", lambda: now)
    key = world.conversation.pk
    note = read_note(world, path, workspace=world.workspace.pk, conversation=key)
    assert note.startswith("Filters: workspace: Garden; conversation: A talk; any date. ")
    assert f"As of {now.replace(tzinfo=None)} UTC" in note
    note = read_note(world, path, since="2026-03-01", until="2026-05-09", demo="")
    assert note.startswith("Filters: from: 2026-03-01; to: 2026-05-09. As of ")
    assert read_note(world, path).startswith("Filters: none; any date. As of ")


@pytest.mark.parametrize("path", ["/audit/decisions", "/audit/ledger"])
def test_print_note_names_a_person_instead_of_the_key(world: World, path: str):
    world.client("auditor").get("/audit")
    note = read_note(world, "/audit/decisions", person=world.people["owner"].pk)
    assert note.startswith("Filters: person: Owner; any date.")
    assert "person: 77777" in read_note(world, path, person="77777")


def test_print_note_leaves_out_what_does_not_filter(world: World):
    client = world.client("auditor")
    page = parse_page(client.get("/audit/decisions?decided=foo&view=timeline&unattended=1"))
    note = page.find_one(**{"class": "print-only"}).text
    assert note.startswith("Filters: with calls that ran without asking; any date.")
    assert read_note(world, "/audit/secrets").startswith("Filters: state: Open. As of ")
    assert read_note(world, "/audit/reviews/cancelled").startswith("As of ")
