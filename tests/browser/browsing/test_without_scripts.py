"""The journey with scripts off: pages, links and forms."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import journey
from tests.browser.browsing.conftest import LENGTH
from tests.browser.browsing.shelf import Book, middle_turn
from tests.browser.pages import Visit
from tests.browser.reading.windows import list_window_ranges
from tests.load.synthetic import make_needle
from tests.machine.ports import wait_until
from tests.machine.sizes import choose_size
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser

#: Characters of a result that is not shown whole in its conversation.
LARGE = 100_000


def search_and_follow(page: Page, words: str, book: Book) -> None:
    """Look for words, and follow what was found."""
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("Search all conversations").fill(f'"{words}"')
    page.get_by_role("button", name="Search", exact=True).first.click()
    journey.find_hit(page, book).locator(".hit-link").click()


def target(page: Page) -> str:
    """Expect the event that the address names on the screen; return its anchor."""
    anchor = page.url.rpartition("#")[2]
    expect(page.locator(f"#{anchor}")).to_have_count(1)
    wait_until(lambda: journey.is_clear(page, anchor), "it is on the screen")
    return anchor


def follow_link(page: Page, name: str) -> None:
    """Press a link, and wait until the page that it leads to is loaded."""
    with page.expect_navigation():
        page.get_by_role("link", name=name).click()


def test_pages_lead_from_a_search_to_an_event_and_to_far_events(
    visit: Visit, book: Book, second_visitor: Visitor
):
    page = visit.open("/", javascript=False, who=second_visitor)
    with journey.check_requests(page):
        search_and_follow(page, book.middle, book)
        anchor = target(page)
        assert book.middle in journey.words_at(page, anchor)
        page.get_by_label("Find in conversation").fill(f'"{book.far}"')
        page.get_by_role("button", name="Find", exact=True).click()
        count = re.compile(r"\d+ match(es)?$")
        expect(page.locator("#count")).to_have_text(count)
        page.locator(".hit-link").first.click()
        far_anchor = target(page)
        assert far_anchor != anchor
        assert book.far in journey.words_at(page, far_anchor)


# tests/web/transcript/test_windows follows the windows and the outline, tests/web/views/test_find
# the steps, both without scripts; test_payloads shows all of a result.
@pytest.mark.proof
def test_the_outline_the_windows_and_an_event_are_pages_of_their_own(visit: Visit, long_book: Book):
    page = visit.open("/", javascript=False)
    with journey.check_requests(page):
        middle = middle_turn(LENGTH)
        search_and_follow(page, make_needle(middle), long_book)
        # The turn after it holds a result that is too large for the page.
        turn = page.locator(f"#outline li[data-turn='{middle + 1}']")
        turn.locator("summary").click()
        turn.get_by_role("link", name="Tool calls and questions").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(
            re.compile(f"^Turn {middle + 2}:")
        )
        page.get_by_role("link", name="fs_read_file").click()
        call = page.locator(f"#{target(page)}")
        call.locator("> summary").click()
        call.get_by_role("link", name="Show all").click()
        expect(page.get_by_role("heading", name="Result")).to_be_visible()
        page.wait_for_load_state()  # the heading stands before the end of a long result
        assert len(page.locator(".full-payload .text").first.inner_text()) > LARGE
        page.locator(".back a").click()
        target(page)
        (_, last), *_ = list_window_ranges(page)
        follow_link(page, "Later events")
        assert list_window_ranges(page)[0][0] == last + 1
        follow_link(page, "Earlier events")
        assert list_window_ranges(page)[0][1] == last
        for word in ("question", "prompt", "problem")[: choose_size(1, 3)]:
            follow_link(page, f"Next {word}")
            assert list_window_ranges(page)[0][1] > last
            target(page)
            first, _ = list_window_ranges(page)[0]
            follow_link(page, f"Previous {word}")
            assert list_window_ranges(page)[0][0] < first
            target(page)
