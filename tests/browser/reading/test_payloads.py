"""What events hold, in a real browser: fetched when it is seen, copied, and read by everybody."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import TOO_WIDE, check_accessibility
from tests.browser.pages import Home, Visit, wait_until_connected
from tests.browser.payloads import DIFF, PAYLOADS_TITLE
from tests.machine.browsing import Pages
from tests.machine.ports import wait_until
from tests.machine.sizes import IS_PROOF

pytestmark = pytest.mark.browser

#: What is seen may be replaced by itself in colours at any moment.
SCROLL = "each => each.scrollIntoView()"


@pytest.fixture
def page(shelf: Visit) -> Page:
    """Open the conversation with one payload of each look."""
    page = shelf.open(shelf.find(PAYLOADS_TITLE))
    wait_until_connected(page)
    return page


def call(page: Page, tool: str) -> None:
    """Unfold a tool call by keyboard, and the group of calls that it may be in."""
    run = page.locator(".call-group", has=page.locator(f"[data-tool={tool}]"))
    if run.count() and run.get_attribute("open") is None:
        run.locator("> summary").press("Enter")
    page.locator(f"[data-tool={tool}] > summary").focus()
    page.keyboard.press("Enter")


def test_long_result_is_fetched_when_unfolded_and_a_message_on_demand(page: Page):
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    content = page.locator("[data-tool=read] [data-payload=content]")
    expect(content).to_contain_text("Truncated (total: 28,890 characters, 3,000 lines).")
    call(page, "read")
    expect(content).to_contain_text("line 2999")
    expect(content.get_by_role("link", name="Download all")).to_be_visible()
    call(page, "read")
    call(page, "read")
    expect(content).to_contain_text("line 2999")
    assert len([url for url in urls if "/events/" in url]) == 1
    message = page.locator("article.assistant [data-payload=content]").last
    link = message.get_by_role("link", name="Show all")
    link.focus()
    page.keyboard.press("Enter")
    expect(message).to_contain_text("line 2999")
    expect(message).to_be_focused()


def test_code_is_colored_once_it_is_seen_and_copied_alone(page: Page):
    content = page.locator("article.assistant [data-payload=content]").first
    content.evaluate(SCROLL)
    expect(content.locator(".k").first).to_have_text("def")
    assert "Look:" in content.inner_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = page.locator("article.assistant pre").first
    words = block.inner_text()
    block.hover()
    block.get_by_role("button", name="Copy this block").click()
    expect(page.locator("#announcer")).to_have_text("Block copied.")
    assert page.evaluate("navigator.clipboard.readText()").strip() == words.strip()
    assert "Copy" not in words


def test_a_message_a_call_and_a_link_are_copied(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    script = "navigator.clipboard.readText()"
    article = page.locator("article.person")
    article.get_by_role("button", name="Copy", exact=True).press("Enter")
    expect(page.locator("#announcer")).to_have_text("Message copied.")
    assert page.evaluate(script) == "Show me *everything*."
    article.get_by_role("button", name="Copy link").click()
    expect(page.locator("#announcer")).to_have_text("Link copied.")
    page.goto(page.evaluate(script))
    expect(page.locator("article.person:target")).to_be_visible()
    call(page, "write")
    page.locator("[data-tool=write]").get_by_role("button", name="Copy as JSON").click()
    expect(page.locator("#announcer")).to_have_text("Tool call copied.")
    assert json.loads(page.evaluate(script))["result"]["content"] == DIFF


@pytest.mark.proof  # a variant
def test_copy_button_announces_a_failure(page: Page, open_page: Pages):
    open_page.forgive("status of 404")
    page.route("**/content.txt", lambda route: route.fulfill(status=404))
    page.locator("article.person").get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator("#announcer")).to_contain_text("Message not copied.")


def test_event_payloads_are_accessible(page: Page):
    for tool in ("write", "run", "fetch", "read"):
        call(page, tool)
        page.locator(f"[data-tool={tool}] [data-payload=content]").evaluate(SCROLL)
    expect(page.locator("[data-tool=read] [data-payload=content]")).to_contain_text("line 2999")
    check_accessibility(page, "" if IS_PROOF else "#transcript")


@contextmanager
def download_elsewhere(home: Home, page: Page) -> Iterator[None]:
    """Have a large download of the page's person under way at another web server."""
    person = page.locator("body").get_attribute("data-person")
    lease = (f"download of {person}", "other#1 42 b.csv", "2100-01-01 00:00:00")
    path = home.server.data / "jpweb.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as line:
        line.execute(
            "INSERT INTO store_tasklease (name, holder, lease_until) VALUES (?, ?, ?)", lease
        )
        try:
            yield
        finally:
            line.execute("DELETE FROM store_tasklease WHERE name = ?", lease[:1])


def wait_for_text(place: Locator, text: str) -> None:
    """Wait until a place says so, whose page asks every two seconds of its clock, which runs."""

    def is_shown() -> bool:
        place.page.clock.run_for(500)
        return text in (place.text_content() or "")

    wait_until(is_shown, text)


def watch_download(page: Page, home: Home, link: Locator, place: Locator) -> None:
    """Press a link, and see the progress and the end of the person's download at a place."""
    status = place.locator("#download")
    with download_elsewhere(home, page):
        link.click()
        wait_for_text(place, "You are downloading b.csv.")
        expect(status.locator("progress")).to_have_attribute("value", "42")
        expect(status.locator("progress")).to_be_visible()
    wait_for_text(place, "The download has ended.")
    expect(page.locator("#download")).to_have_count(1)


def test_download_shows_its_progress_beside_its_link(page: Page, library: Home):
    call(page, "read")
    page.clock.install()
    content = page.locator("[data-tool=read] [data-payload=content]")
    watch_download(page, library, content.get_by_role("link", name="Download all"), content)
    page.locator(".toolbar summary", has_text="Export").click()
    menu = page.locator(".toolbar .menu-body").filter(has=page.locator(".download-link"))
    watch_download(page, library, menu.get_by_role("link").first, menu)


@pytest.mark.proof  # a download of a result, and of an export, in make test
def test_download_of_personal_data_shows_its_progress(page: Page, library: Home):
    page.goto(f"{library.server.url}/account")
    page.clock.install()
    link = page.get_by_role("link", name="Download your data")
    watch_download(page, library, link, page.locator("main"))


def test_payload_without_scripts_is_linked_as_a_page(shelf: Visit):
    page = shelf.open(shelf.find(PAYLOADS_TITLE), javascript=False)
    expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(0)
    page.locator("article.assistant").get_by_role("link", name="Show all").last.click()
    expect(page.locator("[data-payload=content]")).to_contain_text("line 2999")
    assert not page.evaluate(TOO_WIDE)  # axe needs scripts; it sees this page elsewhere
