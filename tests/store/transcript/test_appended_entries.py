"""What is appended is found where it would be found in the whole."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jpweb.store import journal, rebuild
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConfigDelta,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import Answered, InquiryResponse
from jpweb.stream.transcript.categories import categorize_element
from jpweb.stream.transcript.grouping import group_elements
from tests.builders import make_inquiry
from tests.machine.sizes import choose_size
from tests.store import making

pytestmark = pytest.mark.django_db

IDS = st.sampled_from(["a", "a.b", "ünsafe", "c"])
STEPS = st.lists(
    st.one_of(
        st.just(TurnStart()),
        st.just(ConfigDelta({})),
        st.builds(ChatRequest, st.text("ab \n", max_size=5)),
        st.builds(ChatResponse, st.sampled_from(["message", "reasoning"]), st.just("x")),
        st.builds(ToolCallRequest, IDS, st.sampled_from(["vault", "git"])),
        st.builds(ToolCallResponse, IDS, st.just("done"), st.booleans()),
        st.builds(make_inquiry, IDS.map(lambda call: f"{call}.q")),
        st.just("answer"),
    ),
    max_size=25,
)


def play_steps(steps: Any, notes: Any) -> Conversation:
    """Append the steps one at a time; an answer goes to the question that waits longest."""
    conversation: Conversation = making.conversation(making.workspace())
    open_ids: list[str] = []
    for step, note in zip(steps, notes, strict=False):
        event = making.event(step) if step != "answer" else None
        if event is not None and getattr(step, "TAG", "") == "inquiry_request":
            open_ids.append(step.id)
            if note is not None:
                event = making.event(step)
                event.metadata["jpweb"] = {"tool_call_id": note}
        elif event is None:
            if not open_ids:
                continue
            event = making.event(InquiryResponse(open_ids.pop(0), Answered(True)))
        elif isinstance(step, TurnStart):
            open_ids.clear()  # an answer after its turn belongs to nothing there
        journal.append_events(conversation.pk, [event])
    return Conversation.objects.get(pk=conversation.pk)


def rows(conversation: Conversation) -> Any:
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    turns = Turn.objects.filter(conversation=conversation).order_by("number")
    return (
        list(entries.values_list("item_position", "category")),
        list(turns.values_list("number", "position", "title")),
        (
            conversation.entry_count,
            conversation.turns,
            conversation.category_counts,
            conversation.derived_version,
        ),
    )


@settings(deadline=None, max_examples=choose_size(15, 60))
@given(STEPS, st.lists(st.none() | IDS, min_size=25, max_size=25))
@example([ChatRequest(""), ChatRequest("a")], [None] * 25)
def test_rows_that_grew_are_those_of_the_whole_stream(steps, notes):
    conversation = play_steps(steps, notes)
    elements = journal.read_elements(conversation.pk)
    grouping = group_elements(elements)
    categories = [categorize_element(element) for element in elements]
    turns = [(number, *turn) for number, turn in enumerate(grouping.turns)]
    counts = (len(elements), len(turns), dict(Counter(categories)), conversation.derived_version)
    assert rows(conversation) == (
        list(zip(grouping.item_positions, categories, strict=True)),
        turns,
        counts,
    )


@pytest.mark.parametrize("call", ["a", "a_b", "100 %", 'quoted"\n', "ü\\"])
def test_result_goes_to_the_first_call_without_one_for_any_id(call: str):
    response, other_call = ToolCallResponse(call, "done", False), ToolCallRequest("aXb 100", "git")
    request = ToolCallRequest(call, "git")
    conversation = play_steps(
        [
            TurnStart(),
            other_call,
            request,
            response,
            request,
            request,
            response,
            response,
            response,
        ],
        [None] * 9,
    )
    assert [item_position for item_position, _ in rows(conversation)[0]] == [
        0,
        1,
        2,
        2,
        4,
        5,
        4,
        5,
        8,
    ]


def test_rows_of_an_older_version_are_derived_again():
    conversation = play_steps(
        [TurnStart(), ChatRequest("Hi"), ToolCallRequest("a", "git")], [None] * 3
    )
    journal.append_events(conversation.pk, [making.event(ToolCallResponse("a", "done", False))])
    conversation.refresh_from_db()
    expected = rows(conversation)
    JournalEntry.objects.update(item_position=0, category="")
    Turn.objects.all().delete()
    Conversation.objects.update(
        derived_version=0, category_counts={}, needs_indexing=False, indexed_entry_count=4
    )
    progress: list[tuple[int, int]] = []
    assert rebuild.rebuild_all(lambda done, total: progress.append((done, total))) == 1
    conversation.refresh_from_db()
    assert rows(conversation) == expected
    assert (conversation.needs_indexing, conversation.indexed_entry_count) == (True, 0)
    assert progress == [(0, 1), (1, 1)]
    assert rebuild.rebuild_all(lambda *_: None) == 0
