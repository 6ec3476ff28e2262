"""What of a long conversation stands on its page, and where its reader is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, cast

from playwright.sync_api import Page, expect

from tests.browser.library import LENGTH
from tests.browser.pages import Home, Visit
from tests.machine.ports import wait_until

ITEMS = "#transcript > .window > [data-kind]:not(.turn-anchor)"
EARLIER, LATER = ".load-more[data-direction=earlier]", ".load-more[data-direction=later]"
#: What is said stays to be seen.
LASTING = "HTMLParagraphElement.prototype.remove = () => {}"
_ROW = re.compile(r'href="(/conversations/\d+)"[^>]*>\s*\d+ events<')
_STRETCHES = """() => [...document.querySelectorAll('#transcript > .window')]
  .map(each => [Number(each.dataset.first), Number(each.dataset.last)])"""
_READING = """() => {
  const bars = [...document.querySelectorAll('.site-header, .toolbar.sticky')];
  const line = Math.max(...bars.map(each => each.getBoundingClientRect().bottom)) + 8;
  const item = [...document.querySelectorAll('%s')]
    .find(each => each.getBoundingClientRect().bottom > line);
  return [item.id, item.getBoundingClientRect().top];
}""".replace("%s", ITEMS)

_AT_TOP = "scrollY < 1"
_ROOM = "[scrollY, document.documentElement.scrollHeight]"
_AT_BOTTOM = "innerHeight + scrollY > document.documentElement.scrollHeight - 1"
_AT_REST = """() => new Promise(done => {
  let before, frames = 0;
  const look = () => {
    frames = scrollY === before ? frames + 1 : 0;
    before = scrollY;
    if (frames > 5) done(); else requestAnimationFrame(look);
  };
  look();
})"""


class ScrollPosition(NamedTuple):
    """The item under the bars, and how far below the top of the screen it begins."""

    anchor: str
    top: float


def long_one(shelf: Visit) -> str:
    """Return the path of the long conversation."""
    return find_long_one(shelf.home)


@cache
def find_long_one(library: Home) -> str:
    """Return the path of an installation's long conversation, which it keeps."""
    match = _ROW.search(library.owner.get(f"/conversations?q={LENGTH}+events").text)
    assert match
    return match[1]


def list_window_ranges(page: Page) -> list[tuple[int, int]]:
    """Return the first and last position of each window."""
    return [cast("tuple[int, int]", tuple(pair)) for pair in page.evaluate(_STRETCHES)]


def get_scroll_position(page: Page) -> ScrollPosition:
    """Return where its reader is."""
    return ScrollPosition(*page.evaluate(_READING))


def top_of(page: Page, anchor: str) -> float:
    """Return how far below the top of the screen an event begins."""
    box = page.locator(f"#{anchor}").bounding_box()
    assert box, anchor
    return float(box["y"])


def scroll_page(page: Page, by: float) -> None:
    """Scroll as a wheel does, as far as there is room, and wait until it has.

    A wheel at the end of the page does nothing, even if a window makes room a moment later.
    """
    before = page.evaluate(_ROOM)
    # Beside the text: a wheel over a long result scrolls that.
    size = page.viewport_size or {"width": 1280, "height": 800}
    page.mouse.move(size["width"] - 4, 400)
    page.mouse.wheel(0, by)
    end = _AT_TOP if by < 0 else _AT_BOTTOM
    wait_until(
        lambda: page.evaluate(_ROOM) != before or page.evaluate(end), "the page has scrolled"
    )
    page.evaluate(_AT_REST)


def to_bottom(page: Page) -> None:
    """Scroll to the end of what is loaded."""
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")


def to_top(page: Page) -> None:
    """Scroll to the beginning of what is loaded."""
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")


def repeat_until(condition: Callable[[], object], go: Callable[[], None], description: str) -> None:
    """Go on until something is so. Raises AssertionError where it is not after five minutes.

    Unlike ``wait_until`` it does not pause three times as long as it went: a page that is scrolled
    is busy itself.
    """
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, f"{description}: not within 300 s"
        go()
        time.sleep(0.05)


def wait_for_windows(page: Page, count: int) -> None:
    """Wait until so many windows are there, and no more are on their way."""
    wait_until(partial(_settled, page, count), f"{count} windows are loaded")


def _settled(page: Page, count: int) -> bool:
    quiet: bool = page.locator(".load-more .htmx-request").count() == 0
    return quiet and len(list_window_ranges(page)) >= count


def get_address_params(page: Page) -> dict[str, Any]:
    """Return the parameters of a page's address."""
    return dict(page.evaluate("[...new URLSearchParams(location.search)]"))


def get_current_anchor(page: Page) -> str:
    """Return the anchor of the item that the reader is at."""
    at = page.locator("#transcript [aria-current=true]")
    expect(at).to_have_count(1)
    return at.get_attribute("id") or ""
