"""What compaction leaves of a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.transcript import raw_entries
from jpweb.stream.events import ChatRequest, ChatResponse, Compaction, ConfigDelta, TurnStart
from jpweb.web.views.transcript_modes import compaction_list
from tests.builders import make_answer, make_call, make_inquiry, make_result
from tests.web.views.transcript_modes.reading import (
    find_link,
    get_words,
    list_anchors,
    mirror_conversation,
    open_view,
)
from tests.web.world import World, signed_in

STRIP = {"policy": "strip", "request": True, "response": True}


def make_turns(count: int, first: int = 0) -> list[Any]:
    """Turns of request, thought, call with a question, result and reply: eight events each."""
    return [
        kind
        for n in range(first, first + count)
        for kind in (
            *(TurnStart(), ChatRequest(f"Ask {n}"), ChatResponse("reasoning", f"Think {n}")),
            *(
                make_call(f"c{n}", path=f"bed{n}.py"),
                make_inquiry(f"c{n}.q"),
                make_answer(f"c{n}.q"),
            ),
            *(make_result(f"c{n}", f"got {n}"), ChatResponse("message", f"Say {n}")),
        )
    ]


def make_summary(first: int, last: int, text: str = "All was watered.") -> Compaction:
    return Compaction(first, last, {"summary": {"summary": text}})


def test_compacted_view_without_compaction_links_to_the_transcript(world: World):
    conversation = mirror_conversation(world, *make_turns(1))
    page = open_view(world, conversation, "compacted")
    assert "Not compacted." in get_words(page)
    assert f'<a href="/conversations/{conversation.pk}">Back to the transcript</a>' in page
    assert "Ask 0" not in page


def test_compacted_view_shows_a_summary_with_links_to_its_turns(world: World):
    conversation = mirror_conversation(
        world, *make_turns(3), ConfigDelta({"a": 1}), make_summary(0, 1), *make_turns(1, 3)
    )
    page = open_view(world, conversation, "compacted")
    text = get_words(page)
    assert "Turns 1 to 2 : replaced by a summary" in text
    assert "Summary of turns 1 to 2" in text
    assert "instead of 16 events" in text
    assert "All was watered." in text
    assert f'href="/conversations/{conversation.pk}?turn=0#turn-0"' in page
    assert "Ask 1" not in text
    assert "Ask 2" in text
    assert "Ask 3" in text


def test_compacted_view_counts_events_kept_within_a_summary(world: World):
    conversation = mirror_conversation(
        world, *make_turns(1), ConfigDelta({"a": 1}), *make_turns(1, 1), make_summary(0, 0)
    )
    text = get_words(open_view(world, conversation, "compacted"))
    assert "Summary of turn 1" in text
    assert "instead of 8 events" in text
    assert "1 event of these turns, such as configuration changes, remains." in text


def test_compacted_view_counts_and_links_omitted_events(world: World):
    kinds = make_turns(2)
    policies = {"reasoning": "strip", "tool_calls": {"policy": "omit"}}
    conversation = mirror_conversation(world, *kinds, Compaction(0, 0, policies))
    page = open_view(world, conversation, "compacted")
    text = get_words(page)
    assert "Turn 1 reasoning omitted, tool calls omitted" in text
    assert (
        "Omitted: 1 reasoning block, 1 tool call, 1 question with its outcome. "
        "Show in transcript" in text
    )
    anchor = list_anchors(conversation)[2]
    assert f'href="/conversations/{conversation.pk}?at={anchor}#{anchor}"' in page
    assert "Think 0" not in text
    assert "bed0.py" not in text
    assert "Think 1" in text
    assert "bed1.py" in text


def test_a_shortened_call_says_so_and_leads_to_all_of_it(world: World):
    conversation = mirror_conversation(
        world, *make_turns(1), Compaction(0, 0, {"tool_calls": STRIP})
    )
    page = open_view(world, conversation, "compacted")
    call = list_anchors(conversation)[3]
    assert "[compacted] fs_modify_file: success" in get_words(page)
    assert "bed0.py" not in page
    assert "got 0" not in page
    assert f'Compacted. <a href="/conversations/{conversation.pk}?at={call}#{call}">' in page
    assert page.count("Compacted.") == 1


def test_a_call_that_another_view_showed_whole_is_shortened(world: World):
    conversation = mirror_conversation(
        world, *make_turns(1), Compaction(0, 0, {"tool_calls": STRIP})
    )
    assert "got 0" in open_view(world, conversation, "thread")
    assert "got 0" not in open_view(world, conversation, "compacted")


@pytest.mark.parametrize(("begin", "rel"), [("", "next"), ("?from=300", "prev")])
def test_compacted_view_pages_cover_remaining_items_once(world: World, begin: str, rel: str):
    conversation = mirror_conversation(
        world,
        *make_turns(40),
        make_summary(10, 19, "Ten to nineteen."),
        make_summary(25, 29, "Later."),
    )
    page, text, count = open_view(world, conversation, "compacted", begin), "", 0
    while True:
        text, count = f"{text} {get_words(page)}", count + 1
        if not (next_query := find_link(page, rel)):
            break
        page = open_view(world, conversation, "compacted", next_query)
    assert count > 2
    for n in range(40):
        is_left = not (10 <= n <= 19 or 25 <= n <= 29)
        assert text.count(f"Say {n} ") == is_left, n
    assert text.count("Ten to nineteen.") == text.count("Later.") == 1
    assert find_link(page, "next" if rel == "prev" else "prev")


def test_a_position_inside_a_summary_shows_that_summary(world: World):
    conversation = mirror_conversation(world, *make_turns(20), make_summary(10, 18))
    page = open_view(world, conversation, "compacted", "?from=145")
    assert "Summary of turns 11 to 19" in get_words(page)
    assert "Ask 9" not in page
    assert find_link(page, "prev") == f"?from={10 * 8 - 50}&to={10 * 8}"


def test_a_position_past_the_end_says_so(world: World):
    conversation = mirror_conversation(world, *make_turns(1), make_summary(0, 0))
    assert "End of conversation." in open_view(world, conversation, "compacted", "?from=99")


def test_compacted_view_reports_more_compactions_than_its_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(raw_entries, "MAX_OVERLAYS", 3)
    conversation = mirror_conversation(
        world, *make_turns(1), *[make_summary(0, 0) for _ in range(4)]
    )
    assert "has more than 3 compactions" in get_words(open_view(world, conversation, "compacted"))


def test_the_newest_compactions_are_listed_and_the_others_counted(world: World):
    listed = compaction_list.MAX_COMPACTIONS
    conversation = mirror_conversation(
        world, *make_turns(1), *[make_summary(n, n) for n in range(listed + 2)]
    )
    text = get_words(open_view(world, conversation, "compacted"))
    assert f"Turn {listed + 2} : replaced by a summary" in text
    assert "Turn 2 : replaced by a summary" not in text
    assert "… 2 older" in text


def test_compacted_view_queries_do_not_grow_with_the_conversation(world: World):
    counts = []
    for length in (12, 90):
        conversation = mirror_conversation(
            world, *make_turns(length), make_summary(0, 1), Compaction(2, 90, {"tool_calls": STRIP})
        )
        client = signed_in(world.people["reader"])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/conversations/{conversation.pk}/compacted")
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 22
