from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check
from tests.browser.pages import BOOLEAN, SECRET, SELECT, TEXT, Visit, card, decline

pytestmark = pytest.mark.browser


def test_the_pages_to_read_bar_nobody(visit: Visit):
    visit.pages.forgive("status of 404")
    page = visit.open()
    people = visit.home.workspaces()["Demo"]
    for path in (
        "/",
        "/conversations",
        "/conversations?q=no+such&sort=length",
        "/conversations/new",
        "/audit",
        f"/workspaces/{people}/people",
        f"/workspaces/{people}/waiting",
        f"/workspaces/{people}/tools",
    ):
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
def test_a_conversation_bars_nobody_folded_and_unfolded(visit: Visit, title: str):
    page = visit.open()
    page.get_by_role("link", name=title).click()
    check(page)
    page.get_by_role("button", name="Unfold all").click()
    check(page)


def test_open_cards_and_what_became_of_them_bar_nobody(visit: Visit):
    page = visit.begin("Card")
    for kind in (BOOLEAN, SELECT, TEXT, SECRET):
        card(page, kind)
        check(page)
        decline(page, kind)
    check(page)
    page.goto(f"{visit.server.url}/questions")
    check(page)
