"""What the model saw, beside what happened."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.stream.events import ChatRequest, ChatResponse, Compaction, ConfigDelta, TurnStart
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.builders import make_answer, make_call, make_inquiry, make_result, raw
from tests.web.views.transcript_modes.reading import (
    find_link,
    get_words,
    mirror_conversation,
    open_view,
)
from tests.web.views.transcript_modes.test_compacted import STRIP, make_summary, make_turns
from tests.web.world import World, signed_in


def sides(page: str) -> tuple[str, str]:
    """Return what was sent and what happened, in words."""
    sent_start = page.index('aria-labelledby="sent-title"')
    happened_start = page.index('aria-labelledby="items-title"')
    return get_words(f"<main {page[sent_start:happened_start]}"), get_words(
        f"<main {page[happened_start:]}"
    )


def test_model_view_shows_questions_beside_the_sent_messages_only(world: World):
    conversation = mirror_conversation(
        world, TurnStart(), ChatRequest("Water them"), make_call("c", path="a.py"),
        make_inquiry("c.q", "With cold water?"), make_answer("c.q"),
        make_inquiry("c.p", "The tap's code?"), InquiryResponse("c.p", Redacted()),
        make_result("c", "Watered."), ConfigDelta({"b": 2}), raw({"type": "weather"}),
        ChatResponse("message", "Done."),
    )  # fmt: skip
    page = open_view(world, conversation, "thread")
    sent_text, happened_text = sides(page)
    for text in ("Water them", "a.py", "Watered.", "Done."):
        assert text in sent_text
        assert text in happened_text
    for text in ("With cold water?", "The tap's code?"):
        assert text not in sent_text
        assert text in happened_text
    page_text = get_words(page)
    assert "Not sent: 2 questions with their outcomes." in page_text
    assert "Not sent: 1 configuration change." in page_text
    assert "Not sent: 1 event of an unknown type." in page_text


def test_model_view_shows_message_roles_and_model_requests_in_order(world: World):
    conversation = mirror_conversation(world, *make_turns(1))
    page = open_view(world, conversation, "thread")
    roles = [part.split('"')[0] for part in page.split('class="sent-message" data-role="')[1:]]
    assert roles == ["user", "assistant", "assistant", "tool", "assistant"]
    assert re.findall(r"Model request (\d)", page) == ["1", "2"]


def test_model_view_states_when_everything_was_sent(world: World):
    conversation = mirror_conversation(
        world, TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")
    )
    assert "None: everything was sent." in get_words(open_view(world, conversation, "thread"))


def test_model_view_shows_the_substitute_result_of_an_interrupted_call(world: World):
    conversation = mirror_conversation(world, TurnStart(), ChatRequest("Hi"), make_call("c"))
    page = open_view(world, conversation, "thread")
    sent_text, happened_text = sides(page)
    assert "Tool result not stored Tool call was interrupted." in sent_text
    assert "interrupted" not in happened_text
    assert "1 call has no stored result; the model receives" in get_words(page)


def test_model_view_shows_the_last_turn_by_default(world: World):
    conversation = mirror_conversation(world, *make_turns(3))
    page = open_view(world, conversation, "thread")
    assert "Turn 3 of 3" in get_words(page)
    assert "Say 2" in get_words(page)
    assert "includes 2 earlier turns (16 events" in get_words(page)
    assert (find_link(page, "prev"), find_link(page, "next")) == ("?turn=1", "")
    first = open_view(world, conversation, "thread", "?turn=0")
    assert "Say 0" in get_words(first)
    assert "earlier turn" not in first
    assert (find_link(first, "prev"), find_link(first, "next")) == ("", "?turn=1")


def test_a_turn_that_is_none_is_missing(world: World):
    conversation = mirror_conversation(world, *make_turns(1))
    client = signed_in(world.people["reader"])
    assert client.get(f"/conversations/{conversation.pk}/thread?turn=1").status_code == 404


def test_thread_view_of_an_empty_conversation_says_so(world: World):
    assert "No turns yet." in open_view(world, mirror_conversation(world), "thread")


def test_model_view_names_compactions_before_and_after_a_turn(world: World):
    conversation = mirror_conversation(
        world,
        *make_turns(2),
        make_summary(0, 0),
        *make_turns(1, 2),
        Compaction(1, 1, {"tool_calls": STRIP}),
    )
    third = get_words(open_view(world, conversation, "thread", "?turn=2"))
    assert "Compactions at that time Turn 1 : replaced by a summary" in third
    assert "A later compaction" not in third
    second = open_view(world, conversation, "thread", "?turn=1")
    assert "Compactions at that time" not in second
    assert "A later compaction shortens this turn" in get_words(second)
    assert f'href="/conversations/{conversation.pk}/compacted?from=8"' in second
    assert "bed1.py" in sides(second)[0]


def test_model_view_applies_a_compaction_to_later_turns(world: World):
    conversation = mirror_conversation(
        world, *make_turns(1), Compaction(0, 9, {"tool_calls": STRIP}), *make_turns(1, 1)
    )
    page = open_view(world, conversation, "thread", "?turn=1")
    sent_text, happened_text = sides(page)
    assert "bed1.py" not in sent_text
    assert "[compacted] fs_modify_file: success" in sent_text
    assert "bed1.py" in happened_text
    assert "affects this turn: tool call arguments omitted" in get_words(page)
    assert "Next model request" in sent_text, "compaction may hide a request: none has a number"


def test_model_view_truncates_a_long_message_with_size_and_link(world: World):
    conversation = mirror_conversation(world, TurnStart(), ChatRequest("a" * 5000))
    sent_text, happened_text = sides(open_view(world, conversation, "thread"))
    assert "Truncated here (total: 5,000 characters); sent in full." in sent_text
    assert ("a" * 1500 in sent_text, "a" * 1501 in sent_text, "a" * 5000 in happened_text) == (
        True,
        False,
        True,
    )


def test_a_long_turn_is_shown_in_parts_that_are_all_of_it(world: World):
    kinds: list[Any] = [TurnStart()]
    kinds += [ChatResponse("message", f"Word {n} is said.") for n in range(120)]
    conversation = mirror_conversation(world, *kinds, *make_turns(1, 5))
    page, text, count = open_view(world, conversation, "thread", "?turn=0"), "", 0
    assert "Part of a long turn" in page
    while True:
        text, count = f"{text} {sides(page)[0]}", count + 1
        next_query = (
            page.rpartition('<a rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
        )
        if "from=" not in next_query:
            break
        page = open_view(world, conversation, "thread", next_query)
        assert "The beginning of this turn was sent earlier." in page
    assert count == 3
    assert [text.count(f"Word {n} is said.") for n in range(120)] == [1] * 120
    assert "Ask 5" not in text


@pytest.mark.parametrize("query", ["", "?turn=3"])
def test_model_view_queries_do_not_grow_with_the_conversation(world: World, query: str):
    counts = []
    for length in (6, 60):
        conversation = mirror_conversation(world, *make_turns(length), make_summary(0, 1))
        client = signed_in(world.people["reader"])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/conversations/{conversation.pk}/thread{query}")
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 19
