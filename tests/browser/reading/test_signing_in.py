from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_under_proof
from tests.browser.pages import (
    BOOLEAN,
    Visit,
    find_card,
    find_composer,
    path_of,
    wait_until_connected,
)
from tests.machine.ports import wait_until
from tests.machine.visiting import Visitor

pytestmark = pytest.mark.browser


def list_drafts(page: Page) -> list[str]:
    keys: list[str] = page.evaluate("Object.keys(sessionStorage)")
    return [key for key in keys if key.startswith("draft:")]


def make_link(visitor: Visitor) -> str:
    page_html = visitor.post("/account/link", "/account").text
    match = re.search("data-link>([^<]+)<", page_html)
    assert match
    return match[1]


def test_sign_in_link_of_another_account_requires_confirmation(visit: Visit):
    ada = visit.home.invite("Ada who stays", "responder")
    link = make_link(visit.home.owner)
    page = visit.open("/", who=ada)
    page.goto(link)
    expect(page.get_by_text("You are signed in as Ada who stays.")).to_be_visible()
    expect(page.get_by_label("Link, or the part after its #")).to_be_hidden()
    check_under_proof(page)
    page.get_by_role("link", name="Stay signed in").click()
    page.wait_for_url(f"{visit.server.url}/")
    expect(page.locator(".menu summary")).to_contain_text("Ada who stays")
    page.goto(link)
    page.get_by_role("button", name="Sign in with this link").click()
    page.wait_for_url(f"{visit.server.url}/")
    expect(page.locator(".menu summary")).to_contain_text("Owner")


def test_sign_in_without_scripts_takes_the_pasted_link(visit: Visit):
    link = make_link(visit.home.owner)
    page = visit.pages(link, javascript=False)
    page.get_by_label("Link, or the part after its #").fill(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".menu summary")).to_contain_text("Owner")


def test_signing_out_ends_the_session_and_removes_drafts_of_every_tab(visit: Visit):
    ada = visit.home.invite("Ada who signs out", "responder")
    page = visit.open("/conversations/new", who=ada)
    second_page = visit.pages(f"{visit.server.url}/conversations/new", sibling=page)
    wait_until_connected(second_page)
    for tab in (page, second_page):
        tab.get_by_label("First message").fill("not sent")
        assert list_drafts(tab)
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status").filter(has_text="Signed out.")).to_be_visible()
    expect(second_page.locator("#connection")).to_have_text(
        "You are signed out. Reload to sign in."
    )
    for tab in (page, second_page):
        wait_until(lambda: not list_drafts(tab), "drafts are gone")  # noqa: B023  called at once
    page.goto(f"{visit.server.url}/questions")
    assert path_of(page) == "/sign-in"


def test_form_that_is_sent_after_the_session_ended_asks_for_a_sign_in(visit: Visit):
    page = visit.open("/audit?demo=1&reason=lost")
    page.locator("tbody a.details").first.click()
    page.locator("[data-review-start]").click()
    form = page.locator("form[data-review]")
    form.get_by_role("radio").first.check()
    page.context.clear_cookies(name="jpweb_session")
    form.get_by_role("button", name="Save review").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert page.url == f"{visit.server.url}/sign-in#"


def test_link_to_an_event_opens_it_after_the_sign_in_that_it_wants(visit: Visit):
    path = visit.find("A tour of questions and answers")
    visit.pages.forgive("403")
    anchor = re.findall(r'id="(e-\w+)" data-kind="chat_request"', visit.home.owner.get(path).text)[
        -1
    ]
    page = visit.pages(f"{visit.server.url}{path}?at={anchor}#{anchor}")
    assert path_of(page) == "/sign-in"
    page.get_by_label("Link, or the part after its #").fill("used-up")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto(make_link(visit.home.owner))
    page.wait_for_url(f"**{path}?at={anchor}#{anchor}")
    expect(page.locator(f"[id='{anchor}']")).to_be_in_viewport()


def test_page_of_an_ended_session_keeps_what_it_shows_and_what_was_written(visit: Visit):
    visit.pages.forgive("403")
    page = visit.begin("Ended session")
    page.get_by_role("button", name="Stop", exact=True).click()
    field = find_composer(page)
    field.evaluate("field => { field.value = 'written at length'; }")  # no script hears of it
    cookies = page.context.cookies()
    page.context.clear_cookies(name=re.compile("session"))
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("b")
    expect(page.locator("body > .toast")).to_have_text("Not bookmarked. Try again.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # the same keys
    page.goto(f"{visit.server.url}{visit.begun_paths[-1]}")
    expect(field).to_have_value("written at length")
    page.get_by_role("button", name="Send").click()
    find_card(page, BOOLEAN)
    assert list_drafts(page) == []
