"""The window of a conversation that a page shows, chosen by the query string.

Its parameters are the position (``at``, ``turn``, ``after``, ``before``), the filter groups
(``show``), the open folds (``open``) and the closed ones of those that are open by default
(``shut``), so that a copied address shows another person the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from jpweb.store.transcript import turns, windows
from jpweb.store.transcript.item_loader import LoadedItems
from jpweb.store.transcript.windows import Window
from jpweb.stream.transcript.categories import (
    CATEGORY_GROUPS,
    PROBLEM_CATEGORIES,
    categorize_element,
)
from jpweb.stream.transcript.items import Item, StandaloneItem, ToolCall
from jpweb.web import converters
from jpweb.web.labels import policy_labels

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Turn

#: Folds in each of the parameters ``open`` and ``shut``; the others are ignored.
MAX_FOLDS = 50
#: Characters of the query of find in conversation.
MAX_QUERY_CHARS = 200
#: Seconds between two items from which the page shows a time gap.
MIN_GAP_SECONDS = 15 * 60
#: Successive tool calls from which they share one row.
MIN_GROUP_CALLS = 3
#: Categories by filter group, with the group of problems.
FILTER_GROUPS = CATEGORY_GROUPS | {"problems": PROBLEM_CATEGORIES}


@dataclass(frozen=True, slots=True)
class TranscriptQuery:
    """The parameters of a transcript's address. Invalid positions count as absent."""

    at: str = ""
    turn: int | None = None
    after: int | None = None
    before: int | None = None
    show: tuple[str, ...] = ()
    open_folds: frozenset[str] = frozenset()
    words: str = ""
    closed_folds: frozenset[str] = frozenset()

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> TranscriptQuery:
        """Parse the parameters of an address; unknown groups are dropped.

        A fold that is named both open and shut is closed.
        """
        closed_folds = _parse_anchors(params.get("shut", ""))
        return cls(
            converters.parse_anchor(params.get("at")),
            converters.parse_number(params.get("turn")),
            converters.parse_number(params.get("after")),
            converters.parse_number(params.get("before")),
            parse_groups(params.get("show", "")),
            _parse_anchors(params.get("open", "")) - closed_folds,
            params.get("q", "").strip()[:MAX_QUERY_CHARS],
            closed_folds,
        )

    @property
    def categories(self) -> frozenset[str] | None:
        """The categories to show, None for all."""
        return find_categories(self.show)

    def to_query_string(self, **extra_parameters: Any) -> str:
        """Return the query string of another address with the same groups and search words."""
        params = {"show": ",".join(self.show), "q": self.words} | extra_parameters
        return urlencode(
            {name: value for name, value in params.items() if value not in ("", None)}, safe=","
        )


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """An item, with its turn's heading, the gap in time and the unread mark before it."""

    item: Item
    turn: Turn | None = None
    is_continued: bool = False
    gap: int = 0
    is_first_new: bool = False
    omitted_count: int = 0

    @property
    def started_at(self) -> datetime | None:
        """When the item's first event happened; None without timestamps."""
        return next(iter(_find_event_times(self.item)), None)


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Successive tool calls without a question or a problem, which share one row."""

    lines: list[TranscriptLine]
    is_open: bool = False

    @property
    def tool_counts(self) -> list[tuple[str, int]]:
        """The called tools, each with the number of its calls, the most called first."""
        calls = [line.item for line in self.lines if isinstance(line.item, ToolCall)]
        return Counter(call.call.name for call in calls).most_common()

    @property
    def started_at(self) -> datetime | None:
        """When the first call was made."""
        return self.lines[0].started_at


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A window, its items as lines of a page, and the same as rows, with groups of calls in one."""

    window: Window = field(default_factory=Window)
    lines: list[TranscriptLine] = field(default_factory=list)
    rows: list[TranscriptLine | CallGroup] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of the first item, -1 where there is none."""
        return self.window.item_positions[0] if self.window.item_positions else -1

    @property
    def last(self) -> int:
        """The position of the last item, -1 where there is none."""
        return self.window.item_positions[-1] if self.window.item_positions else -1


def parse_groups(text: str) -> tuple[str, ...]:
    """Return the filter groups that a text names, each once, in their order."""
    names = set(text.split(","))
    return tuple(name for name in FILTER_GROUPS if name in names)


def find_categories(show: Iterable[str]) -> frozenset[str] | None:
    """Return the categories of some groups, None for all where there is no group."""
    return frozenset(category for name in show for category in FILTER_GROUPS[name]) or None


def is_item_shown(item: Item, categories: frozenset[str] | None, length: int | None = None) -> bool:
    """Tell whether one of an item's first ``length`` entries has one of these categories."""
    elements = [element for element in item.elements if length is None or element.position < length]
    return bool(elements) and (
        categories is None
        or any(categorize_element(element.element) in categories for element in elements)
    )


