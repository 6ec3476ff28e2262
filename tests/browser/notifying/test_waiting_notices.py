"""That something waits, told on pages that show no card and while nobody looks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urljoin

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import (
    BOOLEAN,
    SELECT,
    TEXT,
    Visit,
    answer_question,
    find_card,
    find_waiting_count,
    stay_on_page,
    wait_until_connected,
)
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: A browser's notifications, noted; its permission is kept as a browser would. It has no service
#: worker, which would show them.
NOTED = """
  delete Navigator.prototype.serviceWorker;
  window.told = [];
  window.Notification = class {
    static get permission() { return localStorage.getItem("stand-in") || "default"; }
    static async requestPermission() {
      localStorage.setItem("stand-in", PERMITS);
      return PERMITS;
    }
    constructor(title, options) {
      if (REFUSES) throw new TypeError("Illegal constructor.");
      window.told.push({ title, ...options });
      window.latest = this;
      this.open = true;
    }
    close() { this.open = false; }
  };
  window.away = false;
  Object.defineProperty(document, "hidden", { get: () => window.away });
  window.look = (away) => {
    window.away = away;
    document.dispatchEvent(new Event("visibilitychange"));
  };
"""
BUTTON = "Turn on notifications on this device"


def get_notifications(page: Page) -> list[dict[str, Any]]:
    notifications: list[dict[str, Any]] = page.evaluate("window.told")
    return notifications


def list_shown_notifications(*pages: Page) -> list[dict[str, Any]]:
    """Return what pages tell of the one question that waits, once none of them can tell more.

    A page sets its timer in the task that changes its title, and asks for the lock thereafter.
    """
    for page in pages:
        expect(page).to_have_title(re.compile(r"^\(1\) "))
    pages[0].clock.run_for(1_000)  # the clock of all pages: they are of one browser
    for page in pages:
        page.evaluate("navigator.locks.request('jpweb-told', () => null)")
    return [notice for page in pages for notice in get_notifications(page)]


def open_questions_page(visit: Visit, permits: str = "granted", refuses: str = "false") -> Page:
    """Open the Questions page in a browser whose notifications are noted."""
    page = visit.open("/questions")
    script = NOTED.replace("PERMITS", repr(permits)).replace("REFUSES", refuses)
    page.context.add_init_script(f"(() => {{ {script} }})()")
    page.clock.install()
    page.reload()
    return page


def open_page_with_notifications(visit: Visit) -> Page:
    """Open it where somebody asked to be told."""
    page = open_questions_page(visit)
    page.get_by_role("button", name=BUTTON).click()
    expect(page.locator("#notify-toggle")).to_contain_text("You'll be notified")
    return page


def open_second_page(visit: Visit, page: Page, path: str, *, is_away: bool) -> Page:
    """Open another page in the same browser, looked at or not."""
    second_page = visit.pages(visit.server.url + path, sibling=page)
    wait_until_connected(second_page)
    expect(find_waiting_count(second_page)).to_have_attribute("data-count", "0")
    second_page.evaluate(f"window.look({str(is_away).lower()})")
    return second_page


@pytest.mark.proof  # test_push has it of another page
@pytest.mark.parametrize(
    ("permits", "message"), [("denied", "Notifications are blocked"), ("default", "")]
)
def test_blocked_desktop_notifications_are_explained(visit: Visit, permits: str, message: str):
    page = open_questions_page(visit, permits)
    page.get_by_role("button", name=BUTTON).click()
    expect(page.locator("#notify-toggle [role=status]")).to_contain_text(message)
    expect(page.get_by_role("button", name=BUTTON)).to_have_count(0 if message else 1)


@pytest.mark.proof  # a variant of one that does not permit it
def test_a_browser_that_cannot_is_explained(visit: Visit):
    page = visit.open("/questions")
    page.context.add_init_script("delete window.Notification")
    page.reload()
    expect(page.locator("#notify-toggle")).to_contain_text("Notifications aren't available")
    expect(page.get_by_role("button", name=BUTTON)).to_have_count(0)


@pytest.mark.proof  # a variant of one that does not permit it
def test_a_browser_that_refuses_at_last_is_explained(visit: Visit):
    page = open_questions_page(visit, refuses="true")
    page.get_by_role("button", name=BUTTON).click()
    wait_until_connected(page)
    page.evaluate("window.look(true)")
    visit.begin()
    expect(page.locator("#notify-toggle")).to_contain_text("Notifications aren't available")


def turn_off(page: Page) -> None:
    """Turn notifications of the browser off on its only page, and look away from it."""
    page.clock.resume()
    page.goto(urljoin(page.url, "/questions"))
    page.get_by_role("button", name="Turn off notifications on this device").click()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    wait_until_connected(page)
    page.evaluate("window.look(true)")


def test_hidden_pages_tell_a_question_once_unless_its_card_is_seen(visit: Visit):
    page = open_page_with_notifications(visit)
    away_page = open_second_page(visit, page, "/", is_away=True)
    wait_until_connected(page)
    # So that the page that is looked at claims the question before the other's delay is over.
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    turn_page = visit.begin()
    find_card(page, BOOLEAN)
    assert list_shown_notifications(page, away_page) == [], "its card is seen"

    page.evaluate("window.look(true)")
    answer_question(turn_page, BOOLEAN, "Yes")
    key = find_card(turn_page, SELECT).get_attribute("id") or ""
    for tab in (page, away_page):
        expect(find_waiting_count(tab)).to_have_attribute("data-newest", key)
    (notice,) = list_shown_notifications(page, away_page)
    assert notice["title"] == "Assistant"
    assert notice["body"] == "How should the pretend changes be applied?"
    (teller,) = [tab for tab in (page, away_page) if get_notifications(tab)]
    teller.evaluate("window.latest.onclick()")
    expect(find_card(teller, SELECT)).to_be_focused()

    away_page.close()
    turn_off(page)
    answer_question(turn_page, SELECT, "not at all")
    find_card(page, TEXT)
    assert list_shown_notifications(page) == [], "they are off"


@pytest.mark.proof  # hidden pages lead there as well
def test_a_page_with_the_card_leads_to_it_at_once(visit: Visit):
    page = open_page_with_notifications(visit)
    wait_until_connected(page)
    with stay_on_page(page):
        page.evaluate("window.look(true)")
        visit.begin()
        wait_until(lambda: len(get_notifications(page)) == 1, "the page tells")
        page.evaluate("window.latest.onclick()")
        expect(find_card(page, BOOLEAN)).to_be_focused()


@pytest.mark.proof  # hidden pages lead to the card
def test_a_page_without_a_desk_leads_to_the_page_of_the_question(visit: Visit):
    page = open_page_with_notifications(visit)
    page.goto(f"{visit.server.url}/audit")
    wait_until_connected(page)
    expect(find_waiting_count(page)).to_have_attribute("data-count", "0")
    page.evaluate("window.look(true)")
    visit.begin()
    wait_until(lambda: len(get_notifications(page)) == 1, "the page tells")
    page.evaluate("window.latest.onclick()")
    page.wait_for_url(re.compile(r"/questions/\d+#question-\d+$"))
    expect(find_card(page, BOOLEAN)).to_be_focused()


@pytest.mark.proof  # a variant
def test_desktop_notification_closes_when_its_question_is_settled(visit: Visit):
    page = open_page_with_notifications(visit)
    wait_until_connected(page)
    page.evaluate("window.look(true)")
    turn_page = visit.begin()
    wait_until(lambda: len(get_notifications(page)) == 1, "the page tells")
    assert page.evaluate("window.latest.open") is True
    turn_page.get_by_role("button", name="Stop", exact=True).click()
    wait_until(lambda: page.evaluate("window.latest.open") is False, "it is told no more")


@pytest.mark.proof  # tests/web/views/test_question has the text that the page gets
def test_desktop_notification_of_a_secret_question_omits_its_text(visit: Visit):
    page = open_page_with_notifications(visit)
    wait_until_connected(page)
    page.evaluate("window.look(true)")
    visit.begin("/call demo_vault {}")
    wait_until(lambda: len(get_notifications(page)) == 1, "the page tells")
    assert [notification["body"] for notification in get_notifications(page)] == [
        "Secret requested"
    ]


def test_the_count_is_in_the_title_and_in_the_icon(visit: Visit):
    page = visit.open("/audit")
    wait_until_connected(page)
    icon = page.locator("link[rel=icon]")
    plain = icon.get_attribute("href") or ""
    assert plain.endswith("icon.svg")
    turn_page = visit.begin()
    find_card(turn_page, BOOLEAN)
    expect(page).to_have_title("(1) Audit · jpweb")
    assert ">1</text>" in unquote(icon.get_attribute("href") or "")
    page.reload()
    assert ">1</text>" in unquote(icon.get_attribute("href") or "")
    turn_page.get_by_role("button", name="Stop", exact=True).click()
    expect(page).to_have_title("Audit · jpweb")
    expect(icon).to_have_attribute("href", re.compile(re.escape(plain)))


@pytest.mark.proof  # hidden pages tell in make test
def test_page_without_an_inbox_announces_new_questions(visit: Visit):
    page = visit.open("/audit")
    wait_until_connected(page)
    expect(page.locator("#announcer")).to_be_empty()
    visit.begin()
    expect(page.locator("#announcer")).to_have_text(
        "Assistant: Shall I show you how questions work?"
    )
