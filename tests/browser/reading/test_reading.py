from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import Visit, path_of

pytestmark = pytest.mark.browser

TOUR = "A tour of questions and answers"
CALL = "details[data-kind=tool_call_request]"
INQUIRY = "details[data-kind=inquiry_request]"
#: The static files of the page, each with the bytes that the server sent of it: 0 from the cache.
STATIC_FILES = """() => performance.getEntriesByType("resource")
  .filter(entry => entry.name.includes("/static/"))
  .map(entry => [entry.name, entry.transferSize])"""

#: The addresses of the beacons that a page sends when it is left.
LEAVE = """() => {
  const urls = [];
  navigator.sendBeacon = url => urls.push(url);
  dispatchEvent(new Event("pagehide"));
  return urls;
}"""


def titles(page: Page) -> list[str]:
    return page.locator("#list .row-link").all_inner_texts()


def tour(visit: Visit) -> Page:
    return visit.open(visit.find(TOUR))


def test_second_page_of_a_visit_asks_for_no_static_file_again(visit: Visit):
    page = visit.open(visit.find(TOUR), cached=False)
    names = {name for name, size in page.evaluate(STATIC_FILES) if size}
    assert {name.rpartition("/")[2] for name in names} >= {"jpweb.css", "jpweb.js", "socket.js"}
    page.get_by_role("link", name="Search", exact=True).click()
    page.wait_for_url("**/search")
    sizes = dict(page.evaluate(STATIC_FILES))
    assert names & sizes.keys()
    assert [name for name in sizes if name in names and sizes[name]] == []


def test_filter_box_filters_while_typing_says_so_and_back_undoes_it(visit: Visit):
    page = visit.open()
    box = page.get_by_label("Filter by title")
    box.press_sequentially("nobody")
    expect(page.locator("#list .row")).to_have_count(1)
    expect(page.locator("#list .row-link")).to_have_text("A night with nobody at the desk")
    expect(page).to_have_url(re.compile(r"\?q=nobody"))
    expect(box).to_be_focused()
    announcer = page.locator("#announcer")
    expect(announcer).to_have_text("1 conversation")
    page.reload()
    expect(page.locator("#list .row")).to_have_count(1)
    page.get_by_label("Filter by title").fill("no such title")
    expect(page.locator("#list .empty")).to_contain_text("No conversation has “no such title”")
    expect(announcer).to_contain_text("No conversation has “no such title” in its title.")
    page.go_back()
    expect(page.locator("#list .row")).to_have_count(1)


@pytest.mark.proof  # by its key in test_keys
def test_a_call_and_its_inquiry_unfold_by_mouse(visit: Visit):
    page = tour(visit)
    call = page.locator(CALL).filter(has=page.locator(INQUIRY)).first
    inquiry = call.locator(INQUIRY).first
    expect(inquiry).to_be_hidden()
    call.locator("> summary").click(position={"x": 8, "y": 12})
    expect(inquiry.locator("> summary")).to_be_visible()
    expect(inquiry.locator("[data-answer]")).to_be_hidden()
    inquiry.locator("> summary").click(position={"x": 8, "y": 12})
    expect(inquiry.locator("[data-answer]")).to_be_visible()
    call.locator("> summary").click(position={"x": 8, "y": 12})
    expect(inquiry).to_be_hidden()


@pytest.mark.proof  # by its key in test_keys
def test_a_call_and_its_inquiry_unfold_by_keyboard(visit: Visit):
    page = tour(visit)
    call = page.locator(CALL).filter(has=page.locator(INQUIRY)).first
    inquiry = call.locator(INQUIRY).first
    call.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(inquiry.locator("> summary")).to_be_visible()
    inquiry.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(inquiry.locator("[data-answer]")).to_be_visible()
    page.keyboard.press("Enter")
    expect(inquiry.locator("[data-answer]")).to_be_hidden()


@pytest.mark.proof  # test_keys does by brackets; test_layout presses the button
def test_expand_all_and_collapse_all_change_every_fold(visit: Visit):
    page = tour(visit)
    answers = page.locator("[data-answer]")
    page.get_by_role("button", name="Expand all").click()
    for index in range(answers.count()):
        expect(answers.nth(index)).to_be_visible()
    page.get_by_role("button", name="Collapse all", exact=True).click()
    expect(answers.first).to_be_hidden()


def test_permalink_expands_the_folds_around_its_target(visit: Visit):
    page = tour(visit)
    place = path_of(page)
    target = page.locator(f"{CALL} {INQUIRY}").last
    anchor = target.get_attribute("id")
    expect(target).to_be_hidden()
    second_page = visit.open(f"{place}#{anchor}")
    expect(second_page.locator(f"#{anchor}")).to_be_visible()
    expect(second_page.locator(f"#{anchor}")).to_be_in_viewport()
    with_the_hash_alone = f"{visit.server.url}{place}#{anchor}"
    page.goto(with_the_hash_alone)
    expect(target).to_be_in_viewport()


@pytest.mark.proof  # tests/web/events has it
def test_the_time_of_an_event_is_its_permalink(visit: Visit):
    page = tour(visit)
    article = page.locator("article[data-kind=chat_request]").last
    article.locator("a.timestamp").click()
    expect(page).to_have_url(re.compile(rf"#{article.get_attribute('id')}$"))
    expect(article).to_be_in_viewport()


def test_read_mark_is_sent_by_a_page_without_a_filter_alone(visit: Visit):
    path = visit.find(TOUR)
    marks = []
    for query in ("?at=end", "?show=problems"):
        page = visit.open(f"{path}{query}")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.locator("#transcript-end")).to_be_attached()
        marks.append([url.rpartition("/")[2] for url in page.evaluate(LEAVE)])
    assert marks == [["read"], []]
