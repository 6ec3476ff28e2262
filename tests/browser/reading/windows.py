"""What of a long conversation stands on its page, and where its reader is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from playwright.sync_api import Page, expect

from tests.browser.pages import Visit
from tests.machine.ports import wait_until

ITEMS = "#transcript > .window > [data-kind]:not(.turn-anchor)"
EARLIER, LATER = ".load-more[data-direction=earlier]", ".load-more[data-direction=later]"
#: What is said stays to be seen.
LASTING = "HTMLParagraphElement.prototype.remove = () => {}"
_ROW = re.compile(r'href="(/conversations/\d+)"[^>]*>\s*\d+ events<')
_STRETCHES = """() => [...document.querySelectorAll('#transcript > .window')]
  .map(each => [Number(each.dataset.first), Number(each.dataset.last)])"""
_READING = """() => {
  const line = document.querySelector('.site-header').getBoundingClientRect().bottom + 8;
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


class Place(NamedTuple):
    """The item under the bar, and how far below the top of the screen it begins."""

    anchor: str
    top: float


def long_one(shelf: Visit) -> str:
    """Return the path of the long conversation."""
    found = _ROW.search(shelf.home.owner.get("/conversations").text)
    assert found
    return found[1]


def stretches(page: Page) -> list[tuple[int, int]]:
    """Return the first and last position of each window."""
    return [cast("tuple[int, int]", tuple(pair)) for pair in page.evaluate(_STRETCHES)]


def reading(page: Page) -> Place:
    """Return where its reader is."""
    return Place(*page.evaluate(_READING))


def top_of(page: Page, anchor: str) -> float:
    """Return how far below the top of the screen an event begins."""
    box = page.locator(f"#{anchor}").bounding_box()
    assert box, anchor
    return float(box["y"])


def scroll(page: Page, by: float) -> None:
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


def until(holds: Callable[[], object], go: Callable[[], None], what: str) -> None:
    """Go on until something is so. Raises AssertionError where it is not after two minutes."""

    def there() -> bool:
        if holds():
            return True
        go()
        return False

    wait_until(there, what, seconds=120)


def loaded(page: Page, count: int) -> None:
    """Wait until so many windows are there, and no more are on their way."""
    wait_until(partial(_settled, page, count), f"{count} windows are loaded")


def _settled(page: Page, count: int) -> bool:
    quiet: bool = page.locator(".load-more .htmx-request").count() == 0
    return quiet and len(stretches(page)) >= count


def address(page: Page) -> dict[str, Any]:
    """Return the parameters of a page's address."""
    return dict(page.evaluate("[...new URLSearchParams(location.search)]"))


def current(page: Page) -> str:
    """Return the anchor of the item that the reader is at."""
    at = page.locator("#transcript [aria-current=true]")
    expect(at).to_have_count(1)
    return at.get_attribute("id") or ""
