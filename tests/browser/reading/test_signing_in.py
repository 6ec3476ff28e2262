from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Visit, connected, path_of
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser


def list_drafts(page: Page) -> list[str]:
    keys: list[str] = page.evaluate("Object.keys(sessionStorage)")
    return [key for key in keys if key.startswith("draft:")]


def test_signing_out_ends_the_session_on_every_page(visit: Visit):
    ada = visit.home.invite("Ada who signs out", "responder")
    page = visit.open("/questions", who=ada)
    other = visit.pages(f"{visit.server.url}/", beside=page)
    connected(other)
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status").filter(has_text="Signed out.")).to_be_visible()
    expect(other.locator("#connection")).to_have_text("You are signed out. Reload to sign in.")
    page.goto(f"{visit.server.url}/questions")
    assert path_of(page) == "/sign-in"


def test_sign_in_without_scripts_takes_the_pasted_link(visit: Visit):
    made = visit.home.owner.post("/account/link", "/account").text
    link = re.findall("data-link>([^<]+)<", made)[0]
    page = visit.pages(link, javascript=False)
    page.get_by_label("Link, or the part after its #").fill(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".menu summary")).to_contain_text("Owner")


def test_signing_out_removes_the_drafts_of_every_tab(visit: Visit):
    page = visit.open("/conversations/new", who=visit.home.invite("Drafting", "responder"))
    other = visit.pages(f"{visit.server.url}/conversations/new", beside=page)
    for each in (page, other):
        each.get_by_label("First message").fill("not sent")
        assert list_drafts(each)
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status").filter(has_text="Signed out.")).to_be_visible()
    for each in (page, other):
        wait_until(lambda: not list_drafts(each), "drafts are gone")  # noqa: B023  called at once
