"""The timeline of a conversation: how each turn's time was spent, as a strip and as a table."""

from __future__ import annotations

from datetime import datetime
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.runtime import configuration, model_history
from jpweb.store import runs
from jpweb.store.choices import Origin, Role
from jpweb.store.run_queue import token_usage
from jpweb.store.transcript import timeline
from jpweb.store.transcript.timeline import Timeline, TimelineTurn
from jpweb.stream import durations
from jpweb.web import access, converters, display_text
from jpweb.web.labels import token_labels
from jpweb.web.security import cache_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jpweb.store.models import Conversation
    from jpweb.store.run_queue.token_usage import TokenSums
    from jpweb.web.http import Request
    from jpweb.web.labels.token_labels import TokenText

#: Width and height of the strip in its own units, and the part of a bar's slot that is a gap.
STRIP_WIDTH, STRIP_HEIGHT, GAP_SHARE = 1_000, 16, 0.15
#: Changes of the model that the header links to, the newest ones.
MAX_LINKED_CHANGES = 3


class Segment(NamedTuple):
    """A part of a bar: its label, its left edge and its width."""

    name: str
    x: float
    width: float


class Bar(NamedTuple):
    """A turn in the strip, and in words."""

    turn: TimelineTurn
    x: float
    width: float
    segments: list[Segment]
    model: str
    tools: str
    waiting: str
    total: str
    tokens: TokenText


class ModelChange(NamedTuple):
    """A change of the model: from which to which, and its place."""

    turn_number: int | None
    anchor: str
    models: str


class ModelSummary(NamedTuple):
    """The model last in effect, how often it changed, and the newest changes."""

    name: str
    model_id: str
    change_count: int
    changes: list[ModelChange]


class TimeSpan(NamedTuple):
    """The beginning and the end of some turns, and the time between them in words."""

    started_at: datetime
    ended_at: datetime
    duration: str


@access.conversation(Role.READER)
def show_timeline(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the turns from number ``from`` on, the last ones without it; to htmx as a strip."""
    first_number = converters.parse_number(request.GET.get("from"))
    if first_number is None:
        first_number = max(conversation.turns - timeline.MAX_TURNS, 0)
    shown_timeline = timeline.load_timeline(conversation.pk, first_number, conversation.turns)
    token_sums = _load_token_sums(conversation, shown_timeline)
    context: dict[str, Any] = {
        "conversation": conversation,
        "bars": _make_bars(shown_timeline.turns, token_sums),
        "tokens": token_labels.describe_tokens(token_sums.values()),
        "span": _find_span(shown_timeline),
        "is_running": not shown_timeline.later_count and _has_active_run(conversation),
        "model": _summarize_models(conversation, shown_timeline),
        "legend": display_text.TIME_LABELS.items(),
        "height": STRIP_HEIGHT,
        "strip_width": STRIP_WIDTH,
        "problem_count": sum(
            turn.times.problem_count for turn in shown_timeline.turns if turn.times
        ),
        "earlier_from": max(shown_timeline.earlier_count - timeline.MAX_TURNS, 0)
        if shown_timeline.earlier_count
        else None,
        "later_from": shown_timeline.earlier_count + len(shown_timeline.turns)
        if shown_timeline.later_count
        else None,
    }
    template = (
        "conversations/_time_strip.html" if request.htmx else "transcript_modes/timeline.html"
    )
    return cache_headers.add_etag(request, render(request, template, context))


def _load_token_sums(conversation: Conversation, shown_timeline: Timeline) -> dict[int, TokenSums]:
    """Return the tokens of the shown turns; only turns that ran here have some on record."""
    if conversation.origin != Origin.NATIVE or not shown_timeline.turns:
        return {}
    first_number, last_number = shown_timeline.turns[0].number, shown_timeline.turns[-1].number
    return token_usage.sum_tokens_by_turn(conversation.pk, first_number, last_number)


def _make_bars(turns: list[TimelineTurn], token_sums: Mapping[int, TokenSums]) -> list[Bar]:
    """Return a bar for each turn; its width grows with the logarithm of its duration."""
    weights = [1 + log2(1 + turn.times.seconds) if turn.times else 1.0 for turn in turns]
    unit = STRIP_WIDTH / sum(weights) if weights else 0
    bars, x = [], 0.0
    for turn, weight in zip(turns, weights, strict=True):
        width = weight * unit * (1 - GAP_SHARE)
        turn_sums = token_sums.get(turn.number)
        tokens = token_labels.describe_tokens([turn_sums] if turn_sums else [])
        bars.append(_make_bar(turn, x, width, tokens))
        x += weight * unit
    return bars


def _make_bar(turn: TimelineTurn, x: float, width: float, tokens: TokenText) -> Bar:
    times = turn.times
    segments = _make_segments(turn, x, width)
    if times is None:
        return Bar(turn, round(x, 1), round(width, 1), segments, "", "", "", "", tokens)
    return Bar(
        turn,
        round(x, 1),
        round(width, 1),
        segments,
        _format_seconds(times.model_seconds),
        _format_seconds(times.tool_seconds),
        _format_seconds(times.waiting_seconds),
        durations.format_duration(times.seconds),
        tokens,
    )


def _format_seconds(seconds: float) -> str:
    return durations.format_duration(seconds) if seconds else ""


def _make_segments(turn: TimelineTurn, x: float, width: float) -> list[Segment]:
    times = turn.times
    if times is None or not times.seconds:
        return [Segment("model", round(x, 1), round(width, 1))]
    segments = []
    for name, seconds in (
        ("model", times.model_seconds),
        ("tool", times.tool_seconds),
        ("waiting", times.waiting_seconds),
    ):
        part = width * seconds / times.seconds
        if seconds:
            segments.append(Segment(name, round(x, 1), round(part, 1)))
        x += part
    return segments


def _has_active_run(conversation: Conversation) -> bool:
    run = runs.get_newest(conversation.pk)
    return run is not None and run.is_unfinished


def _find_span(shown_timeline: Timeline) -> TimeSpan | None:
    """Return from when to when the shown turns were; None where no turn has a time."""
    times = [turn.times for turn in shown_timeline.turns if turn.times]
    if not times:
        return None
    started_at = min(turn_times.started_at for turn_times in times)
    ended_at = max(turn_times.ended_at for turn_times in times)
    seconds = (ended_at - started_at).total_seconds()
    return TimeSpan(started_at, ended_at, durations.format_duration(seconds))


def _summarize_models(conversation: Conversation, shown_timeline: Timeline) -> ModelSummary | None:
    """Return the models of a conversation; None where none is on record, or later turns follow."""
    if shown_timeline.later_count:
        return None
    starts = [(turn.times.started_at, turn.number) for turn in shown_timeline.turns if turn.times]
    uses = model_history.list_models(conversation, sorted(starts))
    if not uses:
        return None
    names = [configuration.escape_invisible(use.model_id) for use in uses]
    changes = [
        ModelChange(
            use.turn_number if use.turn_number != model_history.BEFORE_TURNS else None,
            use.anchor,
            f"{before} → {after}",
        )
        for use, before, after in zip(uses[1:], names, names[1:], strict=False)
    ]
    name = configuration.escape_invisible(uses[-1].name) or names[-1]
    return ModelSummary(name, names[-1], len(changes), changes[-MAX_LINKED_CHANGES:])
