"""A live page shows what a page shows that is loaded then, whatever came in whatever order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from jpweb.stream import timestamps, wire
from jpweb.stream.events import ChatRequest, ConversationEvent, EventKind, TurnStart
from tests.browser.library import WORKSPACE
from tests.browser.pages import wait_until_connected
from tests.browser.reading.live.growing import IDS, LENGTH, Growing, wait_for_events
from tests.browser.reading.windows import (
    ITEMS,
    get_scroll_position,
    list_window_ranges,
    repeat_until,
    scroll_page,
    top_of,
)
from tests.builders import make_call, make_inquiry
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
    events = [
        ConversationEvent(timestamps.format_timestamp(at), kind)
        for at, kind in zip(times, kinds, strict=True)
    ]
    return wire.join_array([wire.write_element(event).raw for event in events]).encode()


def last(growing: Growing) -> str:
    """Return the anchor of the last item, as a page has it that is loaded now."""
    page = growing.visit.open(f"{growing.path}?at=end")
    return page.locator(ITEMS).last.get_attribute("id") or ""


def hold_requests(page: Page, query: str) -> list[Route]:
    """Keep the requests whose addresses say this from being answered, once a page is loaded.

    Of the page that is there already a script may still send some that are not held.
    """
    routes: list[Route] = []
    page.route(re.compile(query), lambda route: routes.append(route))  # noqa: PLW0108  playwright marks it
    return routes


def test_outdated_events_of_a_page_are_updated(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    wait_until_connected(page)
    page.evaluate(OLDER, LENGTH - 5)
    scroll_page(page, -200)
    page.evaluate("document.querySelector('.window').scrollIntoView({behavior: 'instant'})")
    scroll_page(page, -200)
    wait_for_events(page, LENGTH)
    expect(page.get_by_title("Old")).to_have_count(0)
    ids = page.evaluate(IDS)
    assert len(ids) == len(set(ids))


@pytest.mark.proof  # a variant
def test_late_window_receives_missed_updates(growing: Growing):
    path = f"{growing.path}?before={LENGTH - 40}"
    page = growing.visit.open(growing.path)
    routes = hold_requests(page, "after=")
    page.goto(f"{growing.visit.server.url}{path}")
    wait_until_connected(page)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight})")
    wait_until(lambda: bool(page.title() and routes), "the page asks for the rest")
    reply = routes[0].fetch()
    growing.grow(LENGTH + 10)
    wait_for_events(page, LENGTH + 10)
    routes[0].fulfill(response=reply)
    expect(page.locator("#transcript-end")).to_have_count(1)
    expect(page.locator(ITEMS).last).to_have_id(last(growing))
    wait_for_events(page, LENGTH + 10)


@pytest.mark.proof  # a variant
def test_event_that_newly_matches_the_filter_appears_in_its_place(growing: Growing):
    kinds: list[EventKind] = [TurnStart(), ChatRequest("Do"), *map(make_call, "abc")]
    kinds += [make_inquiry(f"{call}.a.1") for call in "bca"]
    kinds += [TurnStart(), ChatRequest("More"), *map(make_call, "de")]
    kinds += [make_inquiry(f"{call}.a.1") for call in "ed"]
    growing.hold(of(kinds[:5]))
    growing.wait_until_known(5)
    page = growing.visit.open(f"{growing.path}?show=questions")
    wait_until_connected(page)
    for length in range(6, len(kinds) + 1):
        growing.hold(of(kinds[:length]))
        wait_for_events(page, length)
    live = page.evaluate(SHOWN)
    expect(page.locator("#empty-transcript")).to_be_hidden()
    page.reload()
    assert live == page.evaluate(SHOWN)
    assert len(live) == 7


@pytest.mark.proof  # test_follow has it with fewer events
def test_page_scrolled_up_stays_when_many_events_arrive(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    wait_until_connected(page)
    for _ in range(4):
        scroll_page(page, -2500)
    before = get_scroll_position(page)
    growing.grow(LENGTH + 150)
    wait_for_events(page, LENGTH + 150)

    item = page.locator(f"#{before.anchor}")

    def is_in_place() -> bool:
        return bool(item.count()) and abs(top_of(page, before.anchor) - before.top) <= STILL

    wait_until(is_in_place, "it stands where it stood")
    count = len(list_window_ranges(page))
    repeat_until(
        lambda: len(list_window_ranges(page)) > count,
        lambda: scroll_page(page, -2500),
        "more comes",
    )


@pytest.mark.proof  # a variant
def test_events_after_a_rewritten_file_appear(growing: Growing):
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    growing.grow(60)
    wait_for_events(page, 60)
    growing.grow(75)
    wait_for_events(page, 75)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    expect(page.locator(ITEMS).last).to_have_id(last(growing))


@pytest.mark.proof  # a variant
def test_page_tells_that_its_file_is_cut_emptied_and_filled_again(growing: Growing):
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    problem, empty_text = page.locator("#conversation-problem"), page.locator("#empty-transcript")
    bars = page.locator("#time-strip svg")
    expect(bars).to_have_count(1)
    growing.hold(b"[{")
    expect(problem).to_contain_text("This conversation can't be read", timeout=20_000)
    problem.evaluate("element => element.isFirst = true")
    growing.rename("Another title")
    expect(page.locator("#heading")).to_have_text("Another title", timeout=20_000)
    assert problem.evaluate("element => element.isFirst"), "it is announced once"
    growing.hold(b"[]\n")
    wait_for_events(page, 0)
    expect(empty_text).to_have_text("No messages yet.")
    expect(problem).to_be_hidden()
    expect(bars).to_have_count(0)
    growing.grow(30)
    wait_for_events(page, 30)
    expect(empty_text).to_be_hidden()
    expect(bars).to_have_count(1)


def test_fragment_of_an_older_revision_is_sent_again(growing: Growing):
    page = growing.visit.open(growing.path)
    routes = hold_requests(page, "at=end")
    page.reload()
    wait_until_connected(page)
    expect(page.locator("#transcript > .load-more[data-direction=later]")).to_have_count(1)
    page.keyboard.press("G")
    wait_until(lambda: bool(page.title() and routes), "it asks for the end")
    reply = routes[0].fetch()
    revision = page.locator("#counts").get_attribute("data-revision") or ""
    data = synthetic.make_events_file(LENGTH).replace(b"**looked after**", b"**rewritten**")
    growing.hold(data)
    expect(page.locator("#counts")).not_to_have_attribute("data-revision", revision, timeout=20_000)
    routes[0].fulfill(response=reply)
    expect(page.locator("#transcript strong", has_text="rewritten").first).to_be_attached()
    expect(page.locator("#transcript strong", has_text="looked after")).to_have_count(0)


@pytest.mark.proof  # a variant
def test_mark_of_new_events_is_shown_once(growing: Growing):
    reader = growing.visit.home.invite("Reader of news", "reader", WORKSPACE)
    page = growing.visit.open(f"{growing.path}?at=end#composer", who=reader)
    page.goto(f"{growing.visit.server.url}/conversations")
    growing.grow(LENGTH + 200)
    growing.wait_until_known(LENGTH + 200)
    page.goto(f"{growing.visit.server.url}{growing.path}?at=new#new")
    wait_until_connected(page)
    for _ in range(4):
        scroll_page(page, 3000)
    assert len(list_window_ranges(page)) > 1
    expect(page.locator(".unread-mark")).to_have_count(1)
