"""Filters of the page Decisions by tool, words, decider and month: also of its files and links."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest

from jpweb.store import approvals
from jpweb.store.choices import Act
from jpweb.store.decision_filters import decision_places
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.reviews import decisions
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.audit.downloads.test_decision_bundle import list_titles, read_manifest
from tests.web.views.audit.test_decision_export import read_csv, read_lines
from tests.web.world import World

FILTERS = [
    ({"tool": "git_tag"}, "run", "Policy"),
    ({"words": "friday"}, "run", "Reason"),
    ({"words": "go on"}, "question", "A talk"),
    ({"decided": "memory"}, "run", "Policy"),
]


@pytest.fixture
def decided_world(world: World) -> World:
    """Return a world with three decided conversations: a question, two tool calls."""
    owner = making.decider(world.people["owner"])
    making.settle(world.question, Answered(True), owner)
    prompt = making.prompt(making.start_run(making.conversation(world.workspace, "Reason")))
    decision = {"allow": False, "reason": "Not on a Friday"}
    approvals.decide_approval(prompt.pk, decision, owner)
    place = Place(world.workspace.pk, making.conversation(world.workspace, "Policy").pk)
    details = {"tool": "git_tag", "policy": "remembered", "allow": True}
    record_act(Act.CALL_DECIDED_BY_POLICY, Actor("memory", "Owner", 1), place, **details)
    return world


@pytest.mark.parametrize(("query", "kind", "title"), FILTERS, ids=[str(row[0]) for row in FILTERS])
def test_filter_narrows_page_files_and_bundle(
    decided_world: World, tmp_path: Path, query: dict[str, str], kind: str, title: str
):
    text = urlencode(query)
    page = parse_page(decided_world.client("auditor").get(f"/audit/decisions?{text}"))
    (row,) = [tag for tag in page if "data-decision" in tag]
    assert row["data-decision"] == kind
    assert title in row.text
    (name,) = query
    field = page.find_one(name=name)
    assert field.tag == "select" or field["value"] == query[name]
    assert page.find_one(**{"data-total": "1"}).text == "1 decision"
    links = [tag.get("href", "") for tag in page]
    for address in ("/audit/decisions.csv", "/audit/decisions.jsonl"):
        assert f"{address}?{text}" in links
    for rows in (read_csv(decided_world, text), read_lines(decided_world, text)):
        assert [(each["kind"], each["conversation_title"]) for each in rows] == [(kind, title)]
    assert list_titles(read_manifest(decided_world, tmp_path, **query)) == [title]


def test_saved_view_keeps_tool_words_and_decider(decided_world: World):
    query = "tool=git_tag&words=friday&decided=memory"
    data = {"page": "decisions", "name": "Mine", "query": query}
    client = decided_world.client("auditor")
    assert client.post("/audit/views/save", data)["Location"] == f"/audit/decisions?{query}"


def test_page_has_quick_ranges_that_keep_its_filters(decided_world: World):
    page = parse_page(decided_world.client("auditor").get("/audit/decisions?tool=vault&kind=run"))
    queries = [
        dict(parse_qsl(tag["href"].partition("?")[2]))
        for tag in page
        if tag.tag == "a" and tag.get("href", "").startswith("?") and "since=" in tag["href"]
    ]
    assert len(queries) == 5
    assert all((query["tool"], query["kind"]) == ("vault", "run") for query in queries)
    assert "until" in queries[-1]


def test_total_says_where_it_is_the_least(decided_world: World, monkeypatch: pytest.MonkeyPatch):
    client = decided_world.client("auditor")
    assert "3 decisions" in parse_page(client.get("/audit/decisions")).text
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", 1)
    monkeypatch.setattr(decisions, "MAX_COUNTED_DECISIONS", 2)
    assert "At least 2 decisions" in parse_page(client.get("/audit/decisions")).text


def test_page_of_a_scan_that_found_nothing_leads_on(
    decided_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 0)
    page = parse_page(decided_world.client("auditor").get("/audit/decisions?tool=nothing"))
    assert "No matches among the decisions searched so far." in page.text
    (link,) = [tag for tag in page if tag.text == "Search more" and tag.tag == "a"]
    assert "tool=nothing" in link["href"]
    assert "after=" in link["href"]


def test_unknown_kind_of_decider_is_refused(decided_world: World):
    client = decided_world.client("auditor")
    for address in ("/audit/decisions", "/audit/decisions.csv", "/audit/decisions/evidence.zip"):
        response = client.get(f"{address}?decided=nobody")
        assert response.status_code == 422
        assert "Unknown type of decider “nobody”" in response.text
