from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.pages import Visit, connected, path_of
from tests.machine.browsing import Pages
from tests.machine.fixtures import Live
from tests.machine.serving import Server

pytestmark = pytest.mark.browser


def test_the_printed_link_works_once(live: Live, open_page: Pages):
    open_page.forgive("status of 403")
    server = live()
    first = open_page(server.link)
    expect(first.get_by_role("link", name="A tour of questions and answers")).to_be_visible()
    expect(first.locator(".menu summary")).to_contain_text("Owner")
    second = open_page(server.link)
    expect(second.get_by_role("alert")).to_contain_text("not valid: it was used")
    second.goto(server.url)
    assert path_of(second) == "/sign-in"


def test_signing_out_ends_the_session_on_every_page(
    live: Live, visiting: Callable[[Server], Visit]
):
    visit = visiting(live())
    page = visit.open("/questions")
    other = visit.pages(f"{visit.server.url}/", beside=page)
    connected(other)
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status").filter(has_text="You are signed out.")).to_be_visible()
    expect(other.locator("#connection")).to_have_text(
        "You are signed out; reload the page to sign in."
    )
    page.goto(f"{visit.server.url}/questions")
    assert path_of(page) == "/sign-in"
