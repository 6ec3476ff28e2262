"""A live page shows what a page shows that is loaded then, whatever came in whatever order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from jpweb.stream import timestamps, wire
from jpweb.stream.events import ChatRequest, ConversationEvent, EventKind, TurnStart
from tests.browser.pages import connected
from tests.browser.reading.live.growing import IDS, LENGTH, WORKSPACE, Growing, events
from tests.browser.reading.windows import ITEMS, reading, scroll, stretches, top_of, until
from tests.builders import asked, called
from tests.load import synthetic
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: Make a page one of a moment at which it had fewer events, and its last one was another.
OLDER = """length => {
  document.getElementById("counts").dataset.entryCount = length;
  [...document.querySelectorAll("#transcript-end > [data-kind][id]")].at(-1).title = "Old";
}"""
#: Pixels by which what is read may move.
STILL = 3
SHOWN = f"[...document.querySelectorAll('{ITEMS}, .turn-head')].map(each => each.id)"


def of(kinds: Sequence[EventKind]) -> bytes:
    """Return a file of these events, a second apart."""
    times = [synthetic.BEGIN + timedelta(seconds=n) for n in range(len(kinds))]
    made = [
        ConversationEvent(timestamps.format_timestamp(at), kind)
        for at, kind in zip(times, kinds, strict=True)
    ]
    return wire.join_array([wire.write_element(event).raw for event in made]).encode()


def last(growing: Growing) -> str:
    """Return the anchor of the last item, as a page has it that is loaded now."""
    page = growing.visit.open(f"{growing.path}?at=end")
    return page.locator(ITEMS).last.get_attribute("id") or ""


def held(page: Page, query: str) -> list[Route]:
    """Keep the requests whose addresses say this from being answered."""
    routes: list[Route] = []
    page.route(re.compile(query), lambda route: routes.append(route))  # noqa: PLW0108  playwright marks it
    return routes


def test_what_a_page_shows_of_an_earlier_moment_is_renewed(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    connected(page)
    page.evaluate(OLDER, LENGTH - 5)
    scroll(page, -200)
    page.evaluate("document.querySelector('.window').scrollIntoView({behavior: 'instant'})")
    scroll(page, -200)
    events(page, LENGTH)
    expect(page.get_by_title("Old")).to_have_count(0)
    ids = page.evaluate(IDS)
    assert len(ids) == len(set(ids))


def test_a_window_that_comes_late_is_told_what_it_lacks(growing: Growing):
    path = f"{growing.path}?before={LENGTH - 40}"
    page = growing.visit.open(growing.path)
    asking = held(page, "after=")
    page.goto(f"{growing.visit.server.url}{path}")
    connected(page)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight})")
    wait_until(lambda: bool(page.title() and asking), "the page asks for the rest")
    reply = asking[0].fetch()
    growing.grow(LENGTH + 10)
    events(page, LENGTH + 10)
    asking[0].fulfill(response=reply)
    expect(page.locator("#transcript-end")).to_have_count(1)
    expect(page.locator(ITEMS).last).to_have_id(last(growing))
    events(page, LENGTH + 10)


def test_what_comes_to_be_chosen_comes_in_its_place(growing: Growing):
    every: list[EventKind] = [TurnStart(), ChatRequest("Do"), *map(called, "abc")]
    every += [asked(f"{call}.a.1") for call in "bca"]
    every += [TurnStart(), ChatRequest("More"), *map(called, "de")]
    every += [asked(f"{call}.a.1") for call in "ed"]
    growing.hold(of(every[:5]))
    growing.known(5)
    page = growing.visit.open(f"{growing.path}?show=questions")
    connected(page)
    for length in range(6, len(every) + 1):
        growing.hold(of(every[:length]))
        events(page, length)
    live = page.evaluate(SHOWN)
    expect(page.locator("#transcript > .empty")).to_have_count(0)
    page.reload()
    assert live == page.evaluate(SHOWN)
    assert len(live) == 7


def test_who_reads_above_stays_when_much_comes(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    connected(page)
    for _ in range(4):
        scroll(page, -2500)
    before = reading(page)
    growing.grow(LENGTH + 150)
    events(page, LENGTH + 150)

    item = page.locator(f"#{before.anchor}")

    def stands() -> bool:
        return bool(item.count()) and abs(top_of(page, before.anchor) - before.top) <= STILL

    wait_until(stands, "it stands where it stood")
    count = len(stretches(page))
    until(lambda: len(stretches(page)) > count, lambda: scroll(page, -2500), "more comes")


@pytest.mark.proof  # a variant
def test_what_grows_after_it_was_rewritten_comes(growing: Growing):
    page = growing.visit.open(growing.path)
    connected(page)
    growing.grow(60)
    events(page, 60)
    growing.grow(75)
    events(page, 75)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    expect(page.locator(ITEMS).last).to_have_id(last(growing))


@pytest.mark.proof  # a variant
def test_a_part_of_an_older_revision_is_sent_anew(growing: Growing):
    page = growing.visit.open(growing.path)
    connected(page)
    asking = held(page, "at=end")
    page.keyboard.press("G")
    wait_until(lambda: bool(page.title() and asking), "it asks for the end")
    reply = asking[0].fetch()
    was = page.locator("#counts").get_attribute("data-revision") or ""
    data = synthetic.everything(LENGTH).replace(b"**looked after**", b"**rewritten**")
    growing.hold(data)
    expect(page.locator("#counts")).not_to_have_attribute("data-revision", was, timeout=20_000)
    asking[0].fulfill(response=reply)
    expect(page.locator("#transcript strong", has_text="rewritten").first).to_be_attached()
    expect(page.locator("#transcript strong", has_text="looked after")).to_have_count(0)


@pytest.mark.proof  # a variant
def test_news_begin_once(growing: Growing):
    reader = growing.visit.home.invite("Reader of news", "reader", WORKSPACE)
    page = growing.visit.open(f"{growing.path}?at=end#composer", who=reader)
    page.goto(f"{growing.visit.server.url}/conversations")
    growing.grow(LENGTH + 200)
    growing.known(LENGTH + 200)
    page.goto(f"{growing.visit.server.url}{growing.path}?at=new#new")
    connected(page)
    for _ in range(4):
        scroll(page, 3000)
    assert len(stretches(page)) > 1
    expect(page.locator(".unread-mark")).to_have_count(1)
