"""Charts: SVG of a few elements, without style or script, whatever the labels hold."""

from __future__ import annotations

import sys

import pytest

from jpweb.runtime.rendering.charts import BarChart, Series, draw_bars
from tests.web.reading import parse_page

HOSTILE = "</text><script>alert(1)</script><b onclick=\"x\" style='a'>&lt;\x00\u202e\x1b[1m"
KINDS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize(("is_horizontal", "has_times"), KINDS)
def test_labels_are_text_and_no_markup(is_horizontal: bool, has_times: bool):
    series = [Series(HOSTILE, [3, 0.5, None]), Series("s", [1, 2, 86_400])]
    chart = BarChart([HOSTILE, "a" * 400, "c"], series, is_horizontal, has_times)
    html = draw_bars(chart)
    page = parse_page(html)
    assert (page.crossed, page.unclosed) == ([], [])
    assert {tag.tag for tag in page} <= {"svg", "g", "rect", "path", "text", "title"}
    names = {name for tag in page for name in tag}
    assert names <= {
        "aria-hidden",
        "class",
        "d",
        "height",
        "transform",
        "viewbox",
        "width",
        "x",
        "y",
    }
    tips = [tag.text for tag in page if tag.tag == "title"]
    assert any("<script>alert(1)</script>" in tip for tip in tips)
    assert not {"\x00", "\u202e", "\x1b"} & set(page.text)
    assert all(len(tag.text) <= 22 for tag in page if tag.tag == "text")


@pytest.mark.parametrize("is_horizontal", [False, True])
def test_bars_of_counts_are_as_long_as_their_counts(is_horizontal: bool):
    chart = BarChart(["a", "b"], [Series("x", [10, 30]), Series("y", [0, 20])], is_horizontal)
    page = parse_page(draw_bars(chart))
    side = "width" if is_horizontal else "height"
    bars = [tag for tag in page if tag.tag == "rect" and tag.inside(**{"class": "bar"})]
    lengths = {bar.parents[-1].text: float(bar[side]) for bar in bars}
    unit = lengths["a · x: 10"] / 10
    assert lengths == pytest.approx(
        {"a · x: 10": 10 * unit, "b · x: 30": 30 * unit, "b · y: 20": 20 * unit}, rel=0.01
    )


def test_bars_of_times_name_the_time_and_the_axis_reaches_them():
    chart = BarChart(["a"], [Series("Median", [0.0]), Series("p95", [7_200])], has_times=True)
    page = parse_page(draw_bars(chart))
    assert [tag.text for tag in page if tag.tag == "title"] == [
        "a · Median: 0 ms",
        "a · p95: 2 h 0 min",
    ]
    axis = [
        tag.text
        for tag in page
        if tag.tag == "text" and tag.inside(**{"class": "axis y always_show"})
    ]
    assert axis == ["0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h", "6 h"]


def test_a_failing_import_meets_no_finder_of_pygal():
    assert [finder for finder in sys.meta_path if type(finder).__module__ == "pygal"] == []
