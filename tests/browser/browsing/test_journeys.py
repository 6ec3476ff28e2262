"""From a search to an event, through its conversation, and on to somebody else."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import journey
from tests.browser.browsing.conftest import LENGTH
from tests.browser.browsing.shelf import Book
from tests.browser.pages import Visit
from tests.browser.reading.windows import list_window_ranges
from tests.machine.ports import wait_until
from tests.machine.sizes import choose_size
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser

#: Bytes that a page may have.
MOST = 300_000
#: Positions between a window and an event that is far from it.
MIN_DISTANCE = choose_size(150, LENGTH // 10)
SUMMARY = {"x": 8, "y": 12}


def search_and_follow(page: Page, book: Book) -> None:
    """Look for the words in the middle, and follow what was found."""
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("Search all conversations").fill(f'"{book.middle}"')
    page.get_by_role("button", name="Search", exact=True).first.click()
    hit = journey.find_hit(page, book)
    expect(hit.locator("mark").first).to_be_visible()
    hit.locator(".hit-link").click()
    page.wait_for_url(re.compile(r"/conversations/\d+\?at="))


def find_far_event(page: Page, book: Book) -> str:
    """Look in the conversation for the words far away; return the anchor of their event."""
    page.get_by_label("Find in conversation").fill(f'"{book.far}"')
    page.get_by_role("button", name="Find", exact=True).click()
    expect(journey.find_match_count(page)).to_have_text(journey.HIT)
    return journey.wait_for_highlight(page, book.far)


@pytest.mark.proof  # test_keyboard goes the same way; test_keys has the folds
def test_search_leads_to_an_event_whose_address_others_can_open(
    visit: Visit, book: Book, second_visitor: Visitor
):
    page = visit.open("/")
    with journey.check_requests(page):
        search_and_follow(page, book)
        anchor = journey.wait_for_highlight(page, book.middle)
        assert find_far_event(page, book) != anchor
        question = journey.to_question(page, book)
        journey.check_folding(page, question, "o")
        expect(page).to_have_url(re.compile(rf"[?&]at={question}&.*#{question}$"))
    second_page = visit.pages()
    with journey.check_requests(second_page):
        _sign_in(second_page, visit, second_visitor)
        second_page.goto(page.url)
        expect(second_page.locator(f"#{question}")).to_have_js_property("open", value=True)
        wait_until(lambda: journey.is_clear(second_page, question), "they are at the same event")
        on_both = set(second_page.locator("#transcript .fold").evaluate_all(IDS))
        assert journey.list_open_folds(page) & on_both == journey.list_open_folds(second_page)


@pytest.mark.proof  # the journey above finds one too
def test_find_reaches_events_far_from_the_loaded_window(visit: Visit, long_book: Book):
    page = visit.open("/")
    search_and_follow(page, long_book)
    journey.wait_for_highlight(page, long_book.middle)
    before = list_window_ranges(page)
    find_far_event(page, long_book)
    assert list_window_ranges(page)[-1][1] < before[0][0] - MIN_DISTANCE
    expect(journey.find_match_count(page)).to_have_text("1 of 1 match")


# tests/web/transcript/test_windows has the weight; reading/test_windows looks at what loads.
@pytest.mark.proof
@pytest.mark.parametrize(
    "query", ["", f"?at={LENGTH // 2}", "?at=end#composer", "?show=person,tools"]
)
def test_a_window_of_a_long_conversation_is_light_and_comes_alone(
    visit: Visit, long_book: Book, query: str
):
    link = re.search(rf'href="(/conversations/\d+)"[^>]*>\s*{long_book.title}<', _list(visit))
    assert link
    weight = len(visit.home.owner.get(link[1] + query).text.encode())
    assert weight <= MOST
    page = visit.open("/search")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.goto(visit.server.url + link[1] + query)
    page.wait_for_load_state("networkidle")
    assert len(list_window_ranges(page)) == 1
    assert [url for url in urls if re.search("after=|before=", url)] == []


IDS = "all => all.map(each => each.id)"


def _list(visit: Visit) -> str:
    return visit.home.owner.get("/conversations?q=events").text


def _sign_in(page: Page, visit: Visit, visitor: Visitor) -> None:
    page.context.add_cookies(
        [
            {"name": cookie.name, "value": cookie.value or "", "url": visit.server.url}
            for cookie in visitor.cookies
        ]
    )
