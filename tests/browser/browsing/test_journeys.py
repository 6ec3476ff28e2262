"""From a search to an event, through its conversation, and on to somebody else."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import journey
from tests.browser.browsing.conftest import LENGTH
from tests.browser.browsing.shelf import Book
from tests.browser.pages import Visit
from tests.browser.reading.windows import stretches
from tests.machine.ports import wait_until
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser

#: Bytes that a page may have.
MOST = 300_000
SUMMARY = {"x": 8, "y": 12}


def searched(page: Page, book: Book) -> None:
    """Look for the words in the middle, and follow what was found."""
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("Search all conversations").fill(f'"{book.middle}"')
    page.get_by_role("button", name="Search", exact=True).first.click()
    found = journey.hit(page, book)
    expect(found.locator("mark").first).to_be_visible()
    found.locator(".hit-link").click()
    page.wait_for_url(re.compile(r"/conversations/\d+\?at="))


def found_far(page: Page, book: Book) -> str:
    """Look in the conversation for the words far away; return the anchor of their event."""
    page.get_by_label("Find in conversation").fill(f'"{book.far}"')
    page.get_by_role("button", name="Find", exact=True).click()
    expect(journey.counted(page)).to_have_text(journey.HIT)
    return journey.landed(page, book.far)


def test_a_search_leads_to_an_event_and_its_address_to_the_same_for_somebody_else(
    visit: Visit, book: Book, other: Visitor
):
    page = visit.open("/")
    with journey.whole(page):
        searched(page, book)
        anchor = journey.landed(page, book.middle)
        assert found_far(page, book) != anchor
        question = journey.to_question(page, book)
        journey.folded(page, question, "o")
        expect(page).to_have_url(re.compile(rf"[?&]at={question}&.*#{question}$"))
    theirs = visit.pages()
    with journey.whole(theirs):
        _sign_in(theirs, visit, other)
        theirs.goto(page.url)
        expect(theirs.locator(f"#{question}")).to_have_js_property("open", value=True)
        wait_until(lambda: journey.clear(theirs, question), "they are at the same event")
        on_both = set(theirs.locator("#transcript .fold").evaluate_all(IDS))
        assert journey.folds(page) & on_both == journey.folds(theirs)


def test_find_reaches_what_is_far_from_what_is_loaded(visit: Visit, long_book: Book):
    page = visit.open("/")
    searched(page, long_book)
    journey.landed(page, long_book.middle)
    before = stretches(page)
    found_far(page, long_book)
    assert stretches(page)[-1][1] < before[0][0] - LENGTH // 10
    expect(journey.counted(page)).to_have_text("1 of 1 match")


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("", marks=pytest.mark.proof),
        f"?at={LENGTH // 2}",
        pytest.param("?at=end#composer", marks=pytest.mark.proof),
        pytest.param("?show=person,tools", marks=pytest.mark.proof),
    ],
)
def test_a_window_of_a_long_conversation_is_light_and_comes_alone(
    visit: Visit, long_book: Book, where: str
):
    link = re.search(rf'href="(/conversations/\d+)"[^>]*>\s*{long_book.title}<', _list(visit))
    assert link
    weight = len(visit.home.owner.get(link[1] + where).text.encode())
    assert weight <= MOST
    page = visit.open("/search")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(visit.server.url + link[1] + where)
    page.wait_for_load_state("networkidle")
    assert len(stretches(page)) == 1
    assert [url for url in asked if re.search("after=|before=", url)] == []


IDS = "all => all.map(each => each.id)"


def _list(visit: Visit) -> str:
    return visit.home.owner.get("/conversations?q=events").text


def _sign_in(page: Page, visit: Visit, who: Visitor) -> None:
    page.context.add_cookies(
        [
            {"name": each.name, "value": each.value or "", "url": visit.server.url}
            for each in who.cookies
        ]
    )
