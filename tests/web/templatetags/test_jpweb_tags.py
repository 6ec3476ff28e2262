from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.template.defaultfilters import date
from django.utils import timezone as clock

from jpweb.store.inbox.previous_answers import PreviousAnswer
from jpweb.stream.inquiry import CancellationReason
from jpweb.web import display_text
from jpweb.web.templatetags import jpweb_tags as tags

AT = datetime(2026, 11, 20, 9, 5, 7, 120, UTC)


@pytest.mark.parametrize(
    "at",
    [
        AT,
        AT.replace(microsecond=0),
        AT.astimezone(timezone(timedelta(hours=-7))),
        datetime(9, 1, 2, tzinfo=UTC),
    ],
)
def test_an_instant_is_written_as_django_writes_it(at: datetime):
    there = at.astimezone(UTC)
    assert tags.iso_time(at) == date(there, "c")
    assert tags.utc_seconds(at) == date(there, "Y-m-d H:i:s")


def test_a_near_instant_is_said_by_how_long_ago_and_others_by_their_date():
    now = clock.now()
    assert ">just now</time></span>" in tags.timestamp(now)
    assert ">2\xa0hours ago</time>" in tags.timestamp(now - timedelta(hours=2))
    assert ">20 Nov 2025, 09:05</time>" in tags.timestamp(AT.replace(year=2025))
    exact = tags.timestamp(now, "#here", exact=True)
    assert exact.startswith('<a class="timestamp" href="#here">')
    assert "just now" not in exact
    assert tags.timestamp(None).strip() == ""


@pytest.mark.parametrize("tag", display_text.STATE_LABELS)
@pytest.mark.parametrize("reason", ["", *CancellationReason])
def test_a_badge_that_is_remembered_is_as_it_is_made(tag: str, reason: str):
    for _ in range(2):
        assert tags.state_badge(tag, reason) == tags._render_badge(tag, reason)


def test_a_badge_of_what_nobody_knows_is_not_remembered():
    before = tags._render_known_badge.cache_info().currsize
    assert "odd &lt;one&gt;" in tags.state_badge("odd <one>")
    assert "“a &lt;b&gt;”" in tags.state_badge("cancelled", "a <b>")
    assert tags._render_known_badge.cache_info().currsize == before


def _earlier(**other: Any) -> PreviousAnswer:
    usual: dict[str, Any] = {"pk": 7, "state": "answered", "reason": "", "answer": True}
    usual |= {"note": "", "decided_by": "person", "decider_name": "Ada", "settled_at": AT}
    return PreviousAnswer(**usual | {"title": "A <talk>"} | other)


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ({"state": "cancelled", "reason": "user", "answer": None}, "Cancelled"),
        ({"answer": False}, "<code>false</code>"),
        ({"answer": ["a", {"b": 1}]}, "<code>[&quot;a&quot;"),
        ({"answer": "one\ntwo"}, "<code>one</code>"),
        ({"note": "why <not>\nand more"}, ">why &lt;not&gt;</q>"),
        ({"decider_name": "Eve"}, "by Eve"),
        ({"settled_at": AT - timedelta(days=400)}, "16 Oct 2025"),
        ({"title": ""}, ">Untitled</a>"),
        ({"pk": 8}, 'data-previous-answer="8"'),
    ],
)
def test_an_earlier_answer_shows_what_it_is_by_now(other: dict[str, Any], shown: str):
    first, changed = (
        tags.render_previous_answer(_earlier()),
        tags.render_previous_answer(_earlier(**other)),
    )
    assert shown in changed
    assert shown not in first
    assert ">A &lt;talk&gt;</a>" in first
    assert tags.render_previous_answer(_earlier()) == first


def test_how_long_ago_an_earlier_answer_was_goes_on(monkeypatch: pytest.MonkeyPatch):
    now = clock.now()
    was = _earlier(settled_at=now)
    assert "just now" in tags.render_previous_answer(was)
    monkeypatch.setattr("jpweb.web.display_text.format_age", lambda _: "2 hours ago")
    assert "2 hours ago" in tags.render_previous_answer(was)
