"""No view of a conversation is heavy, whatever it holds."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.safestring import SafeString

from jpweb.stream.events import ChatRequest, ChatResponse, Compaction, TurnStart
from jpweb.web.views.transcript_modes import page_budget
from tests.builders import make_answer, make_call, make_inquiry, make_result
from tests.load import synthetic
from tests.machine.sizes import mark_proof
from tests.web.views.transcript_modes.reading import (
    find_link,
    get_words,
    mirror_conversation,
    open_view,
)
from tests.web.world import World

MOST = 300_000
#: One character that a page spells with twelve bytes, one that it spells with six.
WIDE, QUOTE = "\u202e", '"'
COMPACTION = Compaction(0, 0, {"reasoning": "strip"})


def questions(count: int, text: str) -> list[Any]:
    """Return a call with so many questions."""
    inquiries = [
        part for n in range(count) for part in (make_inquiry(f"c.{n}", text), make_answer(f"c.{n}"))
    ]
    return [TurnStart(), ChatRequest("Hi"), make_call("c"), *inquiries, make_result("c")]


HEAVY: dict[str, list[Any]] = {
    "wide": [ChatRequest(WIDE * 12_000) for _ in range(60)],
    "quotes": [make_call(f"c{n}", text=QUOTE * 9_000) for n in range(60)],
    "results": [make_call("c"), *(make_result("c", QUOTE * 9_000) for _ in range(60))],
    "prose": [ChatResponse("message", "- a\n" * 4000) for _ in range(60)],
    "questions": questions(55, WIDE * 9_000),
    "summaries": [
        *(part for n in range(9) for part in (TurnStart(), ChatRequest(str(n)))),
        *(Compaction(n, n, {"summary": {"summary": WIDE * 12_000}}) for n in range(9)),
    ],
}  # fmt: skip


#: Each view shows what is heavy to it; under proof all show all.
OWN = [
    *(("wide", "thread"), ("questions", "thread"), ("summaries", "thread")),
    *(("results", "raw"), ("questions", "compacted"), ("summaries", "compacted")),
]
OTHERS = [
    (name, view)
    for name in HEAVY
    for view in ("thread", "raw", "compacted")
    if (name, view) not in OWN
]


@pytest.mark.parametrize(("name", "view"), [*OWN, *mark_proof(*OTHERS)])
def test_view_pages_stay_below_the_size_limit_and_link_to_the_next(
    world: World, name: str, view: str
):
    conversation = mirror_conversation(world, *HEAVY[name], COMPACTION)
    page, pages = open_view(world, conversation, view), 1
    while page and pages < 5:
        assert len(page.encode()) < MOST
        next_query = find_link(page, "next")
        page = open_view(world, conversation, view, next_query) if next_query else ""
        pages += 1


@pytest.mark.parametrize("view", ["thread", *mark_proof("compacted")])
def test_view_pages_link_to_content_too_large_for_a_page(world: World, view: str):
    conversation = mirror_conversation(
        world, *questions(50, WIDE * 9_000), ChatResponse("message", "After it."), COMPACTION
    )
    page, text = open_view(world, conversation, view), ""
    while page:
        text += get_words(page)
        next_query = page.rpartition('<a rel="next" href="')[2].partition('"')[0]
        page = (
            open_view(world, conversation, view, next_query.replace("&amp;", "&"))
            if "from=" in next_query
            else ""
        )
    assert text.count("Too large for this page.") == 1
    assert "After it." in text


FAR_IN = [("raw", "?from=1500"), ("thread", "?turn=100"), *mark_proof(("compacted", "?from=1500"))]


@pytest.mark.parametrize(("view", "far_query"), FAR_IN)
def test_a_conversation_of_every_kind_is_shown_at_both_ends(
    world: World, view: str, far_query: str
):
    conversation = synthetic.import_conversation(world.workspace, 2000)
    for query in ("", far_query):
        page = open_view(world, conversation, view, query)
        assert 10_000 < len(page.encode()) < MOST


def test_page_budget_accepts_pieces_that_fit():
    scales = page_budget.PageBudget(10)
    assert scales.try_add(SafeString("a" * 6))
    assert not scales.try_add(SafeString("é" * 3))
    assert scales.try_add(SafeString("é"), SafeString("é"))
    assert not scales.try_add(SafeString("a"))
