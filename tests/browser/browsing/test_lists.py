"""Lists of conversations, by keyboard alone, with the network failing, and with scripts off."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit, path_of, wait_until_connected
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser


def get_focused_title(page: Page) -> str:
    """Return the title of the row that has the focus."""
    return str(page.evaluate("document.activeElement.closest('.row')?.dataset.conversation || ''"))


def rows(page: Page) -> list[str]:
    row_locators = page.locator("#list .row").all()
    return [row.get_attribute("data-conversation") or "" for row in row_locators]


def begin_and_list(visit: Visit, title: str) -> Page:
    """Begin a conversation; return the list that shows it alone."""
    visit.begin_unseen(title)
    page = visit.open(f"/conversations?q={title}")
    expect(page.locator("#list .row")).to_have_count(1)
    return page


def test_conversation_list_is_navigated_by_keyboard(visit: Visit):
    page = visit.open()
    row_ids = rows(page)
    for key, at in (("j", 0), ("j", 1), ("ArrowDown", 2), ("k", 1), ("ArrowUp", 0), ("k", 0)):
        page.keyboard.press(key)
        assert get_focused_title(page) == row_ids[at], key
    page.keyboard.press("/")
    box = page.get_by_label("Filter by title")
    expect(box).to_be_focused()
    page.keyboard.type("jk?pe/")
    expect(box).to_have_value("jk?pe/")
    box.fill("")
    page.keyboard.type("nobody")
    expect(page).to_have_url(re.compile(r"\?q=nobody"))
    expect(page.locator("#list .row")).to_have_count(1)
    page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/conversations/\d+"))
    expect(page.get_by_role("heading", name="A night with nobody at the desk")).to_be_visible()


@pytest.mark.proof  # test_keyboard lists them, test_keys closes the list
def test_keyboard_help_lists_shortcuts_and_restores_the_focus(visit: Visit):
    page = visit.open()
    page.keyboard.press("j")
    focus_id = get_focused_title(page)
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(listed).to_contain_text("Next conversation")
    check_accessibility(page, "dialog")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(listed).to_have_count(0)
    assert get_focused_title(page) == focus_id


@pytest.mark.proof  # test_keys has the same
def test_keys_with_a_modifier_are_the_browsers(visit: Visit):
    page = visit.open()
    page.keyboard.press("Control+j")
    assert get_focused_title(page) == ""


def test_pin_and_archive_by_keyboard_keep_the_focus(visit: Visit):
    page = begin_and_list(visit, "Keyboard roses")
    (row_id,) = rows(page)
    page.keyboard.press("j")
    for key, notice in (("p", "Pinned “Keyboard roses”"), ("p", "Unpinned “Keyboard roses”")):
        page.keyboard.press(key)
        expect(page.locator(".notice.success")).to_contain_text(notice)
        expect(page.locator(".row:focus-within")).to_have_attribute("data-conversation", row_id)
        expect(page.locator("#list .row.pinned")).to_have_count(int("Pinned" in notice))
        wait_until_connected(page)
    page.keyboard.press("e")
    expect(page.locator(".notice.success")).to_contain_text("Archived “Keyboard roses”")
    expect(page.locator("#list .row")).to_have_count(0)
    wait_until_connected(page)
    page.get_by_label("Archived").check()
    expect(page.locator("#list .row")).to_have_count(1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator(".notice.success")).to_contain_text("Unarchived “Keyboard roses”")


@pytest.mark.proof  # test_layout has it of the toolbar's menus
def test_a_menu_closes_by_escape_and_gives_the_focus_back(visit: Visit):
    page = begin_and_list(visit, "Menu roses")
    menu = page.locator(".row-menu summary")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pin")).to_be_visible()
    check_accessibility(page, ".row-menu")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Pin")).to_be_hidden()
    expect(menu).to_be_focused()


def test_a_list_that_cannot_be_fetched_says_so_and_is_tried_again(visit: Visit):
    visit.pages.forgive("ERR_FAILED|htmx:sendError|htmx:afterRequest")
    page = visit.open()
    page.route("**/conversations?*", lambda route: route.abort())
    page.get_by_label("Filter by title").fill("nobody")
    error = page.locator("#list-error")
    expect(error).to_contain_text("Couldn't refresh the list")
    assert len(rows(page)) > 1, "what was there still is"
    expect(page.locator("#list")).to_have_attribute("aria-busy", "false")
    page.unroute("**/conversations?*")
    error.get_by_role("button", name="Retry").click()
    expect(page.locator("#list .row")).to_have_count(1)
    expect(error).to_be_hidden()
    assert "sort=" not in page.url, "what is empty is not in the address"


@pytest.mark.proof  # tests/web/views has the form
def test_a_title_and_labels_are_changed_with_scripts_off(visit: Visit):
    begin_and_list(visit, "Plain roses")
    page = visit.open("/conversations?q=Plain+roses", javascript=False)
    page.locator(".row-menu summary").click()
    page.get_by_role("link", name="Rename, label…").click()
    page.get_by_label("Title").fill("Plain tulips")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator(".notice.success")).to_contain_text("Renamed to “Plain tulips”")
    page.get_by_label("Label (name").fill("colour=red")
    page.get_by_role("button", name="Add label").click()
    expect(page.get_by_role("button", name="Remove label colour=red")).to_be_visible()
    page.get_by_role("link", name="← Plain tulips").click()
    page.goto(f"{visit.server.url}/conversations?label=colour=red")
    expect(page.locator("#list .row")).to_have_count(1)
    page.locator(".row-menu summary").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("#list .empty")).to_contain_text("No matching conversations")
    assert path_of(page) == "/conversations"


def test_start_page_opens_open_questions_by_keyboard(visit: Visit):
    visit.begin_unseen("Start roses")
    wait_until(lambda: "Shall I show you" in visit.home.owner.get("/").text, "a question waits")
    page = visit.open("/")
    check_accessibility(page)
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_contain_text("Shall I show you how questions work?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/questions/\d+"))
