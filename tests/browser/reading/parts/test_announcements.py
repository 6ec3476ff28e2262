"""What pages tell a screen reader of parts that are replaced as a whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pages import BOOLEAN, Visit, find_card, wait_until_connected

pytestmark = pytest.mark.browser


def test_filter_announces_how_many_conversations_it_lists(visit: Visit):
    page = visit.open("/conversations")
    announcer = page.locator("#announcer")
    page.get_by_label("Filter by title").fill("nobody")
    expect(announcer).to_have_text("1 conversation")
    page.get_by_label("Filter by title").fill("no such title")
    expect(announcer).to_contain_text("No conversation has “no such title” in its title.")


def test_end_of_a_turn_is_announced(visit: Visit):
    page = visit.begin("Announce it")
    wait_until_connected(page)
    find_card(page, BOOLEAN)
    visit.open(page.url.removeprefix(visit.server.url)).get_by_role("button", name="Stop").click()
    expect(page.locator("#announcer")).to_have_text("The last turn was stopped.")
