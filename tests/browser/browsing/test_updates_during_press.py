"""What the socket tells while somebody presses a mouse button."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import (
    BOOLEAN,
    Visit,
    find_card,
    find_option,
    wait_until_connected,
)

pytestmark = pytest.mark.browser

#: What the server might say: it moves a card down by more than a choice is high.
SHIFT = f'<div hx-swap-oob="beforebegin:#inbox"><p id="shift">New{"<br>" * 12}</p></div>'
#: Lets it come in at once.
TELL = """(data) => document.body["htmx-internal-data"].webSocket.socket.dispatchEvent(
  new MessageEvent("message", { data }))"""


@pytest.fixture
def page(visit: Visit) -> Page:
    """Return the page of a conversation that asks for yes or no, all of it in view."""
    page = visit.begin(size=(1280, 2000))
    wait_until_connected(page)
    return page


def press(page: Page) -> Locator:
    """Press the mouse button down on a choice, and return it."""
    choice = find_option(find_card(page, BOOLEAN), "No")
    choice.hover()
    page.mouse.down()
    return choice


def test_update_between_press_and_release_keeps_the_click(page: Page):
    press(page)
    page.evaluate(TELL, SHIFT)
    page.mouse.up()
    expect(page.locator(".card.settled")).to_contain_text("No")
    expect(page.locator("#shift")).to_be_visible()


@pytest.mark.proof  # a variant
def test_long_press_lets_updates_through_after_a_time(page: Page):
    press(page)
    page.evaluate(TELL, SHIFT)
    expect(page.locator("#shift")).to_be_visible()
    page.mouse.up()
