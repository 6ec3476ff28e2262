"""The outline beside a conversation that goes on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.pages import wait_until_connected
from tests.browser.reading.live.growing import Growing, wait_for_events

pytestmark = pytest.mark.browser

#: After which the outline is fetched once something came.
UPDATE_DELAY_MS = 1_000


@pytest.mark.proof  # tests/web/transcript/test_insertions has it
def test_the_outline_counts_turns_that_come_and_are_not_listed(
    make_growing: Callable[[int], Growing],
):
    growing = make_growing(600)
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    outline_count, later_count = (
        page.locator(".outline-body > summary"),
        page.locator("#outline ol ~ .outline-more"),
    )
    before = [
        int(re.sub(r"\D", "", locator.inner_text())) for locator in (outline_count, later_count)
    ]
    growing.grow(800)
    wait_for_events(page, 800)
    turns = int(page.locator("[data-count=turns]").inner_text())
    new_turns = turns - before[0]
    assert new_turns > 0
    expect(outline_count).to_have_text(re.compile(rf"^Outline {turns} turns$"))
    expect(later_count).to_have_text(f"{before[1] + new_turns} later")


def test_outline_retries_a_failed_request(make_growing: Callable[[int], Growing]):
    growing = make_growing(60)
    growing.visit.pages.forgive("ERR_FAILED")
    page = growing.visit.open(growing.path)
    wait_until_connected(page)
    turns = page.locator("#outline li[data-turn]")
    before = turns.count()
    pattern = re.compile(r"\?turn=")
    page.clock.install()
    page.route(pattern, lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: bool(pattern.search(request.url))):
        growing.grow(100)
        wait_for_events(page, 100)
        page.clock.run_for(UPDATE_DELAY_MS)
    expect(turns).to_have_count(before)
    page.unroute(pattern)
    # Without anything that came since.
    page.locator("#edit-menu summary").focus()
    page.keyboard.press("Tab")
    page.clock.run_for(UPDATE_DELAY_MS)
    expect(turns).not_to_have_count(before)
    expect(turns).to_have_count(int(page.locator("[data-count=turns]").inner_text()))