def load_page(
    conversation: Conversation,
    query: TranscriptQuery,
    *,
    read_count: int | None,
    is_live: bool = False,
) -> TranscriptPage:
    """Return the page that an address asks for.

    ``read_count`` is the person's read mark, ``is_live`` whether a run is active. Raises
    UnknownAnchor for a permalink to an unknown event.
    """
    window = _load_window(conversation, query, read_count, is_live=is_live)
    if (
        read_count is not None
        and window.previous_item_position is not None
        and window.previous_item_position >= read_count
    ):
        read_count = None  # the first unread item is above the window
    page_lines = build_lines(
        window.contents,
        conversation.entry_count,
        read_count=read_count,
        is_start=not window.has_earlier,
        previous_end=windows.get_end_time(conversation.pk, window.previous_item_positions),
    )
    rows: list[TranscriptLine | CallGroup] = [*page_lines]
    if not query.show:  # a live page inserts what a filter lets through between its items
        rows = group_calls(page_lines, window.contents, query.open_folds | {query.at})
    return TranscriptPage(window, page_lines, rows)


def group_calls(
    lines: Iterable[TranscriptLine], contents: LoadedItems, open_anchors: frozenset[str]
) -> list[TranscriptLine | CallGroup]:
    """Return lines; ``MIN_GROUP_CALLS`` successive plain calls or more are one row.

    A group that holds one of ``open_anchors`` is open.
    """
    rows: list[TranscriptLine | CallGroup] = []
    for is_plain, group in groupby(lines, key=lambda line: _is_plain_call(line, contents)):
        grouped_lines = list(group)
        if not is_plain or len(grouped_lines) < MIN_GROUP_CALLS:
            rows += grouped_lines
            continue
        anchors = {element.anchor for line in grouped_lines for element in line.item.elements}
        rows.append(CallGroup(grouped_lines, not anchors.isdisjoint(open_anchors)))
    return rows


def _is_plain_call(line: TranscriptLine, contents: LoadedItems) -> bool:
    """Tell whether a line is a finished call that nobody was asked about, with nothing above it."""
    item = line.item
    if not isinstance(item, ToolCall) or item.response is None or item.inquiries:
        return False
    has_failed = getattr(item.response.element.kind, "is_error", True)
    has_extra = line.turn or line.gap or line.is_first_new or line.omitted_count
    is_decided = item.request.anchor in contents.call_decisions or policy_labels.has_policy(
        item.response
    )
    return not (has_failed or has_extra or is_decided)


def build_lines(
    contents: LoadedItems,
    length: int,
    *,
    read_count: int | None = None,
    is_contiguous: bool = True,
    is_start: bool = False,
    previous_end: datetime | None = None,
) -> list[TranscriptLine]:
    """Return items as lines of a page; without ``is_contiguous`` other items may lie between.

    A turn's heading is above its first visible item; above the first line only with
    ``is_start``, which means that no item precedes it. ``previous_end`` is the time of the last
    event of the items before the first line.
    """
    turns_by_start = {turn.position: turn for turn in contents.turns.values()}
    page_lines: list[TranscriptLine] = []
    is_news_marked = read_count is None or read_count >= length
    for index, (turn, item) in enumerate(contents.items):
        starting_turn = turns_by_start.get(item.first)
        if (
            starting_turn is None
            and is_contiguous
            and (turn != contents.items[index - 1][0] if index else is_start)
        ):
            starting_turn = contents.turns.get(turn)
        is_continued = is_contiguous and index == 0 and starting_turn is None
        is_new = not is_news_marked and read_count is not None and item.first >= read_count
        is_news_marked = is_news_marked or is_new
        page_lines.append(
            TranscriptLine(
                item,
                starting_turn or (contents.turns.get(turn) if is_continued else None),
                is_continued,
                find_gap(item, previous_end) if is_contiguous else 0,
                is_new and item.first > 0,
                contents.unread_counts.get(item.first, 0),
            )
        )
        previous_end = find_latest(previous_end, find_end_time(item))
    return page_lines


def find_gap(item: Item, previous_end: datetime | None) -> int:
    """Return the seconds since the end of the previous items; 0 below ``MIN_GAP_SECONDS``."""
    start = next(iter(_find_event_times(item)), None)
    seconds = int((start - previous_end).total_seconds()) if start and previous_end else 0
    return seconds if seconds >= MIN_GAP_SECONDS else 0


def find_latest(*times: datetime | None) -> datetime | None:
    """Return the latest time; None where there is none."""
    return max((time for time in times if time), default=None)


