"""What was searched and filtered for is in the ledger, in words and bounded in length."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from jpweb.runtime import read_log
from jpweb.store.choices import Act
from jpweb.store.models import LedgerEntry
from jpweb.web.security import read_recording
from tests.web.reading import parse_page
from tests.web.world import World

Reads = Counter[read_log.ReadRecord]


def read_details(world: World, address: str, query: dict[str, Any], reads: Reads) -> dict[str, Any]:
    """Return the details of the entry that an auditor's request leaves."""
    assert world.client("auditor").get(address, query).status_code == 200
    read_log.write_reads(reads)
    entry = LedgerEntry.objects.get(act__in=(Act.READ, Act.SEARCHED))
    details: dict[str, Any] = json.loads(entry.text)["details"]
    return details


@pytest.mark.parametrize(
    ("address", "query", "criteria", "text"),
    [
        (
            "/search",
            {"who": "Ben", "sort": "newest"},
            {"filters": {"who": "Ben"}},
            "page Search, filters person: Ben",
        ),
        (
            "/search",
            {"q": " tomatoes ", "kind": "title", "in": "Garden"},
            {"query": "tomatoes", "filters": {"in": "Garden", "kind": "title"}},
            "query tomatoes, filters workspace: Garden; kind: Titles and labels",
        ),
        (
            "/audit",
            {"words": "Go on", "outcome": "cancelled", "reason": "user", "before": "9"},
            {"filters": {"outcome": "cancelled", "words": "Go on", "reason": "user"}},
            "page Audit, filters outcome: Cancelled; reason: declined or stopped; "
            "question contains: Go on",
        ),
        (
            "/audit/charts",
            {"decided": "memory", "demo": "1", "since": "2026-10-01"},
            {"filters": {"since": "2026-10-01", "demo": "1", "decided": "memory"}},
            "filters type of decider: Remembered answer; with the demo; from: 2026-10-01",
        ),
        (
            "/audit/decisions",
            {"kind": "run", "person": "7", "view": "timeline"},
            {"filters": {"kind": "run", "account": "7"}},
            "page Decisions, filters account: 7; kind: Tool call",
        ),
        (
            "/conversations/{0}/find",
            {"q": "tomatoes"},
            {"query": "tomatoes"},
            "page Find in conversation, query tomatoes",
        ),
        (
            "/audit/ledger",
            {"act": "role_changed", "person": "7"},
            {"filters": {"act": "role_changed", "account": "7"}},
            "page Ledger, filters account: 7; act: Role changed",
        ),
        (
            "/audit/secrets",
            {"state": "dismissed"},
            {"filters": {"state": "dismissed"}},
            "page Suspected secrets, filters state: Dismissed",
        ),
        ("/audit", {}, {}, "page Audit"),
    ],
)
def test_search_leaves_its_text_and_filters(
    world: World,
    gathered_reads: Reads,
    address: str,
    query: dict[str, str],
    criteria: dict[str, Any],
    text: str,
):
    address = address.format(world.conversation.pk)
    details = read_details(world, address, query, gathered_reads)
    assert {name: details[name] for name in details if name not in ("view", "count")} == criteria
    page = parse_page(world.client("auditor").get("/audit/ledger"))
    cells = page.find_all(**{"data-label": "Details"})
    assert any(" ".join(cell.text.split()).endswith(text) for cell in cells)


def test_workspace_of_a_filter_is_named(world: World, gathered_reads: Reads):
    query = {"workspace": str(world.workspace.pk)}
    details = read_details(world, "/audit", query, gathered_reads)
    assert details["filters"] == query
    page = parse_page(world.client("auditor").get("/audit/ledger?act=read"))
    assert "workspace: Garden" in page.text


@pytest.mark.parametrize("address", ["/search", "/audit", "/conversations/{0}/find"])
def test_long_texts_are_cut(world: World, gathered_reads: Reads, address: str):
    names = ("q", "words", "tool", "reason", "source", "person", "who", "label")
    query = dict.fromkeys(names, "x" * 3000)
    details = read_details(world, address.format(world.conversation.pk), query, gathered_reads)
    assert len(details.get("query", "")) <= read_recording.MAX_QUERY_CHARS
    values = details.get("filters", {}).values()
    assert all(len(value) == read_recording.MAX_FILTER_CHARS for value in values)


def test_different_filters_are_different_entries(world: World, gathered_reads: Reads):
    for tool in ("vault", "fs", "vault"):
        world.client("auditor").get("/audit", {"tool": tool})
    read_log.write_reads(gathered_reads)
    details = [
        json.loads(entry.text)["details"] for entry in LedgerEntry.objects.filter(act="read")
    ]
    counts = {entry["filters"]["tool"]: entry["count"] for entry in details}
    assert counts == {"vault": 2, "fs": 1}
