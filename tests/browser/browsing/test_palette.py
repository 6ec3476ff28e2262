"""The command palette, and the keys that lead from page to page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit, wait_until_connected
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.browser

#: Press Enter in a field as an input method does; tells whether no script took the key.
COMPOSING_ENTER = """(field) => field.dispatchEvent(new KeyboardEvent("keydown", {
  key: "Enter", isComposing: true, bubbles: true, cancelable: true,
}))"""


def test_the_palette_leads_to_pages_conversations_and_actions(visit: Visit):
    page = visit.open("/conversations")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    field = palette.get_by_role("searchbox")
    expect(field).to_be_focused()
    expect(palette.get_by_role("link", name="Audit: Charts")).to_be_visible()
    check_accessibility(page, "dialog")
    field.press_sequentially("aud char")
    expect(palette.get_by_role("link")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Charts")
    wait_until_connected(page)
    page.keyboard.press("Control+k")
    field.fill("tour of questions")
    expect(palette.locator("[data-group=conversations] a")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/conversations/\d+"))
    wait_until_connected(page)
    page.keyboard.press("Control+k")
    field.fill("expand all that")
    palette.get_by_role("button", name="Expand all that is loaded").click()
    expect(palette).to_have_count(0)
    expect(page.locator("details[data-kind=tool_call_request]").first).to_have_attribute("open", "")


def test_palette_enter_opens_the_typed_entry_before_it_is_listed(visit: Visit):
    page = visit.open("/conversations")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(palette.locator("[data-group=conversations] a").first).to_be_visible()
    page.keyboard.type("tour of questions")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("A tour of questions")


def test_palette_of_a_menu_ignores_composition_and_closes_by_escape(visit: Visit):
    page = visit.open("/conversations")
    account = page.locator(".site-header .menu summary")
    account.click()
    page.get_by_role("link", name="Go to…").click()
    palette = page.get_by_role("dialog", name="Go to")
    field = palette.get_by_role("searchbox")
    expect(field).to_be_focused()
    field.fill("aud char")
    assert field.evaluate(COMPOSING_ENTER)
    field.clear()  # Escape clears a field that has text before it closes anything
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)
    expect(account).to_be_focused()
    expect(page.locator(".site-header .menu")).not_to_have_attribute("open", "")


def test_keys_lead_from_page_to_page(visit: Visit):
    page = visit.open("/search?q=backup")
    destinations = (("gc", "/conversations"), ("ga", "/audit"), ("gq", "/questions"))
    for keys, path in destinations[choose_size(2, 0) :]:
        page.keyboard.type(keys)
        page.wait_for_url(f"**{path}")
    page.keyboard.press("/")
    page.wait_for_url("**/search")
    expect(page.get_by_role("searchbox").first).to_be_focused()
    page.keyboard.type("gh")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search")


@pytest.mark.proof  # tests/web/views/workspaces/test_settings_page has its links and its form
def test_go_to_works_without_scripts(visit: Visit):
    page = visit.open("/", javascript=False)
    page.locator(".site-header .menu summary").click()
    page.get_by_role("link", name="Go to…").click()
    page.get_by_label("Conversation title").fill("tour of questions")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("[data-group=conversations] a")).to_have_count(1)
