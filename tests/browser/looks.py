"""How a page looks: in light on a desk, in dark on a phone, and whether it bars anybody."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Page

from tests.machine.browsing import PHONE, WIDE, inaccessible

LOOKS: tuple[tuple[Literal["light", "dark"], tuple[int, int]], ...] = (
    ("light", WIDE),
    ("dark", PHONE),
)
TOO_WIDE = """() => {
  const room = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth > room && [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > room + 1).slice(0, 5)
    .map(e => e.tagName + '#' + e.id + '.' + e.className);
}"""


def check(page: Page) -> None:
    """Find nothing that bars anybody, and no need to scroll sideways, in each look."""
    for scheme, (width, height) in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        assert inaccessible(page) == [], (page.url, scheme, width)
        assert not page.evaluate(TOO_WIDE), (page.url, width)
