"""Searching all conversations, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import looks
from tests.browser.pages import Visit

pytestmark = pytest.mark.browser

#: In the demo alone, and in one event of it.
WORDS = '"nightly run"'


def open_search(visit: Visit, query: str = "", *, javascript: bool = True) -> Page:
    """Return the page of a search, once all is indexed."""
    visit.home.owner.wait_until_indexed()
    page = visit.open("/search", javascript=javascript)
    if query:
        page.get_by_label("Search all conversations").fill(query)
        page.get_by_role("button", name="Search", exact=True).first.click()
    page.wait_for_load_state("load")  # the keys are ours by then
    return page


@pytest.mark.proof  # the journey of test_keyboard opens one
def test_search_hit_is_opened_and_highlighted_by_keyboard(visit: Visit):
    page = open_search(visit)
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.get_by_label("Search all conversations")).to_be_focused()
    page.keyboard.type(f"{WORDS} kind:question")
    page.keyboard.press("Enter")
    expect(page.locator(".hit mark").first).to_have_text("nightly run")
    expect(page).to_have_title(re.compile(r"conversations?, \d"))
    page.wait_for_load_state("load")
    first = page.locator(".hit").first
    anchor = first.get_attribute("data-anchor")
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(first.locator("a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/conversations/\d+\?at={anchor}&q=.*#{anchor}$"))
    expect(page.locator(f"#{anchor}")).to_have_count(1)


@pytest.mark.proof  # a variant
def test_search_url_omits_empty_filters(visit: Visit):
    page = open_search(visit, "nightly")
    expect(page).to_have_url(re.compile(r"/search\?q=nightly$"))
    page.get_by_text("Filters", exact=True).click()
    kind_field = page.get_by_role("combobox", name="Kind")
    kind_field.select_option("question")
    kind_field.press("Enter")
    page.get_by_role("button", name="Search", exact=True).last.click()
    expect(page).to_have_url(re.compile(r"/search\?q=nightly&kind=question$"))
    page.go_back()
    expect(page.get_by_label("Search all conversations")).to_be_enabled()


@pytest.mark.proof  # tests/web has the form
def test_the_same_without_scripts(visit: Visit):
    page = open_search(visit, WORDS, javascript=False)
    expect(page.locator(".hit")).not_to_have_count(0)
    page.get_by_text("Saved searches").click()
    page.get_by_label("Search name").fill("Nights")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_have_text("Saved as “Nights”.")
    page.goto(visit.server.url + "/search")
    page.get_by_text("Saved searches (1)").click()
    page.get_by_role("link", name="Nights").click()
    expect(page.locator(".hit")).not_to_have_count(0)
    page.get_by_text("Saved searches (1)").click()
    page.get_by_role("button", name="Delete the saved search Nights").click()
    expect(page.locator(".notice")).to_have_text("Deleted the saved search.")


@pytest.mark.proof  # test_accessibility looks at the results of another search
@pytest.mark.parametrize("query", ["the", "", "zzzzz colour:green", "kind:question"])
def test_search_page_is_accessible(visit: Visit, query: str):
    page = open_search(visit, query)
    if query:
        page.get_by_text("Filters", exact=True).click()
    looks.check_accessibility(page)
