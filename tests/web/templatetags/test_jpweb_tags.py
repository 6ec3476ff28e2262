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
    utc_time = at.astimezone(UTC)
    assert tags.iso_time(at) == date(utc_time, "c")
    assert tags.utc_seconds(at) == date(utc_time, "Y-m-d H:i:s")


def test_a_near_instant_is_said_by_how_long_ago_and_others_by_their_date():
    moment = clock.now()
    assert ">just now</time></span>" in tags.timestamp(moment)
    assert ">2\xa0hours ago</time>" in tags.timestamp(moment - timedelta(hours=2))
    assert ">20 Nov 2025, 09:05</time>" in tags.timestamp(AT.replace(year=2025))
    exact = tags.timestamp(moment, "#here", exact=True)
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


def _earlier(**fields: Any) -> PreviousAnswer:
    usual: dict[str, Any] = {"pk": 7, "state": "answered", "reason": "", "answer": True}
    usual |= {"note": "", "decided_by": "person", "decider_name": "Ada", "settled_at": AT}
    return PreviousAnswer(**usual | {"title": "A <talk>"} | fields)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": "cancelled", "reason": "user", "answer": None}, "Cancelled"),
        ({"answer": False}, "<code>No</code>"),
        ({"answer": ["a", {"b": 1}]}, "<code>[&quot;a&quot;"),
        ({"answer": "one\ntwo"}, "<code>one</code>"),
        ({"note": "why <not>\nand more"}, ">why &lt;not&gt;</q>"),
        ({"decider_name": "Eve"}, "by Eve"),
        ({"settled_at": AT - timedelta(days=400)}, "16 Oct 2025"),
        ({"title": ""}, ">Untitled</a>"),
        ({"pk": 8}, 'data-previous-answer="8"'),
    ],
)
def test_an_earlier_answer_shows_what_it_is_by_now(changes: dict[str, Any], expected: str):
    first, second = (
        tags.render_previous_answer(_earlier()),
        tags.render_previous_answer(_earlier(**changes)),
    )
    assert expected in second
    assert expected not in first
    assert ">A &lt;talk&gt;</a>" in first
    assert tags.render_previous_answer(_earlier()) == first


def test_how_long_ago_an_earlier_answer_was_goes_on(monkeypatch: pytest.MonkeyPatch):
    moment = clock.now()
    answer = _earlier(settled_at=moment)
    assert "just now" in tags.render_previous_answer(answer)
    monkeypatch.setattr("jpweb.web.display_text.format_age", lambda _: "2 hours ago")
    assert "2 hours ago" in tags.render_previous_answer(answer)
