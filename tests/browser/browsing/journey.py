"""What somebody on a journey through a conversation sees, and what their browser asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from playwright.sync_api import Locator, Page, Request, Response, expect

from tests.browser.browsing.shelf import Book
from tests.machine.ports import wait_until

HIT = re.compile(r"^1 of \d+\+? match(es)?$")
ABORTED = "net::ERR_ABORTED"
#: Whether words that were looked for are on the screen, lit, and nothing lies over them.
_LIT = """words => [...(CSS.highlights.get('current-match') || [])].some(range => {
  if (!words.toLowerCase().includes(range.toString().toLowerCase())) return false;
  const box = range.getClientRects()[0];
  if (!box || box.top < 0 || box.bottom > innerHeight) return false;
  const over = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return Boolean(over) && over.contains(range.startContainer);
})"""
#: Whether the beginning of an element is on the screen, and nothing lies over it.
_CLEAR = """each => {
  const box = (each.matches('details') ? each.querySelector('summary') : each)
    .getBoundingClientRect();
  if (box.bottom <= 0 || box.top >= innerHeight || !box.height) return false;
  const [x, y] = [box.left + Math.min(box.width / 2, 120), box.top + Math.min(box.height / 2, 12)];
  const over = document.elementFromPoint(x, y);
  return Boolean(over) && (each.contains(over) || over.contains(each));
}"""
_OPEN = """() => [...document.querySelectorAll('#transcript .fold[open]')].map(each => each.id)"""
_ITEM = "#transcript > .window > [data-kind]"


@contextmanager
def check_requests(page: Page) -> Iterator[None]:
    """Check that everything a page asks for comes, except what leaving the page cut off."""
    failures: list[str] = []

    def note_failure(request: Request) -> None:
        if request.failure != ABORTED:
            failures.append(f"{request.url}: {request.failure}")

    def note_response(response: Response) -> None:
        if response.status >= 400:
            failures.append(f"{response.url}: {response.status}")

    page.on("requestfailed", note_failure)
    page.on("response", note_response)
    yield
    assert failures == []


def find_hit(page: Page, book: Book) -> Locator:
    """Return the best result of a search that is in a conversation."""
    title = page.get_by_role("link", name=book.title, exact=True)
    return page.locator(".group", has=title).locator(".hit").first


def wait_for_highlight(page: Page, words: str) -> str:
    """Wait until the words are lit in the event that the address names; return its anchor."""
    wait_until(lambda: page.evaluate(_LIT, words), f"{words} is lit, and nothing lies over it")
    expect(page).to_have_url(re.compile(r"[?&]at=(e-[\w-]+).*#\1$"))
    anchor = page.url.rpartition("#")[2]
    expect(page.locator(f"#{anchor}")).to_have_count(1)
    assert words.lower() in words_at(page, anchor).lower()
    return anchor


def check_folding(page: Page, anchor: str, key: str) -> None:
    """Fold and unfold by a key; then it is unfolded, and the address says so."""
    fold = page.locator(f"#{anchor}")
    was_open = bool(fold.evaluate("each => each.open"))
    for is_open in (not was_open, was_open, True):
        if is_open is not fold.evaluate("each => each.open"):
            page.keyboard.press(key)
        expect(fold).to_have_js_property("open", is_open)
    wait_for_open_anchor(page, anchor)


def find_match_count(page: Page) -> Locator:
    """Return how many events hold what is looked for, as the page says it."""
    return page.locator("#find [role=status]")


def find_current_event(page: Page) -> Locator:
    """Return the event that the reader is at."""
    return page.locator("#transcript [aria-current=true]")


def is_clear(page: Page, anchor: str) -> bool:
    """Tell whether an event begins on the screen, with nothing over it."""
    return bool(page.locator(f"#{anchor}").evaluate(_CLEAR))


def list_open_folds(page: Page) -> set[str]:
    """Return the anchors of what is unfolded."""
    return set(page.evaluate(_OPEN))


def words_at(page: Page, anchor: str) -> str:
    """Return what an event says, white space as it is shown."""
    text = page.locator(f"#{anchor}").text_content() or ""
    return re.sub(r"\s+", " ", text)


def to_question(page: Page, book: Book) -> str:
    """Go to the next question by its key, or where none is to the next fold; return its anchor."""
    before = find_current_event(page).get_attribute("id")
    page.keyboard.press("i")
    if book.asks:
        expect(page.locator("#transcript details.inquiry[aria-current=true]")).to_have_count(1)
    else:
        expect(page.locator("#announcer")).to_have_text("No later question.")
        item_count = page.locator(_ITEM).count()
        for _ in range(item_count):
            page.keyboard.press("j")
            wait_until(partial(_left, page, before), "it moved on")
            before = find_current_event(page).get_attribute("id")
            if find_current_event(page).evaluate("each => each.matches('details.fold')"):
                break
    anchor = find_current_event(page).get_attribute("id") or ""
    wait_until(lambda: is_clear(page, anchor), "it is on the screen")
    return anchor


def _left(page: Page, anchor: str | None) -> bool:
    return find_current_event(page).get_attribute("id") != anchor


def wait_for_open_anchor(page: Page, anchor: str) -> None:
    """Wait until the address says that a fold is open."""
    pattern = re.compile(rf"[?&]open=(?:[\w-]+,)*{anchor}(?:[,&#]|$)")
    expect(page).to_have_url(pattern)
