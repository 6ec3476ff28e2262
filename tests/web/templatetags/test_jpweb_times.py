from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.template.defaultfilters import date
from django.utils import timezone as clock

from jpweb.web.templatetags import jpweb_times

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
    assert jpweb_times.iso_time(at) == date(utc_time, "c")
    assert jpweb_times.utc_seconds(at) == date(utc_time, "Y-m-d H:i:s")


def test_a_near_instant_is_said_by_how_long_ago_and_others_by_their_date():
    moment = clock.now()
    assert ">just now</time></span>" in jpweb_times.timestamp(moment)
    ahead = timedelta(seconds=30)  # by another machine's clock
    assert ">just now</time></span>" in jpweb_times.timestamp(moment + ahead)
    assert "just now" not in jpweb_times.timestamp(moment + 3 * ahead)
    assert ">2\xa0hours ago</time>" in jpweb_times.timestamp(moment - timedelta(hours=2.5))
    assert ">20 Nov 2025, 09:05</time>" in jpweb_times.timestamp(AT.replace(year=2025))
    assert jpweb_times.timestamp(moment).endswith("</span>")  # a period may follow
    exact = jpweb_times.timestamp(moment, "#here", exact=True)
    assert exact.startswith('<a class="timestamp" href="#here">')
    assert "just now" not in exact
    assert jpweb_times.timestamp(None).strip() == ""
