"""The elements as they are on record."""

from __future__ import annotations

import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.builders import asked, called, element, raw, returned
from tests.web.views.transcript_modes.reading import anchors, held, opened, positions, way, words
from tests.web.world import World, signed_in


def texts(page: str) -> list[str]:
    """Return the elements that a page shows, as a file has them."""
    found = re.findall(
        r'<pre class="text code" tabindex="0" role="group"[^>]*>(.*?)</pre>', page, re.DOTALL
    )
    return [html.unescape(text).removeprefix("  ") for text in found]


def test_every_element_is_shown_as_it_came(world: World):
    talk = held(
        world, TurnStart(), ChatRequest("Hi"), called("c", path="a.py"), returned("c", "Wet."),
        raw({"type": "weather", "sky": "clear"}), raw({"type": "chat_request"}), raw(None),
    )  # fmt: skip
    kept = list(talk.journal.order_by("position").values_list("text", flat=True))
    assert texts(opened(world, talk, "raw")) == kept


def test_each_leads_to_its_place_in_the_transcript(world: World):
    talk = held(world, TurnStart(), ChatRequest("Hi"))
    page = opened(world, talk, "raw")
    for anchor in anchors(talk):
        assert f'id="{anchor}"' in page
        assert f'href="/conversations/{talk.pk}?at={anchor}#{anchor}"' in page


def test_what_is_wrapped_in_base64_is_shown_decoded_beside_it(world: World):
    talk = held(world, ChatRequest("Hi"), called("c", path="beds.py"), returned("c", "Wet soil."))
    page = opened(world, talk, "raw")
    assert page.count("<summary>Decoded: ") == 2
    assert "<summary>Decoded: arguments</summary>" in page
    assert "<summary>Decoded: content</summary>" in page
    assert "Stored as base64." in page
    assert "Wet soil." in words(page)
    assert "“path”: “beds.py”".replace("“", '"').replace("”", '"') in words(page)


def test_what_cannot_be_made_out_is_called_so(world: World):
    talk = held(world, raw({"type": "weather"}), raw({"type": "chat_request"}))
    page = words(opened(world, talk, "raw"))
    assert "weather Unknown type" in page
    assert "chat_request Unreadable" in page


def test_an_element_that_is_too_long_is_cut_and_says_how_long_it_is(world: World):
    long = element(ChatResponse("message", "a" * 9_000))
    talk = held(world, long)
    page = opened(world, talk, "raw")
    assert texts(page) == [long.raw[:4000]]
    assert f"First 4000 of {len(long.raw)} characters." in words(page)
    (anchor,) = anchors(talk)
    assert f'href="/conversations/{talk.pk}/events/{anchor}/raw.txt"' in page


def test_pages_lead_on_and_back_over_all_elements(world: World):
    talk = held(world, *[ChatRequest(f"Say {n}") for n in range(130)])
    on, page = [], opened(world, talk, "raw")
    assert way(page, "prev") == ""
    while True:
        on += positions(page)
        if not (there := way(page, "next")):
            break
        page = opened(world, talk, "raw", there)
    assert on == list(range(130))
    back = positions(page)
    while there := way(page, "prev"):
        page = opened(world, talk, "raw", there)
        back = positions(page) + back
    assert back == on


@pytest.mark.parametrize("query", ["?from=x", "?from=-1", "?from=9" + "9" * 30, "?before=²"])
def test_an_address_that_says_no_position_shows_the_beginning(world: World, query: str):
    talk = held(world, TurnStart(), ChatRequest("Hi"))
    assert positions(opened(world, talk, "raw", query)) == [0, 1]


def test_a_position_past_the_end_leads_back(world: World):
    talk = held(world, TurnStart(), ChatRequest("Hi"))
    page = opened(world, talk, "raw", "?from=7")
    assert "No event 7: this conversation has 2" in words(page)
    assert "?before=2" in page


def test_nothing_said_is_said(world: World):
    assert "No events yet." in opened(world, held(world), "raw")


def test_a_redacted_outcome_shows_no_secret(world: World):
    talk = held(world, called("c"), asked("c.q"), InquiryResponse("c.q", Redacted()))
    page = words(opened(world, talk, "raw"))
    assert '"outcome": "redacted", "id": "c.q" }' in page


def test_hostile_text_stays_text(world: World):
    bad = "<script>alert(1)</script>\u202e</pre><b>"
    talk = held(world, ChatRequest(bad), returned("c", bad), raw({"type": bad}))
    for view in ("raw", "thread", "compacted"):
        page = opened(world, talk, view)
        assert "<script>alert" not in page
        assert "\u202e" not in words(page)
        assert "<b>" not in page


def test_its_queries_are_few_whatever_the_length(world: World):
    counted = []
    for length in (3, 200):
        talk = held(world, *[ChatRequest(f"Say {n}") for n in range(length)])
        client = signed_in(world.people["reader"])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/conversations/{talk.pk}/raw")
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 9
