"""Nothing is hidden: what is left out is counted, and leads there."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jpweb.store.models import Conversation
from jpweb.stream.transcript.categories import CATEGORY_GROUPS
from jpweb.web import event_filter
from jpweb.web.transcript import FILTER_GROUPS, MAX_FOLDS, TranscriptQuery, parse_groups
from tests.store.transcript.test_windows import make_long_conversation
from tests.web.transcript.test_windows import open_conversation, sign_in_reader

pytestmark = pytest.mark.django_db

_FOLDS = st.integers(0, 90).map(lambda number: f"e-{number}") | st.just("")


@pytest.mark.parametrize(
    "show", ["", "person", "questions", "tools", "person,assistant", "problems"]
)
def test_event_filter_shown_and_omitted_counts_add_up(show: str):
    conversation = make_long_conversation(15)
    account = event_filter.count_entries(conversation, TranscriptQuery.from_params({"show": show}))
    omitted_count = sum(
        kind.omitted_count for kind in account.groups if kind.name in CATEGORY_GROUPS
    )
    assert (
        account.shown_count + omitted_count + account.omitted_turn_marks == conversation.entry_count
    )
    assert (account.shown_count == conversation.entry_count) == (show == "")


def test_questions_come_with_the_whole_calls_that_ask_them():
    conversation = make_long_conversation(15)
    account = event_filter.count_entries(
        conversation, TranscriptQuery.from_params({"show": "questions"})
    )
    assert account.shown_count == 15 * 4
    assert {kind.name: kind.omitted_count for kind in account.omitted_groups} == {
        "person": 15, "assistant": 15, "reasoning": 15, "tools": 30,
    }  # fmt: skip
    assert account.omitted_turn_marks == 15


def test_event_filter_links_to_each_omitted_kind():
    conversation = make_long_conversation(15)
    page = open_conversation(sign_in_reader(conversation), conversation, "show=person,assistant")
    assert "Showing 30 of 150 events." in page.text
    links = {tag["href"] for tag in page if tag.inside(**{"class": "filter-summary"})}
    assert f"/conversations/{conversation.pk}?show=reasoning" in links


def test_the_summary_of_problems_says_how_many_its_events_hold():
    conversation = make_long_conversation(15)
    page = open_conversation(sign_in_reader(conversation), conversation, "show=problems")
    summary = " ".join(page.find_one(id="filter-summary").text.split())
    assert re.match(
        r"Showing \d+ of 150 events \(problems 3, with their whole tool calls\)\.", summary
    ), summary


def test_a_page_of_one_kind_shows_that_kind_alone():
    page = open_conversation(
        sign_in_reader(conversation := make_long_conversation(15)), conversation, "show=reasoning"
    )
    kind_names = [tag["data-kind"] for tag in page if "data-kind" in tag]
    assert kind_names == ["chat_response"] * 15


@given(st.text(max_size=40))
@settings(deadline=None)
def test_parse_groups_of_any_text_returns_known_groups(text: str):
    assert set(parse_groups(text)) <= set(FILTER_GROUPS)
    query = TranscriptQuery.from_params(
        {"show": text, "at": text, "after": text, "open": text, "q": text}
    )
    assert len(query.open_folds) <= MAX_FOLDS


@example([f"e-{n}" for n in range(70)], [f"e-{n}" for n in range(90, 20, -1)])
@given(st.lists(_FOLDS, max_size=70), st.lists(_FOLDS, max_size=70))
@settings(deadline=None)
def test_address_names_a_bounded_number_of_folds_as_open_or_closed(
    open_anchors: list[str], shut: list[str]
):
    query = TranscriptQuery.from_params({"open": ",".join(open_anchors), "shut": ",".join(shut)})
    assert query.closed_folds == set([anchor for anchor in shut if anchor][:MAX_FOLDS])
    assert (
        query.open_folds
        == set([anchor for anchor in open_anchors if anchor][:MAX_FOLDS]) - query.closed_folds
    )


def test_presets_say_how_many_there_are_and_the_empty_are_left_out():
    conversation = make_long_conversation(15)
    page = (
        open_conversation(sign_in_reader(conversation), conversation)
        .find_one(id="event-filter")
        .text
    )
    assert "Messages 30" in page
    assert "Questions 15" in page
    assert "Problems 3" in page
    Conversation.objects.update(category_counts={"person": 1, "message": 2})
    page = (
        open_conversation(sign_in_reader(conversation), conversation)
        .find_one(id="event-filter")
        .text
    )
    assert "Messages 3" in page
    assert "Problems" not in page
