"""The elements as they are on record."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.builders import make_call, make_element, make_inquiry, make_result, raw
from tests.web.views.transcript_modes.reading import (
    find_link,
    get_words,
    list_anchors,
    list_positions,
    mirror_conversation,
    open_view,
)
from tests.web.world import World, signed_in


def texts(page: str) -> list[str]:
    """Return the elements that a page shows, as a file has them."""
    matches = re.findall(
        r'<pre class="text code" tabindex="0" role="group"[^>]*>(.*?)</pre>', page, re.DOTALL
    )
    return [html.unescape(text).removeprefix("  ") for text in matches]


def test_raw_view_shows_elements_as_stored(world: World):
    conversation = mirror_conversation(
        world, TurnStart(), ChatRequest("Hi"),
        make_call("c", path="a.py"), make_result("c", "Wet."),
        raw({"type": "weather", "sky": "clear"}), raw({"type": "chat_request"}), raw(None),
    )  # fmt: skip
    entry_texts = list(conversation.journal.order_by("position").values_list("text", flat=True))
    assert texts(open_view(world, conversation, "raw")) == entry_texts


def test_raw_view_links_elements_to_the_transcript(world: World):
    conversation = mirror_conversation(world, TurnStart(), ChatRequest("Hi"))
    page = open_view(world, conversation, "raw")
    for anchor in list_anchors(conversation):
        assert f'id="{anchor}"' in page
        assert f'href="/conversations/{conversation.pk}?at={anchor}#{anchor}"' in page


def test_raw_view_shows_base64_fields_decoded(world: World):
    conversation = mirror_conversation(
        world, ChatRequest("Hi"), make_call("c", path="beds.py"), make_result("c", "Wet soil.")
    )
    page = open_view(world, conversation, "raw")
    assert page.count("<summary>Decoded: ") == 2
    assert "<summary>Decoded: arguments</summary>" in page
    assert "<summary>Decoded: content</summary>" in page
    assert "Stored as base64." in page
    assert "Wet soil." in get_words(page)
    assert "“path”: “beds.py”".replace("“", '"').replace("”", '"') in get_words(page)


def test_raw_view_labels_unknown_and_unreadable_elements(world: World):
    conversation = mirror_conversation(
        world, raw({"type": "weather"}), raw({"type": "chat_request"})
    )
    page = get_words(open_view(world, conversation, "raw"))
    assert "weather Unknown type" in page
    assert "chat_request Unreadable" in page


def test_an_element_that_is_too_long_is_cut_and_says_how_long_it_is(world: World):
    long = make_element(ChatResponse("message", "a" * 9_000))
    conversation = mirror_conversation(world, long)
    page = open_view(world, conversation, "raw")
    assert texts(page) == [long.raw[:4000]]
    assert f"First 4,000 of {len(long.raw):,} characters." in get_words(page)
    (anchor,) = list_anchors(conversation)
    assert f'href="/conversations/{conversation.pk}/events/{anchor}/raw.txt"' in page


def test_pages_lead_on_and_back_over_all_elements(world: World):
    conversation = mirror_conversation(world, *[ChatRequest(f"Say {n}") for n in range(130)])
    forward_positions, page = [], open_view(world, conversation, "raw")
    assert find_link(page, "prev") == ""
    while True:
        forward_positions += list_positions(page)
        if not (query := find_link(page, "next")):
            break
        page = open_view(world, conversation, "raw", query)
    assert forward_positions == list(range(130))
    backward_positions = list_positions(page)
    while query := find_link(page, "prev"):
        page = open_view(world, conversation, "raw", query)
        backward_positions = list_positions(page) + backward_positions
    assert backward_positions == forward_positions


@pytest.mark.parametrize("query", ["?from=x", "?from=-1", "?from=9" + "9" * 30, "?before=²"])
def test_an_address_that_says_no_position_shows_the_beginning(world: World, query: str):
    conversation = mirror_conversation(world, TurnStart(), ChatRequest("Hi"))
    assert list_positions(open_view(world, conversation, "raw", query)) == [0, 1]


def test_a_position_past_the_end_leads_back(world: World):
    conversation = mirror_conversation(world, TurnStart(), ChatRequest("Hi"))
    page = open_view(world, conversation, "raw", "?from=7")
    assert "No event 7: this conversation has 2" in get_words(page)
    assert "?before=2" in page


def test_raw_view_of_an_empty_conversation_says_so(world: World):
    assert "No events yet." in open_view(world, mirror_conversation(world), "raw")


def test_a_redacted_outcome_shows_no_secret(world: World):
    conversation = mirror_conversation(
        world, make_call("c"), make_inquiry("c.q"), InquiryResponse("c.q", Redacted())
    )
    page = get_words(open_view(world, conversation, "raw"))
    assert '"outcome": "redacted", "id": "c.q" }' in page


def test_hostile_text_stays_text(world: World):
    bad = "<script>alert(1)</script>\u202e</pre><b>"
    conversation = mirror_conversation(
        world, ChatRequest(bad), make_result("c", bad), raw({"type": bad})
    )
    for view in ("raw", "thread", "compacted"):
        page = open_view(world, conversation, view)
        assert "<script>alert" not in page
        assert "\u202e" not in get_words(page)
        assert "<b>" not in page


def test_raw_view_queries_do_not_grow_with_the_conversation(world: World):
    counts = []
    for length in (3, 200):
        conversation = mirror_conversation(world, *[ChatRequest(f"Say {n}") for n in range(length)])
        client = signed_in(world.people["reader"])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/conversations/{conversation.pk}/raw")
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 9
