"""No view of a conversation is heavy, whatever it holds."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.safestring import SafeString

from jpweb.stream.events import ChatRequest, ChatResponse, Compaction, TurnStart
from jpweb.web.views.transcript_modes import page_budget
from tests.builders import answered, asked, called, returned
from tests.load import synthetic
from tests.machine.sizes import mark_proof
from tests.web.views.transcript_modes.reading import held, opened, way, words
from tests.web.world import World

MOST = 300_000
#: One character that a page spells with twelve bytes, one that it spells with six.
WIDE, QUOTE = "\u202e", '"'
COMPACTION = Compaction(0, 0, {"reasoning": "strip"})


def questions(count: int, text: str) -> list[Any]:
    """Return a call with so many questions."""
    asking = [part for n in range(count) for part in (asked(f"c.{n}", text), answered(f"c.{n}"))]
    return [TurnStart(), ChatRequest("Hi"), called("c"), *asking, returned("c")]


HEAVY: dict[str, list[Any]] = {
    "wide": [ChatRequest(WIDE * 12_000) for _ in range(60)],
    "quotes": [called(f"c{n}", text=QUOTE * 9_000) for n in range(60)],
    "results": [called("c"), *(returned("c", QUOTE * 9_000) for _ in range(60))],
    "prose": [ChatResponse("message", "- a\n" * 4000) for _ in range(60)],
    "questions": questions(55, WIDE * 9_000),
    "summaries": [
        *(part for n in range(9) for part in (TurnStart(), ChatRequest(str(n)))),
        *(Compaction(n, n, {"summary": {"summary": WIDE * 12_000}}) for n in range(9)),
    ],
}  # fmt: skip


#: The raw view and the compacted one show what is heavy to them; under proof each shows all.
OWN = [("results", "raw"), ("questions", "compacted"), ("summaries", "compacted")]
OTHERS = [
    (name, view) for name in HEAVY for view in ("raw", "compacted") if (name, view) not in OWN
]


@pytest.mark.parametrize(
    ("name", "view"), [*((name, "thread") for name in HEAVY), *OWN, *mark_proof(*OTHERS)]
)
def test_no_page_is_heavier_than_it_may_be_and_each_leads_on(world: World, name: str, view: str):
    talk = held(world, *HEAVY[name], COMPACTION)
    page, pages = opened(world, talk, view), 1
    while page and pages < 5:
        assert len(page.encode()) < MOST
        there = way(page, "next")
        page = opened(world, talk, view, there) if there else ""
        pages += 1


@pytest.mark.parametrize("view", ["compacted", "thread"])
def test_what_is_too_much_for_any_page_is_led_to(world: World, view: str):
    talk = held(
        world, *questions(50, WIDE * 9_000), ChatResponse("message", "After it."), COMPACTION
    )
    page, said = opened(world, talk, view), ""
    while page:
        said += words(page)
        there = page.rpartition('<a rel="next" href="')[2].partition('"')[0]
        page = opened(world, talk, view, there.replace("&amp;", "&")) if "from=" in there else ""
    assert said.count("Too large for this page.") == 1
    assert "After it." in said


FAR_IN = [("raw", "?from=1500"), ("compacted", "?from=1500"), ("thread", "?turn=100")]


@pytest.mark.parametrize(("view", "far"), FAR_IN)
def test_a_conversation_of_every_kind_is_shown_at_both_ends(world: World, view: str, far: str):
    talk = synthetic.imported(world.home, 2000)
    for query in ("", far):
        page = opened(world, talk, view, query)
        assert 10_000 < len(page.encode()) < MOST


def test_scales_take_what_fits_and_forget_what_does_not():
    scales = page_budget.PageBudget(10)
    assert scales.try_add(SafeString("a" * 6))
    assert not scales.try_add(SafeString("é" * 3))
    assert scales.try_add(SafeString("é"), SafeString("é"))
    assert not scales.try_add(SafeString("a"))