def find_end_time(item: Item) -> datetime | None:
    """Return when the last event of an item happened; None without timestamps."""
    return find_latest(*_find_event_times(item))


def make_composer_url(conversation_id: int) -> str:
    """Return the URL of the end of a conversation, at its composer."""
    return reverse("conversation", args=[conversation_id]) + "?at=end#composer"


def make_event_url(conversation_id: int, anchor: str, **extra_parameters: str) -> str:
    """Return the URL of a conversation around an event, or of its beginning without an anchor.

    ``extra_parameters`` are further parameters, of which empty ones are left out.
    """
    page_url = reverse("conversation", args=[conversation_id])
    return page_url + format_event_query(anchor, **extra_parameters)


def format_event_query(anchor: str, **extra_parameters: str) -> str:
    """Return the query string and the fragment that name an event, "" without an anchor.

    The server chooses the window by the parameter; it never gets the fragment, to which a browser
    scrolls.
    """
    if not anchor:
        return ""
    params = {"at": anchor} | {name: value for name, value in extra_parameters.items() if value}
    return f"?{urlencode(params)}#{anchor}"


def build_window_context(
    conversation: Conversation, query: TranscriptQuery, page: TranscriptPage
) -> dict[str, Any]:
    """Return the context of a window's template."""
    page_url = reverse("conversation", args=[conversation.pk])
    conversation.question_keys = page.window.contents.question_ids  # type: ignore[attr-defined]  # read by question_url
    conversation.call_decisions = page.window.contents.call_decisions  # type: ignore[attr-defined]  # read by render_item
    conversation.at_anchor = query.at  # type: ignore[attr-defined]  # read by render_item
    return {
        "conversation": conversation,
        "page": page,
        "page_url": page_url,
        "query_string": query.to_query_string(),
        "open_folds": query.open_folds,
        "closed_folds": query.closed_folds,
        "earlier_url": page.window.has_earlier
        and f"{page_url}?{query.to_query_string(before=page.first)}",
        "later_url": page.window.has_later
        and f"{page_url}?{query.to_query_string(after=page.last)}",
    }


def build_outline_context(conversation: Conversation, page: TranscriptPage) -> dict[str, Any]:
    """Return the context of the outline: turns around the window, and items of the current turn."""
    turn_numbers = sorted(page.window.contents.turns)
    current_number = turn_numbers[0] if turn_numbers else 0
    items_by_turn: dict[int, list[Item]] = {}
    for turn, item in page.window.contents.items:
        if not isinstance(item, StandaloneItem):
            items_by_turn.setdefault(turn, []).append(item)
    return {
        "turn_slice": turns.get_slice(conversation.pk, current_number, conversation.turns),
        "current_turn": current_number,
        "turn_items": items_by_turn.get(current_number, []),
        "is_partial": bool(turn_numbers) and not _has_whole_turn(page, current_number),
    }


def _has_whole_turn(page: TranscriptPage, turn_number: int) -> bool:
    """Tell whether a page holds all of a turn."""
    turns_by_number = page.window.contents.turns
    has_start = turns_by_number[turn_number].position >= page.first or not page.window.has_earlier
    return has_start and (turn_number + 1 in turns_by_number or not page.window.has_later)


def _load_window(
    conversation: Conversation, query: TranscriptQuery, read_count: int | None, *, is_live: bool
) -> Window:
    conversation_id, categories = conversation.pk, query.categories
    if query.after is not None:
        return windows.load_after(conversation_id, query.after, categories)
    if query.before is not None:
        return windows.load_before(conversation_id, query.before, categories)
    position = _find_position(conversation, query, read_count)
    if position is not None:
        return windows.load_around(conversation_id, position, categories)
    is_at_end = query.at in ("end", "new") or (is_live and not query.at)
    return (
        windows.load_last(conversation_id, categories)
        if is_at_end
        else windows.load_first(conversation_id, categories)
    )


def _find_position(
    conversation: Conversation, query: TranscriptQuery, read_count: int | None
) -> int | None:
    """Return the position that an address names, None where it names none."""
    if query.turn is not None:
        return turns.get_start(conversation.pk, query.turn) or 0
    if query.at == "new":
        return (
            read_count if read_count is not None and read_count < conversation.entry_count else None
        )
    if query.at in ("", "end"):
        return None
    number = converters.parse_number(query.at)
    return windows.get_position(conversation.pk, query.at) if number is None else number


def _find_event_times(item: Item) -> list[datetime]:
    return [time for element in item.elements if (time := element.time)]


def _parse_anchors(text: str) -> frozenset[str]:
    return frozenset([anchor for anchor in text.split(",") if anchor][:MAX_FOLDS])
