"""How a page looks: light and dark, on a desk and on a phone, and whether it bars anybody."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.machine.browsing import PHONE, WIDE, inaccessible

SIZES = (WIDE, PHONE)
#: What depends on light and dark alone.
COLOURS = "color-contrast"
TOO_WIDE = """() => {
  const room = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth > room && [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > room + 1).slice(0, 5)
    .map(e => e.tagName + '#' + e.id + '.' + e.className);
}"""
#: Words that stand one letter a line, or nearly: no room was left for them.
SQUEEZED = """() => [...document.querySelectorAll('main *, header *')].filter(each => {
  if (!each.checkVisibility() || each.children.length || each.closest('.unseen, pre')) return false;
  const text = each.textContent.trim();
  const {width, height} = each.getBoundingClientRect();
  const size = parseFloat(getComputedStyle(each).fontSize);
  return text.length > 3 && width > 1 && width < 3 * size && height > 3.5 * size;
}).slice(0, 5).map(each => each.outerHTML.slice(0, 120))"""


def check(page: Page) -> None:
    """Find nothing that bars anybody, and no need to scroll sideways, in each look."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light")
        assert inaccessible(page) == [], (page.url, "light", width)
        assert not page.evaluate(TOO_WIDE), (page.url, width)
        assert page.evaluate(SQUEEZED) == [], (page.url, width)
        page.emulate_media(color_scheme="dark")
        assert inaccessible(page, only=COLOURS) == [], (page.url, "dark", width)
