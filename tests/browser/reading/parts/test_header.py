"""The header of every page, and what sticks below it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.pages import Visit, wait_until_connected
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser
LOW = (1280, 400)


def get_top(locator: Locator) -> float:
    top: float = locator.evaluate("element => element.getBoundingClientRect().top")
    return top


def get_bottom(locator: Locator) -> float:
    bottom: float = locator.evaluate("element => element.getBoundingClientRect().bottom")
    return bottom


def test_notice_in_the_header_leaves_the_toolbar_in_reach(visit: Visit):
    page = visit.open(visit.find("A tour of questions and answers"), size=LOW)
    wait_until_connected(page)  # which hides the notice
    header, toolbar = page.locator(".site-header"), page.locator(".toolbar.sticky")
    page.evaluate("document.getElementById('connection').hidden = false")
    page.evaluate("scrollTo({ top: 600, behavior: 'instant' })")
    expect(page.locator("#connection")).to_be_visible()
    wait_until(
        lambda: get_top(toolbar) >= get_bottom(header) - 1, "the toolbar is below the header"
    )
    assert page.evaluate("scrollY") == 600
