"""What the model saw, beside what happened."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.stream.events import ChatRequest, ChatResponse, Compaction, ConfigDelta, TurnStart
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.builders import answered, asked, called, raw, returned
from tests.web.views.transcript_modes.reading import held, opened, way, words
from tests.web.views.transcript_modes.test_compacted import STRIP, summary, turns
from tests.web.world import World, signed_in


def sides(page: str) -> tuple[str, str]:
    """Return what was sent and what happened, in words."""
    sent = page.index('aria-labelledby="sent-title"')
    happened = page.index('aria-labelledby="items-title"')
    return words(f"<main {page[sent:happened]}"), words(f"<main {page[happened:]}")


def test_questions_are_on_the_side_of_what_happened_alone(world: World):
    talk = held(
        world, TurnStart(), ChatRequest("Water them"), called("c", path="a.py"),
        asked("c.q", "With cold water?"), answered("c.q"),
        asked("c.p", "The tap's code?"), InquiryResponse("c.p", Redacted()),
        returned("c", "Watered."), ConfigDelta({"b": 2}), raw({"type": "weather"}),
        ChatResponse("message", "Done."),
    )  # fmt: skip
    page = opened(world, talk, "thread")
    sent, happened = sides(page)
    for text in ("Water them", "a.py", "Watered.", "Done."):
        assert text in sent
        assert text in happened
    for text in ("With cold water?", "The tap's code?"):
        assert text not in sent
        assert text in happened
    said = words(page)
    assert "Not sent: 2 questions with their outcomes." in said
    assert "Not sent: 1 configuration change." in said
    assert "Not sent: 1 event of an unknown type." in said


def test_messages_have_their_roles_in_order_and_requests_stand_between(world: World):
    talk = held(world, *turns(1))
    page = opened(world, talk, "thread")
    roles = [part.split('"')[0] for part in page.split('class="sent-message" data-role="')[1:]]
    assert roles == ["user", "assistant", "assistant", "tool", "assistant"]
    assert re.findall(r"Model request (\d)", page) == ["1", "2"]


def test_where_all_is_sent_the_page_says_so(world: World):
    talk = held(world, TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello"))
    assert "None: everything was sent." in words(opened(world, talk, "thread"))


def test_a_call_without_a_result_is_told_of_as_the_model_is(world: World):
    talk = held(world, TurnStart(), ChatRequest("Hi"), called("c"))
    page = opened(world, talk, "thread")
    sent, happened = sides(page)
    assert "Tool result not stored Tool call was interrupted." in sent
    assert "interrupted" not in happened
    assert "1 call has no stored result; the model receives" in words(page)


def test_each_turn_has_its_page_the_last_unless_asked(world: World):
    talk = held(world, *turns(3))
    page = opened(world, talk, "thread")
    assert "Turn 3 of 3" in words(page)
    assert "Say 2" in words(page)
    assert "includes 2 earlier turns (16 events" in words(page)
    assert (way(page, "prev"), way(page, "next")) == ("?turn=1", "")
    first = opened(world, talk, "thread", "?turn=0")
    assert "Say 0" in words(first)
    assert "earlier turn" not in first
    assert (way(first, "prev"), way(first, "next")) == ("", "?turn=1")


def test_a_turn_that_is_none_is_missing(world: World):
    talk = held(world, *turns(1))
    client = signed_in(world.people["reader"])
    assert client.get(f"/conversations/{talk.pk}/thread?turn=1").status_code == 404


def test_nothing_said_is_said(world: World):
    assert "No turns yet." in opened(world, held(world), "thread")


def test_compactions_from_before_a_turn_are_named_and_later_ones_told_of(world: World):
    talk = held(
        world, *turns(2), summary(0, 0), *turns(1, 2), Compaction(1, 1, {"tool_calls": STRIP})
    )
    third = words(opened(world, talk, "thread", "?turn=2"))
    assert "Compactions at that time Turn 1 : replaced by a summary" in third
    assert "A later compaction" not in third
    second = opened(world, talk, "thread", "?turn=1")
    assert "Compactions at that time" not in second
    assert "A later compaction shortens this turn" in words(second)
    assert f'href="/conversations/{talk.pk}/compacted?from=8"' in second
    assert "bed1.py" in sides(second)[0]


def test_a_compaction_that_reaches_into_a_later_turn_shortens_what_is_sent_of_it(world: World):
    talk = held(world, *turns(1), Compaction(0, 9, {"tool_calls": STRIP}), *turns(1, 1))
    page = opened(world, talk, "thread", "?turn=1")
    sent, happened = sides(page)
    assert "bed1.py" not in sent
    assert "[compacted] fs_modify_file: success" in sent
    assert "bed1.py" in happened
    assert "affects this turn: tool call arguments omitted" in words(page)
    assert "Next model request" in sent, "compaction may hide a request: none has a number"


def test_a_long_message_is_cut_with_its_size_and_the_way_to_the_rest(world: World):
    talk = held(world, TurnStart(), ChatRequest("a" * 5000))
    sent, happened = sides(opened(world, talk, "thread"))
    assert "Truncated here (total: 5000 characters); sent in full." in sent
    assert ("a" * 1500 in sent, "a" * 1501 in sent, "a" * 5000 in happened) == (True, False, True)


def test_a_long_turn_is_shown_in_parts_that_are_all_of_it(world: World):
    kinds: list[Any] = [TurnStart()]
    kinds += [ChatResponse("message", f"Word {n} is said.") for n in range(120)]
    talk = held(world, *kinds, *turns(1, 5))
    page, said, count = opened(world, talk, "thread", "?turn=0"), "", 0
    assert "Part of a long turn" in page
    while True:
        said, count = f"{said} {sides(page)[0]}", count + 1
        on = page.rpartition('<a rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
        if "from=" not in on:
            break
        page = opened(world, talk, "thread", on)
        assert "The beginning of this turn was sent earlier." in page
    assert count == 3
    assert [said.count(f"Word {n} is said.") for n in range(120)] == [1] * 120
    assert "Ask 5" not in said


@pytest.mark.parametrize("query", ["", "?turn=3"])
def test_its_queries_do_not_grow_with_the_conversation(world: World, query: str):
    counted = []
    for length in (6, 60):
        talk = held(world, *turns(length), summary(0, 1))
        client = signed_in(world.people["reader"])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/conversations/{talk.pk}/thread{query}")
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 17
