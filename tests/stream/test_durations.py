from __future__ import annotations

import pytest

from jpweb.stream import durations


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, ""),
        (0, "0 ms"),
        (0.25, "250 ms"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (61, "1 min 1 s"),
        (3600, "1 h 0 min"),
        (90061, "1 d 1 h"),
        (59.99, "60.0 s"),
    ],
)
def test_a_span_has_two_units(seconds: float | None, expected: str):
    assert durations.format_duration(seconds) == expected
