"""How a page looks: light and dark, on a desk and on a phone, and whether it bars anybody."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit
from zlib import crc32

from playwright.sync_api import Page

from tests.machine.browsing import PHONE, WIDE, list_violations
from tests.machine.sizes import IS_PROOF

Scheme = Literal["light", "dark"]
#: Each size with its colour scheme; under proof the other scheme follows.
LOOKS: tuple[tuple[tuple[int, int], Scheme], ...] = ((WIDE, "light"), (PHONE, "dark"))
#: What depends on light and dark alone.
COLORS = "color-contrast"
TOO_WIDE = """() => {
  const room = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth > room && [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > room + 1).slice(0, 5)
    .map(e => e.tagName + '#' + e.id + '.' + e.className);
}"""
#: Tables whose rows are cards on a phone, so that none scrolls sideways.
CUT_OFF = """() => [...document.querySelectorAll('.labelled')]
  .filter(each => innerWidth <= 640 && each.scrollWidth > each.clientWidth)
  .map(each => [each.getAttribute('aria-label'), each.scrollWidth, each.clientWidth])"""
#: Names in the columns of the decisions' timeline that are not shown whole.
CUT_NAMES = """() => [...document.querySelectorAll('.lane-name')]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"""
#: Words that stand one letter a line, or nearly: no room was left for them.
SQUEEZED = """() => [...document.querySelectorAll('main *, header *')].filter(each => {
  if (!each.checkVisibility() || each.children.length) return false;
  if (each.closest('.visually-hidden, pre')) return false;
  const text = each.textContent.trim();
  const {width, height} = each.getBoundingClientRect();
  const size = parseFloat(getComputedStyle(each).fontSize);
  return text.length > 3 && width > 1 && width < 3 * size && height > 3.5 * size;
}).slice(0, 5).map(each => each.outerHTML.slice(0, 120))"""


def check_accessibility(page: Page, part: str = "") -> None:
    """Find nothing that bars anybody, and no need to scroll sideways, on a desk and on a phone.

    ``part`` selects the elements that axe inspects where another test has seen the rest. Axe takes
    1.4 s of processor time for a page of sixty items: ``make test`` has it inspect one look, which
    follows from the address, so half of the pages in each. Under proof it inspects all.
    """
    inspected_look = crc32(urlsplit(page.url).path.encode()) % len(LOOKS)
    for number, ((width, height), scheme) in enumerate(LOOKS):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        if IS_PROOF or number == inspected_look:
            barriers = list_violations(page, part=part)
            assert barriers == [], (page.url, scheme, width, barriers)
        for script in (TOO_WIDE, CUT_OFF, CUT_NAMES):
            faults = page.evaluate(script)
            assert not faults, (page.url, width, faults)
        squeezed = page.evaluate(SQUEEZED)
        assert squeezed == [], (page.url, width, squeezed)
        if IS_PROOF:
            other_scheme: Scheme = "light" if scheme == "dark" else "dark"
            page.emulate_media(color_scheme=other_scheme)
            assert list_violations(page, rule=COLORS, part=part) == [], (
                page.url,
                other_scheme,
                width,
            )


def check_under_proof(page: Page) -> None:
    """Check under proof alone a state whose parts other states have."""
    if IS_PROOF:
        check_accessibility(page)
