"""The journey by keyboard alone: no mouse, and what has the focus can be seen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.browsing import journey
from tests.browser.browsing.shelf import Book
from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit
from tests.machine.ports import wait_until
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser

#: Stops of the tabulator before what is looked for must have come.
MOST = 60
#: What has the focus, where nothing of it can be seen.
_HIDDEN = """() => {
  const each = document.activeElement;
  const header = document.querySelector('.site-header');
  const bar = header.contains(each) ? 0 : header.offsetHeight;
  const seen = [...each.getClientRects()].some(({left, top, right, bottom}) => {
    const [x, y] = [left + right, Math.max(top, bar) + Math.min(bottom, innerHeight)];
    const over = document.elementFromPoint(x / 2, y / 2);
    return over && (each.contains(over) || over.contains(each));
  });
  return seen ? '' : each.outerHTML.slice(0, 200);
}"""
_FOCUSED = "each => each === document.activeElement"


def tab_to(page: Page, target: Locator) -> None:
    """Press the tabulator until something has the focus; each stop on the way can be seen."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        assert page.evaluate(_HIDDEN) == ""
        if target.evaluate(_FOCUSED):
            return
    raise AssertionError(f"{target}: not within {MOST} stops")


def search_and_follow(page: Page, book: Book) -> None:
    """Look for the words in the middle, and follow what was found."""
    tab_to(page, page.get_by_role("link", name="Search", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_label("Search all conversations")).to_be_focused()
    page.keyboard.type(f'"{book.middle}"')
    page.keyboard.press("Enter")
    hit = journey.find_hit(page, book)
    expect(hit.locator("mark").first).to_be_visible()
    page.wait_for_load_state("load")  # the keys are ours by then
    tab_to(page, page.get_by_role("link", name="Skip to content"))
    page.keyboard.press("Enter")
    link = hit.locator(".hit-link")
    for _ in range(MOST):
        page.keyboard.press("j")
        if link.evaluate(_FOCUSED):
            break
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/conversations/\d+\?at="))


def find_far_event(page: Page, book: Book) -> str:
    """Look in the conversation for the words far away; return the anchor of their event."""
    page.keyboard.press("f")
    expect(page.get_by_label("Find in conversation")).to_be_focused()
    page.keyboard.type(f'"{book.far}"')
    page.keyboard.press("Enter")
    expect(journey.find_match_count(page)).to_have_text(journey.HIT)
    return journey.wait_for_highlight(page, book.far)


def test_dialog_lists_each_key_once_and_the_palette(visit: Visit):
    page = visit.open("/conversations")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    keys = dialog.locator("dt").all_inner_texts()
    assert len(keys) == len(set(keys)), keys
    expect(dialog).to_contain_text("Next conversation")
    check_accessibility(page, "dialog")
    expect(dialog.locator("div", has_text="CtrlK")).to_have_text("CtrlKGo to…")


def test_browsing_journey_works_by_keyboard_alone(
    visit: Visit, book: Book, second_visitor: Visitor
):
    page = visit.open("/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with journey.check_requests(page):
        search_and_follow(page, book)
        anchor = journey.wait_for_highlight(page, book.middle)
        assert find_far_event(page, book) != anchor
        page.keyboard.press("Escape")
        expect(journey.find_match_count(page)).to_have_text("")
        question = journey.to_question(page, book)
        journey.check_folding(page, question, "Enter")
        page.keyboard.press("Tab")
        assert page.evaluate(_HIDDEN) == ""
        page.keyboard.press("l")
        expect(page.locator("#announcer")).to_have_text("Link copied.")
    link = str(page.evaluate("navigator.clipboard.readText()"))
    second_page = visit.open(re.sub(r"^\w+://[^/]+", "", link), who=second_visitor)
    wait_until(lambda: journey.is_clear(second_page, question), "they are at the same event")
