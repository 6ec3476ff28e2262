"""What a table's paper says of its filters, and the labels of conversations."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger.entries import Actor, Place, record_act
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


@pytest.mark.parametrize(("page", "label"), [("decisions", "account"), ("ledger", "person")])
def test_print_note_names_a_person_instead_of_the_key(world: World, page: str, label: str):
    owner, path = world.people["owner"], f"/audit/{page}"
    record_act(Act.EXPORTED, Actor.from_person(owner), Place(world.workspace.pk))
    note = read_note(world, path, person=owner.pk)
    assert note.startswith(f"Filters: {label}: Owner; any date.")
    assert f"{label}: 77777" in read_note(world, path, person="77777")


@pytest.mark.parametrize(("path", "name"), [("/audit", "person"), ("/audit/decisions", "decider")])
def test_print_note_labels_a_filter_as_its_page_does(world: World, path: str, name: str):
    assert read_note(world, path, **{name: "Ada"}).startswith("Filters: decided by: Ada;")


def test_print_note_leaves_out_what_does_not_filter(world: World):
    client = world.client("auditor")
    page = parse_page(client.get("/audit/decisions?decided=foo&view=timeline&unattended=1"))
    note = page.find_one(**{"class": "print-only"}).text
    assert note.startswith("Filters: with calls that ran without asking; any date.")
    assert read_note(world, "/audit/secrets").startswith("Filters: state: Open. As of ")
    assert read_note(world, "/audit/reviews/cancelled").startswith("As of ")


@pytest.mark.parametrize(
    "path", ["/", "/conversations", "/conversations/{}", "/conversations/{}/facts"]
)
def test_labels_are_cut_and_revealed_and_the_rest_is_counted(world: World, path: str):
    labels = {f"bed{number}": "" for number in range(20_000)}
    world.conversation.labels = {"\u202edab": "x" * 400_000} | labels
    world.conversation.save()
    response = world.client("owner").get(path.format(world.conversation.pk))
    text = parse_page(response).text
    assert len(response.content) < 100_000
    assert "\u202e" not in re.sub(r' value="[^"]*"', "", response.content.decode())
    assert "bed48" in text
    assert "bed49" not in text
    assert "and 19,951 more" in text


def test_a_label_that_is_too_long_filters_nothing(world: World):
    world.conversation.labels = {"bed": "north & south", "path": "x" * 400}
    world.conversation.save()
    page = parse_page(world.client("owner").get(f"/conversations/{world.conversation.pk}"))
    links = [tag for tag in page.find_all(**{"class": "tag"}) if "label=" in tag.get("href", "")]
    assert [(link["href"], link.text) for link in links] == [
        ("/conversations?label=bed%3Dnorth%20%26%20south", "bed=north & south")
    ]
