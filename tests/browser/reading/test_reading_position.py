"""Coming back to where one was; what waits, and what comes, is told wherever one reads."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Visit, wait_until_connected
from tests.browser.reading.windows import (
    get_address_params,
    get_scroll_position,
    long_one,
    scroll_page,
    to_bottom,
    wait_for_windows,
)
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: Pixels by which what is read may move.
STILL = 2
NOTED = "history.state?.position && [history.state.position.item, history.state.position.top]"


def down(page: Page) -> tuple[str, float]:
    """Read on to what the page did not show at first, until it has noted that."""
    for count in (2, 3):
        to_bottom(page)
        wait_for_windows(page, count)
    scroll_page(page, -300)
    wait_until(lambda: page.evaluate(NOTED) == [*get_scroll_position(page)], "it is noted")
    return get_scroll_position(page)


def is_at_place(page: Page, place: tuple[str, float]) -> bool:
    anchor, top = get_scroll_position(page)
    return anchor == place[0] and abs(top - place[1]) <= STILL


def test_find_reload_and_browser_back_keep_the_reading_position(shelf: Visit):
    page = shelf.open(long_one(shelf))
    place = down(page)
    assert get_address_params(page)["at"] == place[0]
    page.keyboard.press("/")
    expect(page.get_by_label("Find in conversation")).to_be_focused()
    assert is_at_place(page, place), "opening find scrolls nothing"
    page.reload()
    wait_until(lambda: is_at_place(page, place), "the same stands at the same height")
    # As with a mouse: what brings the link into view first would scroll to the top of its bar.
    page.get_by_role("link", name="Audit").evaluate("link => link.click()")
    expect(page).to_have_url(re.compile(r"/audit$"))
    page.go_back()
    wait_until(lambda: is_at_place(page, place), "the same stands at the same height")


@pytest.mark.proof  # convenience
def test_the_address_stays_while_the_part_that_it_names_is_read(shelf: Visit):
    page = shelf.open(long_one(shelf))
    scroll_page(page, 600)
    wait_until(lambda: page.evaluate(NOTED) == [*get_scroll_position(page)], "it is noted")
    assert get_address_params(page) == {}
    place = get_scroll_position(page)
    page.reload()
    wait_until(lambda: is_at_place(page, place), "the same stands at the same height")


def test_waiting_question_is_linked_above_and_in_the_outline(
    visit: Visit,
):
    page = visit.begin("Ask me", size=(1280, 320))
    wait_until_connected(page)
    expect(page.locator("#inbox .card")).to_have_count(1, timeout=15_000)
    inside = page.locator("#outline ol.outline-items")
    expect(inside).to_contain_text("Waiting", timeout=15_000)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    waiting_link = page.get_by_role("link", name="1 question waiting")
    expect(waiting_link).to_be_visible()
    waiting_link.click()
    expect(page.locator("#inbox .card")).to_be_focused()
    expect(page.locator("#inbox .card")).to_be_in_viewport()
    expect(page.locator("a.jump-link")).to_be_hidden()
    page.clock.install()
    page.get_by_role("button", name="Yes", exact=True).click()

    def is_listed() -> bool:
        page.clock.run_for(500)  # the outline waits for more
        return "Yes" in inside.inner_text()

    wait_until(is_listed, "the answer is in the outline")


@pytest.mark.proof  # test_keys has it with toasts that follow
def test_link_copied_by_key_shows_a_toast(shelf: Visit):
    page = shelf.open(long_one(shelf))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.clock.install()
    page.keyboard.press("j")
    page.keyboard.press("l")
    expect(page.locator(".copy-button.toast")).to_have_text("Copied")
    page.clock.run_for(5_000)
    expect(page.locator(".copy-button.toast")).to_have_count(0)
