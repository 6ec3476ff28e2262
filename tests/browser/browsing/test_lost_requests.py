"""Requests of pages that are lost because the server stops or the network is cut."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import (
    BOOLEAN,
    Visit,
    find_card,
    find_composer,
    wait_until_connected,
)

pytestmark = pytest.mark.browser

#: What the browser itself says of a request that was lost; no script of the page adds to it.
LOST = "ERR_FAILED"
TIMELINE = re.compile("/timeline$")
RECONNECT = """() => {
  htmx.config.wsReconnectDelay = () => 0;
  document.body["htmx-internal-data"].webSocket.socket.close();
}"""

#: Have responses end with an error after their first byte.
CUT_RESPONSES = """() => {
  const cut = new ReadableStream({
    start: (body) => body.enqueue(new Uint8Array(1)),
    pull: (body) => { body.error(new TypeError("cut")); window.cut = true; },
  });
  window.fetch = async () => new Response(cut);
}"""


def lose_requests(page: Page, pattern: re.Pattern[str]) -> None:
    page.route(pattern, lambda route: route.abort())


def test_strip_of_times_is_fetched_again_once_the_page_reconnects(visit: Visit):
    visit.pages.forgive(LOST)
    page = visit.begin("Strip")
    second_page = visit.open()
    lose_requests(second_page, TIMELINE)
    with second_page.expect_event("requestfailed"):
        second_page.goto(page.url)
    wait_until_connected(second_page)
    strip = second_page.locator("#time-strip")
    expect(strip).to_be_empty()
    second_page.unroute(TIMELINE)
    second_page.evaluate(RECONNECT)
    expect(strip).to_contain_text("running")


@pytest.mark.proof  # a variant: what is lost is fetched again as above
def test_strip_of_times_that_misses_the_end_of_a_turn_is_fetched_again(visit: Visit):
    visit.pages.forgive(LOST)
    page = visit.begin("Strip")
    second_page = visit.open(page.url.removeprefix(visit.server.url))
    wait_until_connected(second_page)
    strip = second_page.locator("#time-strip")
    expect(strip).to_contain_text("running")
    lose_requests(second_page, TIMELINE)
    with second_page.expect_event("requestfailed"):
        page.locator("#composer").get_by_role("button", name="Stop", exact=True).click()
    expect(find_composer(second_page)).to_be_visible()
    expect(strip).to_contain_text("running")
    second_page.unroute(TIMELINE)
    second_page.evaluate(RECONNECT)
    expect(strip).not_to_contain_text("running")


def test_page_of_a_question_loses_a_refresh_without_an_error(visit: Visit):
    visit.pages.forgive(LOST)
    number = find_card(visit.begin("Refresh"), BOOLEAN).get_attribute("data-question")
    page = visit.open(f"/questions/{number}")
    wait_until_connected(page)
    refresh = re.compile(f"/questions/{number}$")
    lose_requests(page, refresh)
    with page.expect_event("requestfailed"):
        page.evaluate("document.dispatchEvent(new CustomEvent('htmx:wsAfterMessage'))")
    page.unroute(refresh)
    with page.expect_response(refresh):
        page.evaluate("document.dispatchEvent(new CustomEvent('htmx:wsAfterMessage'))")


def test_claim_that_is_lost_is_reported_on_its_card_alone(visit: Visit):
    visit.pages.forgive(f"{LOST}|htmx:(afterRequest|sendError)")
    page = visit.begin("Claim")
    card = find_card(page, BOOLEAN)
    lose_requests(page, re.compile("/claim$"))
    card.get_by_text("I'm on it").click()
    expect(card.get_by_role("alert")).to_contain_text("the server can't be reached")


def test_response_that_is_cut_off_is_no_uncaught_error(visit: Visit):
    page = visit.open("/conversations")
    page.evaluate(CUT_RESPONSES)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    page.wait_for_function("window.cut === true")
