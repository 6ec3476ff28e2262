"""Counts on the pages of the audit: with separators, and a dash where none is known."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.store.reviews import decisions, inquiry_ranges, state_counts
from jpweb.store.reviews.state_counts import StateCount
from jpweb.stream.inquiry import Answered
from jpweb.web import review_pages
from jpweb.web.views.audit import decision_table
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.views.audit.reviewing.test_reviews import Desk
from tests.web.world import World, signed_in

#: What a bar shows, and what it says to a screen reader.
NOT_COUNTED = "\N{EN DASH}not counted"


def read(world: World, path: str) -> ParsedPage:
    return parse_page(world.client("auditor").get(path))


def test_bar_of_a_state_that_was_not_counted_has_no_number(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    counts = dict.fromkeys(INQUIRY_STATES, StateCount(0, is_least=True))
    counts["answered"] = StateCount(1000, is_least=True)
    monkeypatch.setattr(state_counts, "count_by_state", lambda *_: counts)
    page = read(world, "/audit")
    texts = {t["data-count"]: t.text for t in page if t.tag == "b" and "data-count" in t}
    assert texts == dict.fromkeys(INQUIRY_STATES, NOT_COUNTED) | {"answered": "1,000+"}
    assert page.find_one(**{"data-total": "1000"}).text == "At least 1,000 questions"
    counts["answered"] = StateCount(0, is_least=True)
    assert "At least 0" not in read(world, "/audit").text


def test_rows_and_counts_of_two_filters_read_the_same_range(world: World):
    with CaptureQueriesContext(connection) as queries:
        read(world, "/audit?tool=deploy&outcome=cancelled")
    limit = f"LIMIT {inquiry_ranges.MAX_SCANNED_ROWS + 1}"
    filter_counts = [query for query in queries if f"{limit}) subquery" in query["sql"]]
    assert len(filter_counts) == 2, "each filter's rows are counted once, to choose the fewest"


def test_counts_of_decisions_are_grouped(world: World, monkeypatch: pytest.MonkeyPatch):
    count = StateCount(1000, is_least=True)
    monkeypatch.setattr(decisions, "count_omitted_calls", lambda *_: count)
    monkeypatch.setattr(decision_table, "StateCount", lambda *_, **_values: count)
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    text = " ".join(read(world, "/audit/decisions").text.split())
    assert "At least 1,000 decisions" in text
    assert "More than 1,000 tool calls ran without asking" in text


def test_counts_of_reviews_are_grouped_on_all_pages(world: World, monkeypatch: pytest.MonkeyPatch):
    describe = review_pages.describe_progress
    numbers = {"finished": 1003, "total": 6003, "left": 5000, "has_progress": True}
    monkeypatch.setattr(review_pages, "describe_progress", lambda queue: describe(queue) | numbers)
    desk = Desk(world)
    client = signed_in(desk.ada)
    for path in ("/audit/reviews", "/audit/reviews/cancelled", f"{desk.path}?queue=cancelled"):
        text = parse_page(client.get(path)).text
        assert "1,003 of 6,003 reviewed" in text, path
        assert "5,000 left for you" in text, path
    assert parse_page(client.get("/audit/reviews")).find_all(value="1003", max="6003")
