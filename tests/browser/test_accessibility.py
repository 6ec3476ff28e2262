from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import BOOLEAN, SECRET, SELECT, TEXT, Visit, card, decline
from tests.machine.browsing import PHONE, WIDE, inaccessible

pytestmark = pytest.mark.browser

LOOKS: dict[str, tuple[Literal["light", "dark"], tuple[int, int]]] = {
    "light": ("light", WIDE),
    "dark": ("dark", WIDE),
    "phone, light": ("light", PHONE),
    "phone, dark": ("dark", PHONE),
}
TOO_WIDE = """() => {
  const room = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth > room && [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > room + 1).slice(0, 5)
    .map(e => e.tagName + '#' + e.id + '.' + e.className);
}"""


@pytest.fixture(params=LOOKS)
def page(request: pytest.FixtureRequest, visit: Visit) -> Page:
    """Open a page in each look."""
    scheme, size = LOOKS[request.param]
    return visit.open(scheme=scheme, size=size)


def check(page: Page) -> None:
    """Find nothing that bars anybody, and no need to scroll sideways."""
    assert inaccessible(page) == []
    assert not page.evaluate(TOO_WIDE)


def test_the_pages_to_read_bar_nobody(visit: Visit, page: Page):
    visit.pages.forgive("status of 404")
    people = visit.home.workspaces()["Demo"]
    for path in ("/", "/?q=no+such", "/conversations/new", "/audit", f"/workspaces/{people}/people"):
        page.goto(visit.server.url + path)
        check(page)
    page.locator(".menu summary").click()
    check(page)
    page.goto(visit.server.url + "/no-such-page")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    check(page)
    page.context.clear_cookies()
    page.goto(visit.server.url + "/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    check(page)


@pytest.mark.parametrize(
    "title",
    [
        "A tour of questions and answers",
        "A night with nobody at the desk",
        "What hostile text looks like here",
    ],
)
def test_a_conversation_bars_nobody_folded_and_unfolded(page: Page, title: str):
    page.get_by_role("link", name=title).click()
    check(page)
    page.get_by_role("button", name="Unfold all").click()
    check(page)


def test_open_cards_and_what_became_of_them_bar_nobody(visit: Visit, page: Page):
    page.get_by_role("link", name="New conversation").click()
    visit.begin_on(page, "Card")
    for kind in (BOOLEAN, SELECT, TEXT, SECRET):
        card(page, kind)
        check(page)
        decline(page, kind)
    check(page)
    page.goto(f"{visit.server.url}/questions")
    check(page)
