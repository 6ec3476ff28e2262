"""Questions that were not answered are open; one that somebody shuts stays so, for others too."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.library import MIDDLE
from tests.browser.pages import BOOLEAN, Visit, decline_question, find_card, find_inquiries
from tests.browser.reading.windows import (
    get_address_params,
    get_current_anchor,
    get_scroll_position,
    list_window_ranges,
    long_one,
    repeat_until,
    scroll_page,
    to_bottom,
    top_of,
    wait_for_windows,
)
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

NIGHT = "A night with nobody at the desk"
UNANSWERED = ".fold.inquiry:not([data-outcome=answered])"
OPEN = ("open", "")
STILL = 1  # pixel


def night(visit: Visit) -> Page:
    return visit.open(visit.find(NIGHT))


def press(fold: Locator) -> None:
    fold.locator("> summary").click(position={"x": 8, "y": 12})


def shut(page: Page) -> str:
    """Shut the first question that is open by itself, whose call is unfolded; return its anchor."""
    fold = page.locator(UNANSWERED).first
    press(page.locator(f".fold.tool:has({UNANSWERED})").first)
    press(fold)
    anchor = fold.get_attribute("id") or ""
    wait_until(lambda: get_address_params(page).get("shut") == anchor, "the address says so")
    return anchor


def to_unanswered(page: Page) -> str:
    """Go to the first question that was not answered, by its key; return its anchor."""
    inquiry_ids = page.locator("#transcript .fold.inquiry").evaluate_all(
        "all => all.map(e => e.id)"
    )
    unanswered = page.locator(f"#transcript {UNANSWERED}").first.get_attribute("id") or ""
    for _ in range(inquiry_ids.index(unanswered) + 1):
        page.keyboard.press("i")
    assert get_current_anchor(page) == unanswered
    return unanswered


@pytest.mark.proof  # a link to a collapsed fold, below; tests/web/transcript/test_windows
@pytest.mark.parametrize("javascript", [True, False])
def test_copied_url_collapses_the_same_folds_for_another_person(visit: Visit, javascript: bool):
    page = night(visit)
    anchor = to_unanswered(page)
    expect(page.locator(f"#{anchor}")).to_have_attribute(*OPEN)
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(rf"[?&]shut={anchor}(&open=[\w,-]+)?#{anchor}$"))
    person = visit.home.invite(f"Reader with scripts: {javascript}", "reader")
    path = page.url.removeprefix(visit.server.url)
    second_page = visit.open(path, who=person, javascript=javascript)
    expect(second_page.locator(f"#{anchor} > summary")).to_be_in_viewport()
    expect(second_page.locator(f"#{anchor} > .body")).to_be_hidden()
    folds = second_page.locator(f"#transcript {UNANSWERED}")
    ids = folds.evaluate_all("all => all.filter(each => each.open).map(each => each.id)")
    assert len(ids) == folds.count() - 1
    assert second_page.url == page.url


@pytest.mark.proof  # a variant
def test_expanded_fold_is_removed_from_the_url(visit: Visit):
    page = night(visit)
    before = page.url
    anchor = shut(page)
    press(page.locator(f"#{anchor}"))
    wait_until(lambda: "shut" not in get_address_params(page), "the address says no more of it")
    press(page.locator(f".fold.tool:has(#{anchor})"))
    expect(page).to_have_url(before)


def test_collapsed_fold_stays_so_for_a_link_to_it_and_after_a_reload(visit: Visit):
    page = night(visit)
    anchor = shut(page)
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    page.evaluate("anchor => { location.hash = anchor }", anchor)
    expect(page.locator(f"#{anchor} > summary")).to_be_in_viewport()
    expect(page.locator(f"#{anchor}")).not_to_have_attribute(*OPEN)
    assert get_address_params(page)["shut"] == anchor
    page.reload()
    expect(page.locator(f"#{anchor}")).not_to_have_attribute(*OPEN)
    assert get_address_params(page)["shut"] == anchor


@pytest.mark.proof  # a reload, above
def test_collapsed_fold_stays_collapsed_when_its_window_reloads(shelf: Visit):
    page = shelf.open(long_one(shelf))
    anchor = shut(page)
    fold = page.locator(f"#{anchor}")
    page.evaluate("document.activeElement.blur()")
    repeat_until(lambda: not fold.count(), lambda: to_bottom(page), "it has left")
    repeat_until(fold.count, lambda: scroll_page(page, -1500), "it is back")
    expect(fold).not_to_have_attribute(*OPEN)
    page.keyboard.press("G")
    expect(fold).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(fold).to_have_count(1)
    expect(fold).not_to_have_attribute(*OPEN)
    assert get_address_params(page)["shut"] == anchor


def test_folds_above_keep_their_state_and_the_page_does_not_move(shelf: Visit):
    path = long_one(shelf)
    page_html = shelf.home.owner.get(f"{path}?at={MIDDLE - 50}").text
    calls = re.findall(r'class="fold tool[^>]* id="(e-\w+)"', page_html)
    inquiry_ids = re.findall(r'class="fold inquiry" id="(e-\w+)"[^>]* open>', page_html)
    page = shelf.open(f"{path}?at={MIDDLE}&shut={','.join(inquiry_ids)}&open={','.join(calls)}")
    scroll_page(page, 300)
    expect(page.locator("#transcript .htmx-request")).to_have_count(0)
    count = len(list_window_ranges(page))
    before = get_scroll_position(page)
    page.evaluate("scrollBy({top: -1, behavior: 'instant'})")
    wait_for_windows(page, count + 1)
    assert abs(top_of(page, before.anchor) - before.top - 1) <= STILL
    fresh = page.locator(".window").first
    expect(fresh.locator(".fold.tool[open]").first).to_be_attached()
    detail_ids = fresh.locator("details.inquiry").evaluate_all("all => all.map(each => each.id)")
    assert {*detail_ids} & {*inquiry_ids}
    for anchor in {*detail_ids} & {*inquiry_ids}:
        expect(page.locator(f"#{anchor}")).not_to_have_attribute(*OPEN)


@pytest.mark.proof  # a variant
def test_a_question_that_waits_stays_shut_when_it_is_settled(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    anchor = shut(page)
    fold = page.locator(f"#{anchor}")
    expect(fold).to_have_attribute("data-outcome", "open")
    decline_question(page, BOOLEAN)
    expect(fold).to_have_attribute("data-outcome", "cancelled")
    expect(find_inquiries(page).first).not_to_have_attribute(*OPEN)
    assert get_address_params(page)["shut"] == anchor
    press(fold)
    wait_until(lambda: "shut" not in get_address_params(page), "the address says no more of it")
