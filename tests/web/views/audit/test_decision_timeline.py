"""The decisions as a timeline: days, lanes, marks, and the same rows as the table."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from jpweb.store import approvals
from jpweb.store.choices import DecisionKind
from jpweb.store.decision_filters.decision_places import DecisionCursor
from jpweb.store.models import Inquiry
from jpweb.store.reviews.decisions import Decision
from jpweb.stream.inquiry import Answered
from jpweb.web.views.audit import decision_timeline
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def decide(at: datetime, by: str = "Ada", waited: timedelta = timedelta(0)) -> tuple[Any, Any]:
    """Return a decision on a question and its template values."""
    inquiry = Inquiry(decided_by="person", decider_name=by, state="answered", asked_at=at - waited)
    cursor = DecisionCursor(at, 0, 1)
    return Decision(cursor, DecisionKind.QUESTION, inquiry), {"at": at, "inquiry": inquiry}


def build(*pairs: tuple[Any, Any]) -> list[decision_timeline.TimelineDay]:
    return decision_timeline.build_days(*map(list, zip(*pairs, strict=True)))


def test_days_and_rows_keep_the_order_of_the_page():
    days = build(decide(NOON), decide(NOON - timedelta(hours=12)), decide(NOON - timedelta(days=1)))
    assert [day.day for day in days] == [date(2026, 3, 2), date(2026, 3, 1)]
    assert [[row["at"].hour for row in day.rows] for day in days] == [[12, 0], [12]]


@pytest.mark.parametrize(
    ("waited", "begin", "width"),
    [
        (timedelta(minutes=90), 630.0, 90.0),
        (timedelta(seconds=1), 720.0, 0.5),
        (timedelta(days=2), 0.0, 720.0),
    ],
)
def test_mark_is_at_its_minute_behind_the_wait_of_that_day(
    waited: timedelta, begin: float, width: float
):
    ((mark,),) = [lane.marks for day in build(decide(NOON, waited=waited)) for lane in day.lanes]
    assert mark == (720.0, begin, width, "answered")


@pytest.mark.parametrize("seconds", [1, 3 * 60])
def test_mark_of_the_last_minutes_of_a_day_is_whole(seconds: int):
    midnight = NOON + timedelta(hours=12)
    ((mark,),) = [
        lane.marks
        for day in build(decide(midnight - timedelta(seconds=seconds)))
        for lane in day.lanes
    ]
    assert mark.minute + decision_timeline.MARK_MINUTES == decision_timeline.LANE_MINUTES


def test_timeline_lanes_are_per_decider_and_the_last_is_shared():
    (day,) = build(decide(NOON, "Ben"), decide(NOON), decide(NOON))
    assert [(lane.name, len(lane.marks)) for lane in day.lanes] == [("Ada", 2), ("Ben", 1)]
    (day,) = build(*(decide(NOON, f"Person {number}") for number in range(20)))
    assert len(day.lanes) == decision_timeline.MAX_LANES
    assert (day.lanes[-1].name, len(day.lanes[-1].marks)) == ("Others", 13)


def test_timeline_has_approvals_of_calls_and_results(world: World):
    decider = making.decider(world.people["owner"])
    row = approvals.decide_approval(world.prompt.pk, {"allow": False, "reason": "Bees"}, decider)
    page = parse_page(world.client("auditor").get("/audit/decisions?view=timeline"))
    (item,) = [tag for tag in page if tag.get("id") == f"approval-{row.pk}"]
    for part in ("vault", "by Owner", "Bees"):
        assert part in item.text


def test_timeline_has_the_rows_of_the_table_and_keeps_the_filters(world: World):
    owner = world.people["owner"]
    making.settle(world.question, Answered(True), making.decider(owner))
    Inquiry.objects.update(note="<b>Mind</b> the bees")
    query = f"?conversation={world.conversation.pk}&person={owner.pk}"
    client = world.client("auditor")
    table = parse_page(client.get(f"/audit/decisions{query}"))
    timeline = parse_page(client.get(f"/audit/decisions{query}&view=timeline"))
    ids = [[tag.get("id") for tag in page if "data-decision" in tag] for page in (table, timeline)]
    assert ids[0] == ids[1] == [f"question-{world.question.pk}"]
    (row,) = [tag for tag in timeline if "data-decision" in tag]
    for part in ("Go on?", "Answered", "by Owner", "after", "<b>Mind</b> the bees"):
        assert part in row.text
    hrefs = [tag.get("href", "") for tag in table]
    (link,) = [href for href in hrefs if "view=timeline" in href]
    assert f"conversation={world.conversation.pk}" in link
    assert timeline.find_one(type="hidden", name="view")["value"] == "timeline"


def test_unknown_view_is_refused_in_one_line(world: World):
    response = world.client("auditor").get("/audit/decisions?view=tree")
    assert response.status_code == 422
    assert "Unknown view “tree”" in parse_page(response).find_one(role="alert").text
