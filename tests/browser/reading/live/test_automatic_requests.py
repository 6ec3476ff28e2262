"""What a page fetches by itself while a conversation goes on: it keeps no sign-in alive."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from jpweb.stream.events import ChatRequest, EventKind, TurnStart
from tests.browser.pages import wait_until_connected
from tests.browser.reading.live.growing import Growing, wait_for_events
from tests.browser.reading.live.test_live_updates import of
from tests.browser.reading.live.test_outline import UPDATE_DELAY_MS
from tests.browser.reading.windows import ITEMS
from tests.builders import make_call

pytestmark = pytest.mark.browser

#: Something that loads itself once it is in view, as a long payload does.
COME_INTO_VIEW = """path => {
  const element = document.createElement("div");
  element.setAttribute("hx-get", path);
  element.setAttribute("hx-trigger", "intersect once");
  element.textContent = "Excerpt";
  document.getElementById("composer").append(element);
  element.scrollIntoView();
  htmx.process(element);
}"""


def watch_requests(page: Page) -> list[Request]:
    """Return the list of what the page's scripts request from now on."""
    page.wait_for_load_state("networkidle")
    requests: list[Request] = []
    page.on("request", lambda request: requests.extend([request]))
    return requests


def test_automatic_requests_of_a_live_page_are_marked(
    make_growing: Callable[[int], Growing],
):
    growing = make_growing(60)
    page = growing.visit.open(f"{growing.path}?at=end#composer")
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    wait_until_connected(page)
    anchor = page.locator(ITEMS).last.get_attribute("id")
    requests = watch_requests(page)
    page.clock.install()
    growing.grow(100)
    wait_for_events(page, 100)
    page.clock.run_for(UPDATE_DELAY_MS)
    turns = int(page.locator("[data-count=turns]").inner_text())
    expect(page.locator("#outline li[data-turn]")).to_have_count(turns)
    comments = f"{growing.path}/comments/{anchor}"
    growing.visit.home.owner.post(f"{comments}/add", comments, text="Look here")
    expect(page.locator(".comment")).to_have_text(re.compile("Look here"))
    payload = f"{growing.path}/outline?turn=2"
    with page.expect_response(f"**{payload}"):
        page.evaluate(COME_INTO_VIEW, payload)
    parts = [request.url.removeprefix(growing.visit.server.url) for request in requests]
    assert {comments, payload} < set(parts)
    assert any("?turn=" in part for part in parts)
    unmarked = [request.url for request in requests if "x-automatic" not in request.headers]
    assert unmarked == []


@pytest.mark.proof  # rare: jp rewrites a file whose outline somebody closed
def test_new_revision_leaves_the_outline_closed(growing: Growing):
    growing.visit.pages.forgive("status of 404")  # the page looks for the event that was in view
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    page.locator(".outline-body > summary").click()
    expect(page.locator("#outline ol").first).to_be_hidden()
    kinds: list[EventKind] = [TurnStart(), ChatRequest("Another"), make_call("call_1")]
    growing.hold(of(kinds))
    wait_for_events(page, len(kinds))
    expect(page.locator("#outline li[data-turn]")).to_have_count(1)
    expect(page.locator("#outline ol").first).to_be_hidden()
    page.locator(".outline-body > summary").click()
    expect(page.locator("#outline ol").first).to_be_visible()
    expect(page.locator("#outline li[aria-current]")).to_have_count(1)
    toggle = page.locator("[data-outline-toggle]")  # on a narrow screen
    expect(toggle).to_have_attribute("aria-expanded", "true")
