"""Bar charts as SVG inside a page (pygal), coloured by the classes of ``static/charts.css``.

The Content-Security-Policy refuses the scripts and styles that pygal writes. So its drawing is
written again with a few elements and attributes, and every text escaped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from jpweb.stream.durations import format_duration

#: Characters of a label at an axis, and in the tooltip of a bar.
MAX_LABEL_CHARS, MAX_TIP_CHARS = 22, 200
#: Units of the drawing, which the page scales. The font is that of a phone, the largest.
_WIDTH, _UPRIGHT_HEIGHT, _ROW_HEIGHT, _AXIS_HEIGHT, _FONT_SIZE = 560, 260, 26, 50, 16
#: Most labels below an upright chart.
_MAX_AXIS_LABELS = 8
_MAX_COUNT_TICKS = 5
#: Marks of a logarithmic axis of seconds.
_TIME_TICKS = (
    (0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"),
    (21_600, "6 h"), (86_400, "1 d"), (604_800, "7 d"), (2_592_000, "30 d"), (31_536_000, "1 y"),
)  # fmt: skip
#: Length of the bar of the shortest time, in powers of ten: one can still see it.
_MIN_TIME_LENGTH = 0.05
_TAGS = frozenset({"g", "path", "rect", "text"})
_ATTRIBUTES = frozenset({"class", "d", "height", "transform", "width", "x", "y"})
_SIDES = ("width", "height")
_LENGTHS = frozenset({*_SIDES, "x", "y"})


class Series(NamedTuple):
    """The bars of one colour: a value for each label of the chart; None and 0 have no bar."""

    label: str
    values: Sequence[float | None]


class BarChart(NamedTuple):
    """A chart of counts, or of seconds on a logarithmic axis (``has_times``)."""

    labels: Sequence[str]
    series: Sequence[Series]
    is_horizontal: bool = False
    has_times: bool = False


def draw_bars(chart: BarChart) -> SafeString:
    """Return the SVG element: counts of a label on top of each other, times side by side."""
    # A horizontal chart begins at the bottom.
    step = -1 if chart.is_horizontal else 1
    labels = [_clip(label, MAX_LABEL_CHARS) for label in chart.labels][::step]
    drawing = _make_drawing(chart)
    drawing.x_labels = labels
    if not chart.is_horizontal:
        drawing.x_labels_major = labels[:: math.ceil(len(labels) / _MAX_AXIS_LABELS) or 1]
    for series in chart.series:
        values = [
            {"value": _find_length(value, chart), "label": tip}
            for value, tip in zip(series.values, _describe_bars(chart, series), strict=True)
        ]
        drawing.add(series.label, values[::step])
    root = drawing.render_tree()
    groups = "".join(_write_element(child) for child in root if child.tag in _TAGS)
    return format_html(
        '<svg class="chart" viewBox="{}" aria-hidden="true">{}</svg>',
        root.get("viewBox"),
        SafeString(groups),
    )


@cache
def _import_pygal() -> Any:
    """Import pygal once a chart is drawn: that takes 70 ms of a start of jpweb."""
    import pygal  # noqa: PLC0415  see the docstring

    # Its finder of maps has no find_spec: in Python 3.11 each import that fails would warn.
    finders = [
        finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)
    ]
    sys.meta_path[:] = finders
    return pygal


def _make_drawing(chart: BarChart) -> Any:
    pygal = _import_pygal()
    kinds = {
        (True, False): pygal.HorizontalStackedBar,
        (False, False): pygal.StackedBar,
        (True, True): pygal.HorizontalBar,
        (False, True): pygal.Bar,
    }
    bars = len(chart.labels) * (max(len(chart.series), 1) * 0.6 if chart.has_times else 1)
    height = _AXIS_HEIGHT + round(_ROW_HEIGHT * bars) if chart.is_horizontal else _UPRIGHT_HEIGHT
    return kinds[chart.is_horizontal, chart.has_times](
        width=_WIDTH,
        height=height,
        css=(),
        js=(),
        margin=8,
        margin_right=24,
        spacing=4,
        show_legend=False,
        show_minor_x_labels=chart.is_horizontal,
        truncate_label=-1,
        y_labels=_list_ticks(chart),
        style=pygal.style.Style(label_font_size=_FONT_SIZE, major_label_font_size=_FONT_SIZE),
    )


def _find_length(value: float | None, chart: BarChart) -> float | None:
    if value is None or not chart.has_times:
        return value
    return max(_find_time_length(value), _MIN_TIME_LENGTH)


def _find_time_length(seconds: float) -> float:
    return math.log10(max(seconds, _TIME_TICKS[0][0]) / _TIME_TICKS[0][0])


def _list_ticks(chart: BarChart) -> list[dict[str, Any]]:
    """Return the marks of the axis up to the first that no bar exceeds."""
    if chart.has_times:
        longest_seconds = max(
            (value or 0 for series in chart.series for value in series.values), default=0
        )
        tick_count = sum(seconds < longest_seconds for seconds, _ in _TIME_TICKS) + 1
        return [
            {"value": _find_time_length(seconds), "label": label}
            for seconds, label in _TIME_TICKS[:tick_count]
        ]
    totals = zip(*(series.values for series in chart.series), strict=True)
    largest_total = max((sum(value or 0 for value in values) for values in totals), default=0)
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if step * _MAX_COUNT_TICKS >= largest_total)
    ticks = range(0, math.ceil(largest_total) + step, step)
    return [{"value": tick, "label": f"{tick:,}"} for tick in ticks]


def _describe_bars(chart: BarChart, series: Series) -> list[str]:
    """Return the tooltips of the bars."""
    return [
        _clip(f"{label} · {series.label}", MAX_TIP_CHARS)
        + (f": {format_duration(value) if chart.has_times else f'{value or 0:,}'}")
        for label, value in zip(chart.labels, series.values, strict=True)
    ]


def _clip(text: str, max_chars: int) -> str:
    text = " ".join(reveal_invisible(text).split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def _write_element(node: Any) -> SafeString:
    """Return the parts of a pygal element that a page may hold; "" if it draws nothing."""
    children = "".join(
        _write_tip(child) if child.tag == "desc" else _write_element(child)
        for child in node
        if child.tag in _TAGS or (child.tag == "desc" and child.get("class") == "label")
    )
    if (node.tag == "g" and not children) or _is_empty_bar(node):
        return SafeString("")
    attributes = "".join(
        f' {name}="{_round(value) if name in _LENGTHS else escape(value)}"'
        for name, value in node.items()
        if name in _ATTRIBUTES and value
    )
    text = escape(node.text or "")
    return SafeString(f"<{node.tag}{attributes}>{text}{children}</{node.tag}>")


def _write_tip(node: Any) -> SafeString:
    """Return a bar's tooltip, for which pygal needs a script, as browsers show it without one."""
    return SafeString(f"<title>{escape(node.text or '')}</title>")


def _is_empty_bar(node: Any) -> bool:
    """Tell whether an element is a bar without length, or the box of pygal's tooltips."""
    rect = node.find("rect")
    return rect is not None and any(float(rect.get(side) or 0) <= 0 for side in _SIDES)


def _round(text: str) -> str:
    return f"{float(text):.1f}"
