from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pages import Visit, connected, path_of

pytestmark = pytest.mark.browser


def test_signing_out_ends_the_session_on_every_page(visit: Visit):
    ada = visit.home.invite("Ada who signs out", "responder")
    page = visit.open("/questions", who=ada)
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
