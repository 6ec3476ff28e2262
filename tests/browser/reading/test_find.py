"""Find in a conversation: counts, goes to what is not loaded, lights it, closes by Escape."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.library import FAR_TURN, LAST_WORD, LONG_RESULT, MIDDLE
from tests.browser.pages import Visit
from tests.browser.reading.windows import (
    ITEMS,
    get_address_params,
    get_current_anchor,
    list_window_ranges,
    long_one,
)
from tests.load.synthetic import make_needle
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: Goes back, and has the page note where its reader stands before it is loaded again.
BACK_WHILE_IT_SCROLLS = """() => {
  addEventListener('popstate', () => {
    window.setTimeout = (act) => act();
    document.dispatchEvent(new Event('scroll'));
  });
  history.back();
}"""
LIT = """name => [...(CSS.highlights.get(name) || [])].map(range => range.toString())"""
SEEN = """() => [...CSS.highlights.get('current-match')].some(range => {
  const {top, bottom} = range.getBoundingClientRect();
  return top >= 50 && bottom <= innerHeight && bottom > top;
})"""


@pytest.fixture
def indexed_path(shelf: Visit) -> str:
    """Return the path of the long conversation, once all of it can be found."""
    shelf.home.owner.wait_until_indexed(120)
    return long_one(shelf)


def count(page: Page) -> Locator:
    return page.locator("#find [role=status]")


def find(page: Page, words: str) -> None:
    page.keyboard.press("f")
    page.get_by_label("Find in conversation").fill(words)
    page.keyboard.press("Enter")


def list_highlights(page: Page, name: str = "match") -> list[str]:
    return [str(text) for text in page.evaluate(LIT, name)]


def test_find_counts_matches_if_any_and_cycles_through_them(shelf: Visit, indexed_path: str):
    page = shelf.open(indexed_path)
    find(page, "no such word anywhere")
    expect(count(page)).to_have_text("No matches")
    expect(page.locator("#transcript [aria-current]")).to_have_count(0)
    find(page, f'"{make_needle(1)}"')
    expect(count(page)).to_have_text("1 of 1 match")
    page.get_by_label("Find in conversation").fill("look after bed 79")
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text(re.compile(r"^1 of \d+ matches$"))
    first = get_current_anchor(page)
    page.get_by_role("button", name="Next match").click()
    expect(count(page)).to_have_text(re.compile(r"^2 of \d+ matches$"))
    page.get_by_role("button", name="Previous match").click()
    expect(count(page)).to_have_text(re.compile(r"^1 of \d+ matches$"))
    assert get_current_anchor(page) == first
    page.get_by_role("button", name="Previous match").click()
    expect(count(page)).to_have_text(re.compile(r"^([\d,]+) of \1 matches$"))


def test_a_hit_that_is_not_loaded_is_fetched_and_lit(shelf: Visit, indexed_path: str):
    page = shelf.open(indexed_path)
    find(page, make_needle(FAR_TURN))
    expect(count(page)).to_have_text("1 of 1 match")
    assert list_window_ranges(page)[0][0] > 1000
    assert list_highlights(page, "current-match") == [make_needle(FAR_TURN)]
    assert page.evaluate(SEEN)
    page.wait_for_load_state("networkidle")  # what comes later moves nothing back
    assert page.evaluate(SEEN)
    assert get_address_params(page)["q"] == make_needle(FAR_TURN)
    assert get_address_params(page)["at"] == get_current_anchor(page)
    page.go_back()
    expect(page.locator("#turn-0")).to_have_count(1)


@pytest.mark.proof  # a variant
def test_browser_back_during_scrolling_restores_the_position(shelf: Visit, indexed_path: str):
    page = shelf.open(indexed_path)
    find(page, make_needle(FAR_TURN))
    expect(count(page)).to_have_text("1 of 1 match")
    page.evaluate(BACK_WHILE_IT_SCROLLS)
    expect(page.locator("#turn-0")).to_have_count(1)


@pytest.mark.proof  # a variant
def test_find_key_n_continues_outside_the_field(shelf: Visit, indexed_path: str):
    page = shelf.open(indexed_path)
    find(page, "planner")
    expect(count(page)).to_have_text(re.compile("^1 of"))
    first = get_current_anchor(page)
    current_words = list_highlights(page, "current-match")
    assert set(current_words) == {"planner"}
    assert len(list_highlights(page)) > len(current_words)
    page.get_by_label("Find in conversation").blur()
    page.keyboard.press("n")
    expect(count(page)).to_have_text(re.compile("^2 of"))
    assert get_current_anchor(page) != first
    page.keyboard.press("N")
    expect(count(page)).to_have_text(re.compile("^1 of"))
    assert get_current_anchor(page) == first


@pytest.mark.proof  # the call of the test below is folded too
def test_a_fold_that_hides_a_hit_is_unfolded(visit: Visit):
    page = visit.open(visit.find("A night with nobody at the desk"))
    visit.home.owner.wait_until_indexed()
    hidden = page.locator("#transcript .fold.tool [data-payload=content]").first
    words = (hidden.text_content() or "").split()[0]
    find(page, f'"{words}"')
    expect(count(page)).to_have_text(re.compile(r"^\d+ of"))
    assert page.evaluate(SEEN)


def test_find_fetches_a_match_beyond_the_shown_part_of_a_result(shelf: Visit):
    page = shelf.open(shelf.find(LONG_RESULT))
    assert LAST_WORD not in (page.locator("#transcript .result").text_content() or "")
    shelf.home.owner.wait_until_indexed()
    find(page, LAST_WORD)
    wait_until(
        lambda: list_highlights(page, "current-match") == [LAST_WORD], "the hit is there and lit"
    )
    assert page.evaluate(SEEN)


@pytest.mark.proof  # a variant
def test_escape_closes_only_find(shelf: Visit, indexed_path: str):
    page = shelf.open(indexed_path)
    find(page, make_needle(1))
    expect(count(page)).to_have_text("1 of 1 match")
    anchor = get_current_anchor(page)
    page.keyboard.press("Escape")
    expect(count(page)).to_have_text("")
    assert list_highlights(page) == []
    assert "q" not in get_address_params(page)
    assert get_current_anchor(page) == anchor
    assert page.locator(f"#{anchor}").evaluate("each => each.contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert get_current_anchor(page) == anchor


@pytest.mark.proof  # convenience
def test_opening_find_leaves_the_reader_where_they_are(shelf: Visit, indexed_path: str):
    page = shelf.open(f"{indexed_path}?at={MIDDLE}")
    page.locator(ITEMS).nth(20).evaluate("each => each.scrollIntoView({behavior: 'instant'})")
    before = page.evaluate("scrollY")
    page.keyboard.press("/")
    expect(page.get_by_label("Find in conversation")).to_be_focused()
    expect(page.get_by_label("Find in conversation")).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 2


@pytest.mark.proof  # the journey of browsing/test_keyboard follows one
def test_search_hit_link_opens_find_with_highlighted_words(shelf: Visit, indexed_path: str):
    reply = shelf.home.owner.get(f"{indexed_path}/find?q={make_needle(40)}").text
    link = re.search(r'class="row-link hit-link" href="([^"]+)"', reply)
    assert link
    page = shelf.open(link[1].replace("&amp;", "&"))
    expect(count(page)).to_have_text("1 of 1 match")
    assert list_highlights(page, "current-match") == [make_needle(40)]
    expect(page.get_by_label("Find in conversation")).to_have_value(make_needle(40))
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SEEN)
    expect(count(page)).to_have_text("1 of 1 match")
