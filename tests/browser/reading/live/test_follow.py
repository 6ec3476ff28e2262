"""Following what goes on: at the end, not above it, with a way back; and how far one has read."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.library import WORKSPACE
from tests.browser.pages import Visit, wait_until_connected
from tests.browser.reading.live.growing import IDS, LENGTH, Growing, wait_for_events
from tests.browser.reading.windows import ITEMS, scroll_page
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

AT_END = "innerHeight + scrollY >= document.documentElement.scrollHeight - 2"
LIVE = "a.jump-link"
#: Several lines of a text have come, and how far above the end the page is just then.
STREAMED = """() => {
  const partial = document.getElementById("partial-text");
  if (partial.hidden || partial.offsetHeight < 150) return false;
  window.left = document.documentElement.scrollHeight - innerHeight - scrollY;
  return true;
}"""
#: A message arrives before the browser has reported the scroll.
SCROLL_UP_AND_RECEIVE = """() => {
  scrollBy({ top: -1500, behavior: "instant" });
  const scrollTop = scrollY;
  const { socket } = document.body["htmx-internal-data"].webSocket;
  socket.dispatchEvent(new MessageEvent("message", { data: " " }));
  return scrollTop;
}"""
IS_AFTER = """(news, seen) => {
  const last = document.getElementById(seen);
  return Boolean(last && last.compareDocumentPosition(news) & Node.DOCUMENT_POSITION_FOLLOWING);
}"""


def test_page_at_its_end_follows_new_events(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    wait_until_connected(page)
    growing.grow(LENGTH + 40)
    wait_for_events(page, LENGTH + 40)
    wait_until(lambda: page.evaluate(AT_END), "the page is at its end")
    expect(page.locator(ITEMS).last).to_be_in_viewport()
    expect(page.locator(LIVE)).to_be_hidden()


def test_page_scrolled_up_stays_and_offers_a_link_to_the_end(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    wait_until_connected(page)
    scroll_page(page, -1500)
    before = page.evaluate("scrollY")
    growing.grow(LENGTH + 40)
    wait_for_events(page, LENGTH + 40)
    assert page.evaluate("scrollY") == before
    live_link = page.get_by_role("link", name="Jump to live (40 new)")
    expect(live_link).to_be_visible()
    live_link.click()
    wait_until(lambda: page.evaluate(AT_END), "the page is at its end")
    expect(live_link).to_be_hidden()
    expect(page.locator("#composer")).to_be_focused()


def test_message_right_after_a_scroll_up_does_not_lead_back_to_the_end(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    wait_until_connected(page)
    scroll_page(page, 10_000)
    wait_until(lambda: page.evaluate(AT_END), "the page is at its end")
    scroll_top = page.evaluate(SCROLL_UP_AND_RECEIVE)
    assert page.evaluate("scrollY") == scroll_top


@pytest.mark.proof  # a size
def test_the_way_back_leads_to_an_end_that_is_not_loaded(growing: Growing):
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    growing.grow(LENGTH + 40)
    wait_for_events(page, LENGTH + 40)
    page.get_by_role("link", name="Jump to live (40 new)").click()
    expect(page.locator("#transcript-end")).to_have_count(1)
    expect(page.locator("#composer")).to_be_in_viewport()


@pytest.mark.proof  # a size
def test_page_that_follows_for_long_keeps_a_limited_number_of_events(growing: Growing):
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    wait_until_connected(page)
    for length in range(LENGTH + 40, LENGTH + 601, 75):
        growing.grow(length)
        wait_for_events(page, length)
    assert page.locator(ITEMS).count() <= 8 * 60
    expect(page.locator(".load-more[data-direction=earlier]")).to_have_count(1)
    expect(page.locator("#transcript-end")).to_have_count(1)
    ids = page.evaluate(IDS)
    assert len(ids) == len(set(ids))
    wait_until(lambda: page.evaluate(AT_END), "the page is at its end")
    # What left comes again where somebody reads back.
    count = page.locator(".window").count()
    first = page.locator(ITEMS).first.get_attribute("id")
    page.evaluate("document.querySelector('.window').scrollIntoView({behavior: 'instant'})")
    scroll_page(page, -200)
    wait_until(lambda: page.locator(ITEMS).first.get_attribute("id") != first, "it came")
    assert page.locator(".window").count() <= max(count, 8)


@pytest.mark.proof  # test_reading_position comes back to it
def test_reading_position_is_sent_when_the_page_is_left(growing: Growing):
    reader = growing.visit.home.invite("Reader who left", "reader", WORKSPACE)
    page = growing.visit.open(f"{growing.path}?at=end#composer", who=reader)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    wait_until_connected(page)
    growing.grow(LENGTH + 20)
    wait_for_events(page, LENGTH + 20)
    last_id = page.locator(ITEMS).last.get_attribute("id")
    page.goto(f"{growing.visit.server.url}/conversations")
    growing.grow(LENGTH + 40)
    growing.wait_until_known(LENGTH + 40)
    page.goto(f"{growing.visit.server.url}{growing.path}?at=new#new")
    assert page.locator("#new").evaluate(IS_AFTER, last_id)


@pytest.mark.proof  # what comes is followed in make test
def test_text_that_streams_is_followed(slow_visit: Visit):
    page = slow_visit.open("/conversations/new", size=(320, 320))
    slow_visit.begin_on(page, "Stream, please")
    page.wait_for_function(STREAMED)
    assert page.evaluate("window.left") <= 2
    expect(page.locator("article.assistant").first).to_be_visible(timeout=15_000)
    wait_until(lambda: page.evaluate(AT_END), "the page is at its end once it is on record")
