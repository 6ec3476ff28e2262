from __future__ import annotations

from datetime import date
from urllib.parse import parse_qsl

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import DEMO_ROOT, Membership
from jpweb.web.views.audit.quick_ranges import list_ranges
from tests.store import making
from tests.web.world import World


def test_quick_range_of_last_month_spans_its_days():
    labels = [label for label, _ in list_ranges(date(2028, 3, 31), {})]
    assert labels[-2:] == ["March 2028", "February 2028"]
    queries = [dict(parse_qsl(query)) for _, query in list_ranges(date(2028, 3, 31), {})]
    assert queries[-2:] == [
        {"since": "2028-03-01"},
        {"since": "2028-02-01", "until": "2028-02-29"},
    ]


def test_month_before_january_is_in_the_year_before():
    assert list_ranges(date(2027, 1, 1), {})[-1].label == "December 2026"


def test_range_keeps_other_filters_and_replaces_the_dates():
    query = {"tool": "git_tag", "since": "2020-01-01", "until": "2020-01-02"}
    assert dict(parse_qsl(list_ranges(date(2026, 11, 24), query)[0].query)) == {
        "tool": "git_tag",
        "since": "2026-11-18",
    }


@pytest.mark.parametrize(("place", "day_count"), [(0, 7), (1, 30), (2, 90)])
def test_quick_range_of_last_days_ends_today(place: int, day_count: int):
    today = date(2026, 11, 24)
    label, query = list_ranges(today, {})[place]
    since = date.fromisoformat(dict(parse_qsl(query))["since"])
    assert label == f"Last {day_count} days"
    assert (today - since).days + 1 == day_count


@pytest.mark.parametrize("path", ["/audit", "/audit/charts", "/audit/decisions"])
def test_page_says_that_the_demo_is_left_out(world: World, path: str):
    auditor = world.people["auditor"]
    demo = making.workspace("Demo")
    demo.root = DEMO_ROOT
    demo.save()
    client = world.client("auditor")
    note = "The demo is left out."
    assert note not in client.get(path).text, "it is none of theirs"
    Membership.objects.create(person=auditor, workspace=demo, role=Role.AUDITOR)
    page = client.get(f"{path}?since=2026-01-01").text
    assert f'{note} <a href="?since=2026-01-01&amp;demo=1">Include the demo</a>' in page
    for query in ("demo=1", f"workspace={demo.pk}", f"conversation={world.conversation.pk}"):
        assert note not in client.get(f"{path}?{query}").text
    Membership.objects.filter(person=auditor).exclude(workspace=demo).delete()
    assert note not in client.get(path).text, "they audit nothing else"
