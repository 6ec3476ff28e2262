"""The forms of timestamps (docs/jp-format.md, Timestamps)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings

from jpweb.stream import timestamps
from tests.stream import strategies

TEN = datetime(2024, 9, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-09-01 10:00:00", TEN),
        ("2024-09-01 10:00:00.0", TEN),
        ("2024-09-01 10:00:00.5", TEN.replace(microsecond=500_000)),
        ("2024-09-01 10:00:00.1234567891", TEN.replace(microsecond=123_456)),
        ("2024-9-1 1:0:0.5", datetime(2024, 9, 1, 1, 0, 0, 500_000, UTC)),
        (" 2024-09-01 10:00:00", TEN),
        ("\t 2024-09-01 \t 10:00:00", TEN),
        ("+2024-09-01 10:00:00", TEN),
        ("2024-09-01 10:00:60.0", TEN.replace(second=59)),
        ("2024-09-01 10:00:60", TEN.replace(second=59)),
        ("2024-09-01T10:00:00Z", TEN),
        ("2024-09-01t10:00:00z", TEN),
        ("2024-09-01 10:00:00Z", TEN),
        ("2024-09-01T10:00:00.5Z", TEN.replace(microsecond=500_000)),
        ("2024-09-01T12:00:00+02:00", TEN),
        ("2024-09-01T06:30:00-03:30", TEN),
        ("2024-09-01T10:00:00-00:00", TEN),
        ("2024-09-01T10:00:60Z", TEN.replace(second=59)),
    ],
)
def test_parse_timestamp_reads_jps_formats_as_utc(text, moment):
    instant = timestamps.parse_timestamp(text)
    assert instant == moment
    assert instant.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-09-01T10:00:00",
        "2024-09-01  10:00:00Z",
        "2024-09-01 10:00:00 +00:00",
        "2024-09-01T10:00:00+0200",
        "2024-09-01T10:00:00+24:00",
        "2024-09-01T10:00:00+02:60",
        "2024-9-1T1:0:0Z",
        " 2024-09-01T10:00:00Z",
        "2024-09-01 10:00:00 ",
        "2024-09-01 10:00:00.",
        "2024-09-01T10:00:00.Z",
        "2024-09-01 10:00",
        "2024-09-01 24:00:00",
        "2024-09-01 10:00:61",
        "2024-02-30 10:00:00",
        "12024-09-01 10:00:00",
        "-2024-09-01 10:00:00",
        "2024-09-01 10:00:00\n",
        "٢٠٢٤-09-01 10:00:00",
        "0001-01-01T00:00:00+01:00",  # before the first instant that Python has
    ],
)
def test_parse_timestamp_that_jp_refuses_is_none(text):
    assert timestamps.parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2023, 1, 1, tzinfo=UTC), "2023-01-01 00:00:00.0"),
        (datetime(2025, 12, 24, 5, 53, 40, 595_080, UTC), "2025-12-24 05:53:40.59508"),
        (datetime(2026, 3, 18, 13, 9, 44, 1, UTC), "2026-03-18 13:09:44.000001"),
        (
            datetime(2024, 9, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            "2024-09-01 10:00:00.0",
        ),
        (datetime(33, 1, 1, tzinfo=UTC), "0033-01-01 00:00:00.0"),
    ],
)
def test_a_moment_is_written_without_zone_and_trailing_zeros(moment, text):
    assert timestamps.format_timestamp(moment) == text


@given(strategies.moments)
@settings(deadline=None)
def test_format_timestamp_round_trips(moment):
    assert timestamps.parse_timestamp(timestamps.format_timestamp(moment)) == moment


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-09-01 10:00:00", "2024-09-01T10:00:00Z"),
        ("2024-09-01 10:00:00.5", "2024-09-01T12:00:00.500+02:00"),
        ("2024-09-01 10:00:00.1234567891", "2024-09-01 10:00:00.123456789"),
    ],
)
def test_texts_of_the_same_nanosecond_share_their_instant(first, second):
    assert timestamps.normalize_timestamp(first) == timestamps.normalize_timestamp(second)


def test_texts_of_different_nanoseconds_have_different_instants():
    texts = ["2024-09-01 10:00:00.123456788", "2024-09-01 10:00:00.123456789"]
    assert len({timestamps.normalize_timestamp(text) for text in texts}) == 2


def test_a_text_that_cannot_be_read_is_its_own_instant():
    assert timestamps.normalize_timestamp("yesterday") == "yesterday"


@pytest.mark.parametrize("text", ["2024-02-30 10:00:00.0", "0000-01-01 10:00:00.0"])
def test_a_day_that_there_is_not_is_refused_in_the_written_form_too(text):
    assert timestamps.parse_timestamp(text) is None


def test_a_long_text_is_read_and_not_remembered():
    long = f"2024-09-01 10:00:00.{'1' * 1000}"
    assert timestamps.normalize_timestamp(long) == timestamps.normalize_timestamp(
        "2024-09-01 10:00:00.111111111"
    )
    assert timestamps.parse_timestamp(" " * 1000) is None
