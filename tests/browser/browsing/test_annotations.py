"""Comments and bookmarks in a conversation that is open in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import Visit
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

TOUR = "A tour of questions and answers"
#: What a new revision does: the transcript is shown again, and the blocks below its items are not.
SHOW_WITHOUT_BLOCKS = """() => {
  const detail = { message: "" };
  document.dispatchEvent(new CustomEvent("htmx:wsBeforeMessage", { detail }));
  for (const block of document.querySelectorAll(".annotations")) block.remove();
  document.dispatchEvent(new CustomEvent("htmx:wsAfterMessage", { detail }));
}"""


def test_comment_is_written_in_place_and_appears_on_another_page(visit: Visit):
    path = visit.find(TOUR)
    reader_page, page = visit.open(path), visit.open(path)
    prompt = page.locator("[data-kind=chat_request]").first
    prompt.get_by_role("link", name="Comment").click()
    field = page.get_by_role("textbox", name="Comment")
    expect(field).to_be_focused()
    field.fill("Is this **still** so?")
    page.get_by_role("button", name="Comment", exact=True).click()
    for shown_page in (page, reader_page):
        expect(shown_page.locator(".comment strong")).to_have_text("still")
        expect(shown_page.locator("#comment-status")).to_contain_text("1 comment")
    check_accessibility(page, ".annotations")
    page.get_by_role("link", name="Reply, edit or resolve").click()
    page.get_by_role("button", name="Resolve").click()
    expect(reader_page.get_by_text("Resolved by")).to_be_visible()
    expect(reader_page.locator("#comment-status a")).to_have_count(0)
    page.get_by_role("link", name="Reply, edit or reopen").click()
    page.locator(".annotations summary", has_text="Delete").click()
    page.get_by_role("button", name=re.compile("^Delete")).click()
    for shown_page in (page, reader_page):
        expect(shown_page.locator(".annotations")).to_have_count(0)


def test_keys_bookmark_the_event_and_lead_to_the_next_conversation(visit: Visit):
    page = visit.open(visit.find(TOUR))
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.locator(".bookmark-mark")).to_have_count(1)
    page.keyboard.press("b")
    expect(page.locator(".bookmark-mark")).to_have_count(0)
    page.keyboard.press(">")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text(TOUR)
    expect(page).to_have_url(re.compile(r"/conversations/\d+$"))
    page.wait_for_load_state("load")
    page.keyboard.press("<")
    expect(page.get_by_role("heading", level=1)).to_contain_text(TOUR)


def test_block_loaded_while_its_bookmark_is_removed_shows_none(visit: Visit):
    page = visit.open(visit.find(TOUR))
    page.route_web_socket(re.compile("/ws$"), lambda _: None)  # its messages load blocks too
    page.reload()
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.locator(".bookmark-mark")).to_have_count(1)
    requests, held = [], []
    page.route(re.compile("/comments/e-"), lambda route: held.append((route, route.fetch().body())))
    page.on("request", lambda request: requests.append(request.method))
    with page.expect_request(re.compile("/comments/e-")):
        page.evaluate(SHOW_WITHOUT_BLOCKS)
    page.keyboard.press("b")
    wait_until(lambda: page.evaluate("true") and held, "the block is read")
    assert requests == ["GET"]
    [(route, body)] = held
    route.fulfill(body=body, content_type="text/html")
    expect(page.locator("#announcer")).to_have_text("Bookmark removed.")
    expect(page.locator(".bookmark-mark")).to_have_count(0)


def test_comment_draft_survives_a_bookmark_and_a_reload_until_it_is_sent(visit: Visit):
    visit.pages.forgive("ERR_INTERNET_DISCONNECTED|htmx:|WebSocket")
    page = visit.open(visit.find(TOUR))
    page.keyboard.press("j")
    page.keyboard.press("c")
    field = page.get_by_role("textbox", name="Comment")
    field.fill("Half a thought")
    for mark_count in (1, 0):
        page.locator("main h1").click()
        page.keyboard.press("b")
        expect(page.locator(".bookmark-mark")).to_have_count(mark_count)
        expect(field).to_have_value("Half a thought")
    page.keyboard.press("c")
    expect(field).to_be_focused()
    expect(field).to_have_value("Half a thought")
    page.context.set_offline(True)
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator("body > .toast")).to_contain_text("Not saved.")
    page.context.set_offline(False)
    page.reload()
    page.keyboard.press("c")
    expect(field).to_have_value("Half a thought")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".comment-text")).to_have_text("Half a thought")
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Reply")).to_have_value("")
    page.locator(".annotations summary", has_text="Delete").click()
    page.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.locator(".comment-text")).to_have_count(0)


def test_reply_on_the_page_of_comments_is_no_draft_once_sent(visit: Visit):
    path = visit.find(TOUR)
    match = re.search(r'id="(e-\w+)" data-kind="chat_request"', visit.home.owner.get(path).text)
    assert match
    page = visit.open(f"{path}/comments/{match[1]}")
    page.get_by_role("textbox", name="Comment").fill("First")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".comment-text")).to_have_text("First")
    page.reload()
    expect(page.get_by_role("textbox", name="Reply")).to_have_value("")
    page.locator(".annotations summary", has_text="Delete").click()
    page.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.locator(".comment-text")).to_have_count(0)


def test_bookmark_button_of_the_model_view_marks_its_event(visit: Visit):
    page = visit.open(f"{visit.find(TOUR)}/thread")
    prompt = page.locator("[data-kind=chat_request]").first
    prompt.get_by_role("button", name="Bookmark").click()
    expect(page.locator(".bookmark-mark")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/thread#e-"))
    expect(prompt).to_be_in_viewport()
    check_under_proof(page)
    prompt.get_by_role("button", name="Bookmark").click()
    expect(page.get_by_text("Bookmark removed.")).to_have_count(1)
    expect(page.locator(".bookmark-mark")).to_have_count(0)
