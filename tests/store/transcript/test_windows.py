"""Windows of a conversation: all of them together are the whole, each costs the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.errors import UnknownAnchor
from jpweb.store.models import Conversation, JournalEntry
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.store.transcript import item_loader, navigation, windows
from jpweb.store.transcript.windows import Window
from jpweb.stream.events import ChatRequest, ChatResponse, Element, TurnStart
from jpweb.stream.inquiry import Answered, InquiryResponse
from jpweb.stream.outline import build_outline
from jpweb.stream.transcript.builder import TurnItem
from jpweb.stream.transcript.items import ToolCall
from tests.builders import make_call, make_inquiry, make_result
from tests.machine.sizes import choose_size
from tests.store import making
from tests.store.test_run_events import plan

pytestmark = pytest.mark.django_db

FAR = 10**9


def mirror_conversation(*kinds: Any) -> Conversation:
    """Return a mirrored conversation of these, in a workspace of its own."""
    return making.mirrored_conversation(making.workspace(), *kinds)


def make_long_conversation(turns: int) -> Conversation:
    kinds: list[Any] = []
    for n in range(turns):
        kinds += [
            TurnStart(), ChatRequest(f"Ask {n}"), make_call(f"c{n}"), make_call(f"d{n}"),
            make_inquiry(f"c{n}.q"), make_result(f"d{n}", is_error=n % 7 == 0),
            InquiryResponse(f"c{n}.q", Answered(True)), make_result(f"c{n}"),
            ChatResponse("reasoning", "Hm"), ChatResponse("message", f"Done {n}"),
        ]  # fmt: skip
    return mirror_conversation(*kinds)


def list_turn_items(conversation: Conversation) -> list[TurnItem]:
    elements: tuple[Element, ...] = journal.read_elements(conversation.pk)
    return [TurnItem(t.index, item) for t in build_outline(elements).turns for item in t.items]


def forward(conversation: Conversation, categories: windows.CategoryFilter = None) -> list[Window]:
    pages = [windows.load_first(conversation.pk, categories)]
    while pages[-1].has_later:
        pages.append(windows.load_after(conversation.pk, pages[-1].item_positions[-1], categories))
    return pages


def backward(conversation: Conversation, categories: windows.CategoryFilter = None) -> list[Window]:
    pages = [windows.load_last(conversation.pk, categories)]
    while pages[0].has_earlier:
        pages.insert(
            0, windows.load_before(conversation.pk, pages[0].item_positions[0], categories)
        )
    return pages


def items(pages: list[Window]) -> list[TurnItem]:
    return [item for window in pages for item in window.contents.items]


@pytest.mark.parametrize("through", [forward, backward])
@pytest.mark.parametrize("turns", [0, 1, 9, 40])
def test_windows_together_have_all_items_of_the_conversation(through: Any, turns: int):
    conversation = make_long_conversation(turns)
    pages = through(conversation)
    assert items(pages) == list_turn_items(conversation)
    assert len(pages) == max(-(-turns * 6 // windows.MAX_ITEMS), 1)
    assert [window.has_earlier for window in pages] == [False, *([True] * (len(pages) - 1))]
    assert [window.has_later for window in pages] == [*([True] * (len(pages) - 1)), False]


def test_a_window_around_a_permalink_has_its_item_in_the_middle():
    conversation = make_long_conversation(100)
    all_items = list_turn_items(conversation)
    for item in all_items[::37]:
        place = windows.get_position(conversation.pk, _anchor(item))
        window = windows.load_around(conversation.pk, place)
        assert item in window.contents.items
        at = window.contents.items.index(item)
        assert at == windows.MAX_ITEMS // 2 or not (window.has_earlier and window.has_later)
        assert len(window.contents.items) <= windows.MAX_ITEMS


def test_a_window_around_a_place_says_whether_there_is_more_on_either_side():
    conversation = make_long_conversation(20)
    all_items = list_turn_items(conversation)
    item_positions = [window.item_positions for window in forward(conversation)]
    first, last = item_positions[0][0], item_positions[-1][-1]
    for item in all_items:
        window = windows.load_around(
            conversation.pk, windows.get_position(conversation.pk, _anchor(item))
        )
        assert len(window.item_positions) == windows.MAX_ITEMS
        assert (window.has_earlier, window.has_later) == (
            window.item_positions[0] > first,
            window.item_positions[-1] < last,
        )


def _anchor(turn_item: TurnItem) -> str:
    item: Any = turn_item.item
    return (item.request if isinstance(item, ToolCall) else item.placed).anchor


def test_the_window_of_a_result_shows_its_call():
    conversation = make_long_conversation(1)
    anchors = build_outline(journal.read_elements(conversation.pk)).anchors
    place = windows.get_position(conversation.pk, anchors[7])
    window = windows.load_around(conversation.pk, place)
    calls = [
        turn_item.item
        for turn_item in window.contents.items
        if isinstance(turn_item.item, ToolCall)
    ]
    assert [call.first for call in calls] == [2, 3]


def test_permalink_of_a_missing_event_raises_unknown_event():
    with pytest.raises(UnknownAnchor):
        windows.get_position(make_long_conversation(1).pk, "e-none")


def test_window_around_an_unknown_position_is_empty():
    assert windows.load_around(make_long_conversation(1).pk, FAR) == Window()


@pytest.mark.parametrize("categories", [{"person"}, {"message", "reasoning"}, {"question"}])
def test_chosen_categories_show_the_items_that_they_are_part_of(categories: set[str]):
    conversation = make_long_conversation(60)
    rows = JournalEntry.objects.filter(conversation=conversation, category__in=categories)
    item_positions = sorted(set(rows.values_list("item_position", flat=True)))
    assert [
        item_position
        for window in forward(conversation, categories)
        for item_position in window.item_positions
    ] == item_positions
    assert [
        item_position
        for window in backward(conversation, categories)
        for item_position in window.item_positions
    ] == item_positions


def test_an_item_that_was_not_chosen_is_shown_where_a_link_leads_to_it():
    conversation = make_long_conversation(3)
    window = windows.load_around(conversation.pk, 1, {"message"})
    assert window.item_positions == [1, 9, 19, 29]


def test_counts_of_omitted_categories_add_up():
    conversation = make_long_conversation(3)
    counts = {"call": 3, "question": 3, "outcome": 3, "result": 3}
    assert windows.count_by_category(conversation.pk, {"question"}) == counts
    assert windows.count_by_category(conversation.pk, {"question", "person"}) == counts | {
        "person": 3
    }
    assert (
        windows.count_by_category(conversation.pk, set(conversation.category_counts))
        == conversation.category_counts
    )
    assert sum(conversation.category_counts.values()) == conversation.entry_count == 30


def test_heavy_items_make_a_short_window():
    conversation = mirror_conversation(
        TurnStart(), *(ChatRequest("x" * 200_000) for _ in range(30))
    )
    sizes = [len(window.item_positions) for window in forward(conversation)]
    assert set(sizes[:-1]) == {
        windows.MAX_WEIGHT_CHARS // 12_400,
        windows.MAX_WEIGHT_CHARS // 12_400 + 1,
    }
    assert sum(sizes) == 31


def test_call_with_endless_questions_is_read_at_its_start_and_result():
    questions = [make_inquiry(f"c.{n}") for n in range(1000)]
    conversation = mirror_conversation(
        TurnStart(), make_call("c"), *questions, make_result("c", "The end"), ChatRequest("Hi")
    )
    window = windows.load_after(conversation.pk, 0)
    call: Any = window.contents.items[0].item
    assert len(call.inquiries) == item_loader.MAX_ITEM_ELEMENTS - 2
    assert call.response.element.kind.content == "The end"
    assert window.contents.unread_counts == {1: 1002 - item_loader.MAX_ITEM_ELEMENTS}
    assert window.item_positions == [1]


def test_question_whose_outcome_is_left_out_still_counts_as_settled():
    requests = [make_inquiry(f"c.{n}") for n in range(item_loader.MAX_ITEM_ELEMENTS)]
    responses = [
        InquiryResponse(f"c.{n}", Answered(True)) for n in range(item_loader.MAX_ITEM_ELEMENTS)
    ]
    conversation = mirror_conversation(
        TurnStart(), make_call("c"), *requests, *responses, make_result("c")
    )
    window = windows.load_after(conversation.pk, 0)
    call: Any = window.contents.items[0].item
    assert {inquiry.state for inquiry in call.inquiries} == {"answered"}
    assert window.contents.unread_counts == {
        1: 2 * (item_loader.MAX_ITEM_ELEMENTS - len(call.inquiries))
    }


def test_window_has_the_question_of_a_calls_last_outcome_of_many():
    kinds: list[Any] = [TurnStart(), make_call("c")]
    for n in range(100):
        kinds += [make_inquiry(f"c.{n}"), InquiryResponse(f"c.{n}", Answered(True))]
    kinds[-1] = InquiryResponse("c.70", Answered(True))  # of a question that is not read
    kinds.remove(InquiryResponse("c.70", Answered(True)))
    conversation = mirror_conversation(*kinds)
    window = windows.load_after(conversation.pk, 0)
    (call,) = [row.item for row in window.contents.items]
    assert isinstance(call, ToolCall)
    last = call.inquiries[-1]
    assert (last.inquiry_request.id, last.state) == ("c.70", "answered")
    assert last.request.anchor in window.contents.question_ids
    assert len(call.elements) + window.contents.unread_counts[1] == conversation.entry_count - 1


@pytest.mark.parametrize("through", [forward, backward])
def test_window_beside_many_questions_shows_the_nearest_items(
    through: Any, monkeypatch: pytest.MonkeyPatch
):
    conversation = make_long_conversation(9)
    monkeypatch.setattr(item_loader, "_MAX_LOOKED_UP", 7)
    for nearest in (
        item_loader._ELEMENT_QUERIES
    ):  # the usual ones have had the usual limit since they were made
        compiled_query = CompiledQuery(partial(item_loader._load_element_rows, nearest))
        monkeypatch.setitem(item_loader._ELEMENT_QUERIES, nearest, compiled_query)
    assert items(through(conversation)) == list_turn_items(conversation)
    for place in range(conversation.entry_count):
        window = windows.load_around(conversation.pk, place)
        assert [
            turn_item.item.first for turn_item in window.contents.items
        ] == window.item_positions
        assert window.item_positions


def test_question_without_an_outcome_has_the_state_of_its_row():
    conversation = mirror_conversation(
        TurnStart(),
        make_call("c"),
        make_inquiry("c.q"),
        TurnStart(),
        make_call("d"),
        make_inquiry("d.q"),
    )
    states = [
        turn_item.item.inquiries[0].state
        for turn_item in windows.load_first(conversation.pk).contents.items
        if isinstance(turn_item.item, ToolCall)
    ]
    assert states == ["unanswered", "open"]


def test_question_is_unanswered_once_the_next_turn_begins():
    run = making.start_run(making.conversation(making.workspace()))
    making.question(run)
    states = []
    for _ in range(2):
        item = windows.load_items(run.conversation_id, [2]).items[0].item
        assert isinstance(item, ToolCall)
        states.append(item.inquiries[0].state)
        journal.append_events(run.conversation_id, [making.event(TurnStart())])
    assert states == ["open", "unanswered"]


@pytest.mark.parametrize(
    ("item_positions", "turns"),
    [([0], [0]), ([9], [0]), ([9, 10], [0, 1]), ([10], [1]), ([2, 20], [0, 1, 2])],
)
def test_the_turns_are_those_that_the_items_are_in(item_positions: list[int], turns: list[int]):
    turns_by_number = windows.load_items(make_long_conversation(3).pk, item_positions).turns
    assert list(turns_by_number) == turns
    assert [turn.position for turn in turns_by_number.values()] == [10 * number for number in turns]


def test_changed_items_are_those_that_new_entries_are_part_of():
    conversation = make_long_conversation(2)
    assert windows.find_changed_item_positions(conversation.pk, 17) == [12, 18, 19]
    assert windows.find_changed_item_positions(conversation.pk, 20) == []
    contents = windows.load_items(conversation.pk, [12, 18, 19])
    assert [turn_item.item.first for turn_item in contents.items] == [12, 18, 19]
    assert [turn_item.turn for turn_item in contents.items] == [1, 1, 1]


def test_changed_item_positions_beyond_a_window_are_none():
    conversation = mirror_conversation(
        *(ChatRequest(f"Ask {n}") for n in range(windows.MAX_ITEMS + 1))
    )
    assert windows.find_changed_item_positions(conversation.pk, 0) is None
    assert windows.find_changed_item_positions(conversation.pk, 1) == list(
        range(1, windows.MAX_ITEMS + 1)
    )


def test_changed_item_positions_beyond_the_scan_limit_are_none(monkeypatch: pytest.MonkeyPatch):
    """However few items it is part of: there may be others beyond."""
    monkeypatch.setattr(windows, "_MAX_CHANGED_ENTRIES", choose_size(50, 5_000))
    requests = [make_inquiry(f"c.{n}") for n in range(windows._MAX_CHANGED_ENTRIES)]
    conversation = mirror_conversation(TurnStart(), make_call("c"), *requests, ChatRequest("Hi"))
    beyond = conversation.entry_count - 1
    assert windows.find_changed_item_positions(conversation.pk, 1) is None
    assert windows.find_changed_item_positions(conversation.pk, 2) is None
    assert windows.find_changed_item_positions(conversation.pk, 3) == [1, beyond]


@pytest.mark.parametrize("categories", [None, {"message", "call"}])
def test_window_cost_does_not_grow_with_the_conversation(categories: windows.CategoryFilter):
    counts = []
    for turns in (20, 300):
        conversation = make_long_conversation(turns)
        middle = turns * 5
        with CaptureQueriesContext(connection) as captured:
            windows.load_first(conversation.pk, categories)
            windows.load_last(conversation.pk, categories)
            windows.load_after(conversation.pk, middle, categories)
            windows.load_before(conversation.pk, middle, categories)
            windows.load_around(conversation.pk, middle, categories)
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_event_times_are_read_from_the_events():
    conversation = mirror_conversation(
        TurnStart(), make_call("c"), make_call("d"), make_result("c"), make_result("d")
    )
    start = datetime(2026, 1, 2, 3, tzinfo=UTC)
    event_times = windows.get_event_times(conversation.pk, [-1, 0, 3, 5, FAR])
    assert event_times == {0: start, 3: start + timedelta(seconds=3)}
    end_times = [
        windows.get_end_time(conversation.pk, [item_position])
        for item_position in (-1, 0, 1, 2, 3, FAR)
    ]
    assert end_times == [None, start, event_times[3], start + timedelta(seconds=4), None, None]
    assert windows.get_end_time(conversation.pk, []) is None
    assert windows.get_end_time(conversation.pk, [0, 1]) == event_times[3]


def test_end_time_of_items_is_found_by_the_index_of_items():
    """That of positions would be walked from the end of the conversation back to them."""
    conversation = make_long_conversation(100)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE store_journalentry")  # its plans follow from statistics
    with CaptureQueriesContext(connection) as captured:
        windows.get_end_time(conversation.pk, range(windows.MAX_PREVIOUS_ITEMS))
    assert "journal_by_item" in plan(captured[0]["sql"])


def test_questions_of_a_window_are_found_by_the_index_of_their_positions():
    """That of anchors would be walked through all questions of the conversation."""
    conversation = make_long_conversation(100)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE store_inquiry")
    with CaptureQueriesContext(connection) as captured:
        windows.load_last(conversation.pk, None)
    queries = [row["sql"] for row in captured if 'FROM "store_inquiry"' in row["sql"]]
    assert ["questions_by_position" in plan(sql) for sql in queries] == [True]


def test_an_entry_is_named_by_its_anchor():
    conversation = mirror_conversation(TurnStart(), make_call("c"), make_result("c"))
    anchors = list(conversation.journal.order_by("position").values_list("anchor", flat=True))
    assert [navigation.get_anchor(conversation.pk, place) for place in (-1, 0, 2, 3)] == [
        "", anchors[0], anchors[2], "",
    ]  # fmt: skip
