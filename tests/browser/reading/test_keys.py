"""Reading by keyboard: from event to event, to what is not loaded, folds, the link."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.library import MIDDLE
from tests.browser.pages import Visit, path_of
from tests.browser.reading.windows import (
    ITEMS,
    LASTING,
    LATER,
    get_address_params,
    get_current_anchor,
    list_window_ranges,
    long_one,
    repeat_until,
    to_bottom,
)
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

PROMPT, QUESTION = "[data-kind=chat_request]", "details.inquiry"
PROBLEM = (
    ":is(.result.failed, .fold.unknown, .inquiry[data-outcome=cancelled]:not([data-reason=user]))"
)


def tour(visit: Visit, title: str = "A tour of questions and answers") -> Page:
    return visit.open(visit.find(title))


def at(page: Page, anchor: str | None) -> None:
    """Expect the reader to be at an event: it is marked, has the focus, and is under the bar."""
    item = page.locator(f"#{anchor}")
    expect(item).to_have_attribute("aria-current", "true")
    expect(page.locator("#transcript [aria-current]")).to_have_count(1)
    assert item.evaluate("each => each.contains(document.activeElement)")
    expect(item).to_be_in_viewport()


def has_moved(page: Page, before: str) -> bool:
    return get_current_anchor(page) != before


def read_near_end(page: Page) -> None:
    """Go to one of the last items that are loaded."""
    page.locator(ITEMS).nth(-4).evaluate("each => each.scrollIntoView({behavior: 'instant'})")
    page.keyboard.press("j")


def press_until(page: Page, key: str, condition: Callable[[], object]) -> None:
    """Press a key, each time once the page has moved, until something holds."""
    for _ in range(60):
        before = get_current_anchor(page)
        page.keyboard.press(key)
        wait_until(partial(has_moved, page, before), "the reader moved on")
        if condition():
            return
    raise AssertionError(f"{key}: never")


def test_j_and_k_go_on_from_where_one_reads_and_o_and_enter_fold(visit: Visit):
    page = tour(visit)
    ids = page.locator(ITEMS).evaluate_all("all => all.map(each => each.id)")
    page.evaluate(LASTING)
    for anchor in ids[:3]:
        page.keyboard.press("j")
        at(page, anchor)
    for anchor in (ids[1], ids[0], ids[0]):
        page.keyboard.press("k")
        at(page, anchor)
    expect(page.locator("body > .toast")).to_have_text("No earlier event.")
    assert page.locator("body").aria_snapshot().count("No earlier event.") == 1
    target = page.locator(ITEMS).nth(7)
    target.evaluate("each => each.scrollIntoView({behavior: 'instant'})")
    page.keyboard.press("j")
    at(page, target.get_attribute("id"))
    press_until(page, "j", page.locator(".fold.tool[aria-current]").count)
    call = page.locator(f"#{get_current_anchor(page)}")
    for key in ("o", "Enter"):
        page.keyboard.press(key)
        expect(call).to_have_attribute("open", "")
        page.keyboard.press(key)
        expect(call).not_to_have_attribute("open", "")


@pytest.mark.parametrize(
    ("key", "back_key", "selector"),
    [
        pytest.param("J", "K", PROMPT, marks=pytest.mark.proof),
        pytest.param("i", "I", QUESTION, marks=pytest.mark.proof),
        pytest.param("e", "E", PROBLEM, marks=pytest.mark.proof),
    ],
)
def test_event_kinds_have_keys_for_next_and_previous(
    visit: Visit, key: str, back_key: str, selector: str
):
    page = tour(visit, "A night with nobody at the desk")
    items = page.locator(f"#transcript {selector}")
    ids = items.evaluate_all("all => all.map(each => each.id)")
    assert len(ids) > 1
    for anchor in ids[:2]:
        page.keyboard.press(key)
        at(page, anchor)
    page.keyboard.press(back_key)
    at(page, ids[0])


@pytest.mark.proof  # the journey of browsing/test_keyboard has it
def test_url_leads_to_the_current_event(visit: Visit):
    page = tour(visit)
    page.keyboard.press("i")
    anchor = get_current_anchor(page)
    expect(page).to_have_url(re.compile(rf"\?at={anchor}(&open=[\w,-]+)?#{anchor}$"))
    second_page = visit.open(page.url.removeprefix(visit.server.url))
    expect(second_page.locator(f"#{anchor}")).to_be_in_viewport()


@pytest.mark.proof  # a variant
def test_key_without_a_further_event_stays_and_shows_a_message(visit: Visit):
    page = tour(visit)
    page.keyboard.press("j")
    first = get_current_anchor(page)
    page.keyboard.press("K")
    expect(page.locator("#announcer")).to_have_text("No earlier prompt.")
    at(page, first)


@pytest.mark.proof  # the toast of a step that fails, below
def test_toast_of_a_key_is_shown_and_announced_once(visit: Visit):
    page = tour(visit)
    page.keyboard.press("j")
    first = get_current_anchor(page)
    toast = page.locator("body > .toast")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    for key, words in (("K", "No earlier prompt."), ("k", "No earlier event.")):
        page.keyboard.press(key)
        expect(toast).to_have_text(words)
        expect(toast).to_be_in_viewport(ratio=1)
        assert page.locator("body").aria_snapshot().count(words) == 1
        at(page, first)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("l")
    expect(toast).to_have_text("Copied")
    page.keyboard.press("K")
    page.clock.run_for(1700)
    expect(toast).to_have_text("No earlier prompt.")
    page.clock.run_for(200)
    expect(toast).to_have_count(0)


@pytest.mark.parametrize(
    ("key", "cannot", "words"),
    [
        pytest.param("k", "before=", "Couldn't load. Try again.", marks=pytest.mark.proof),
        pytest.param("G", "at=end", "Couldn't load. Try again.", marks=pytest.mark.proof),
        ("K", "/step", "Couldn't load. Try again."),
    ],
)
def test_key_shows_that_events_cannot_be_loaded(shelf: Visit, key: str, cannot: str, words: str):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    page.keyboard.press("j")
    first = get_current_anchor(page)
    page.route(re.compile(cannot), lambda route: route.abort())
    shelf.pages.forgive("ERR_FAILED|^.object Event.|^htmx:")
    page.evaluate(LASTING)
    page.keyboard.press(key)
    expect(page.locator("body > .toast")).to_have_text(words)
    expect(page.locator("#announcer")).to_have_text(words)
    at(page, first)


def test_the_next_event_comes_where_it_is_not_loaded(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    item_ids = page.locator(ITEMS).evaluate_all("all => all.map(each => each.id)")
    read_near_end(page)
    press_until(page, "j", lambda: get_current_anchor(page) not in item_ids)
    at(page, get_current_anchor(page))
    assert page.locator(f"#{get_current_anchor(page)}").evaluate(
        "(each, last) => each.closest('.window').previousElementSibling.contains("
        "document.getElementById(last))",
        item_ids[-1],
    )


@pytest.mark.proof  # a variant: questions that are not loaded are found below
def test_key_i_finds_the_first_loaded_question(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    expect(page.get_by_role("link", name="Earlier events")).to_be_in_viewport()
    first = page.locator(f"#transcript {QUESTION}").first.get_attribute("id")
    page.keyboard.press("i")
    at(page, first)


@pytest.mark.parametrize(
    "key",
    [pytest.param("J", marks=pytest.mark.proof), "i", pytest.param("e", marks=pytest.mark.proof)],
)
def test_key_finds_unloaded_events_on_the_server(shelf: Visit, key: str):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    # Nothing comes by itself, as where a page is far longer than what is looked for is near.
    page.route(re.compile("after=|before="), lambda route: route.abort())
    shelf.pages.forgive("ERR_FAILED|^.object Event.|^htmx:")
    read_near_end(page)
    (begin, end), *_ = list_window_ranges(page)
    press_until(
        page,
        key,
        lambda: list_window_ranges(page)[0][0] > MIDDLE or list_window_ranges(page)[-1][1] > end,
    )
    at(page, get_current_anchor(page))
    assert page.locator(f"#{get_current_anchor(page)}").evaluate(
        "(each, at) => each.id === at || Boolean(each.querySelector('#' + at))",
        get_address_params(page)["at"],
    )
    page.wait_for_load_state()  # else its late event is taken for that of the page before
    with page.expect_event("load"):
        page.go_back()
    (first, last), *_ = list_window_ranges(page)
    assert first <= end
    assert last >= begin


@pytest.mark.proof  # rare: a second key within one request
def test_a_key_that_is_pressed_while_a_step_loads_counts_after_it(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page.route(re.compile("/step"), hold)
    read_near_end(page)
    step = partial(page.keyboard.press, "i")  # one that needs no server is over at once
    repeat_until(lambda: page.title() and routes, step, "a step asks the server")
    page.keyboard.press("j")
    expect(page.locator("#announcer")).to_have_text("Loading…")
    routes[0].continue_()
    current = page.locator("#transcript > .window > [aria-current=true]:not(.inquiry)")
    expect(current).to_have_count(1)


def test_brackets_fold_what_is_loaded_and_the_outline_follows_to_the_end(shelf: Visit):
    page = shelf.open(long_one(shelf))
    page.keyboard.press("]")
    expect(page.locator("#transcript details:not([open])")).to_have_count(0)
    expect(page.locator("#announcer")).to_have_text(
        re.compile(r"^Expanded \d+ sections, loaded events only\.$")
    )
    page.keyboard.press("[")
    expect(page.locator("#transcript details[open]")).to_have_count(0)
    page.keyboard.press("G")
    expect(page.locator("#transcript-end")).to_have_count(1)
    current_entry = page.locator("#outline li[aria-current]")
    last = page.locator(".turn-head").last.get_attribute("data-turn") or ""
    expect(current_entry).to_have_attribute("data-turn", last)
    expect(current_entry).to_be_in_viewport()


@pytest.mark.proof  # the test of the outline presses G, test_windows gg
def test_the_ends_have_keys(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    page.keyboard.press("G")
    expect(page.locator("#transcript-end")).to_have_count(1)
    expect(page.locator(LATER)).to_have_count(0)
    expect(page.locator(ITEMS).last).to_have_attribute("aria-current", "true")
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.locator("#turn-0")).to_have_count(1)
    expect(page.locator(ITEMS).first).to_have_attribute("aria-current", "true")
    assert page.evaluate("scrollY") == 0


def test_shortcuts_are_off_in_fields_with_ctrl_and_under_their_list(visit: Visit):
    page = tour(visit)
    page.get_by_label("Find in conversation").press_sequentially("jkGe")
    expect(page.get_by_label("Find in conversation")).to_have_value("jkGe")
    expect(page.locator("#transcript [aria-current]")).to_have_count(0)
    page.get_by_label("Find in conversation").blur()
    page.keyboard.press("Control+j")
    expect(page.locator("#transcript [aria-current]")).to_have_count(0)
    page.keyboard.press("j")
    expect(page.locator("#transcript [aria-current]")).to_have_count(1)
    anchor = get_current_anchor(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Next prompt")
    page.keyboard.press("j")
    at_once = page.locator(f"#{anchor}")
    expect(at_once).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    at(page, anchor)


@pytest.mark.proof  # the journey of browsing/test_keyboard does
def test_l_copies_the_link_of_the_event(visit: Visit):
    page = tour(visit)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("J")
    anchor = get_current_anchor(page)
    page.keyboard.press("l")
    expect(page.locator("#announcer")).to_have_text("Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{visit.server.url}{path_of(page)}?at={anchor}#{anchor}"


# The journey of browsing/test_keyboard has the address of a fold; test_folds opens it again, and
# tests/web/transcript/test_windows folds what an address names for whoever comes.
@pytest.mark.proof
def test_copied_url_expands_the_same_folds_for_another_person(visit: Visit):
    page = tour(visit)
    call = page.locator(".fold.tool:has(details.inquiry)").first
    inquiry = call.locator("details.inquiry").first
    call.locator("> summary").click(position={"x": 8, "y": 12})
    inquiry.locator("> summary").click(position={"x": 8, "y": 12})
    folds = [call.get_attribute("id") or "", inquiry.get_attribute("id") or ""]
    expect(page).to_have_url(re.compile(rf"\?open={','.join(folds)}$"))
    reader = visit.home.invite("Second reader", "reader")
    second_page = visit.open(page.url.removeprefix(visit.server.url), who=reader)
    for anchor in folds:
        expect(second_page.locator(f"#{anchor}")).to_have_attribute("open", "")
    expect(second_page.locator(f"#{folds[1]} [data-answer]")).to_be_visible()
    call.locator("> summary").click(position={"x": 8, "y": 12})
    expect(page).to_have_url(re.compile(rf"\?open={folds[1]}$"))


@pytest.mark.proof  # a size
def test_the_address_names_no_more_than_fifty_folds(shelf: Visit):
    page = shelf.open(long_one(shelf))
    for _ in range(2):
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        wait_until(lambda: len(list_window_ranges(page)) > 1, "more is loaded")
    page.keyboard.press("]")
    wait_until(
        lambda: len(get_address_params(page).get("open", "").split(",")) == 50, "fifty are named"
    )


@pytest.mark.proof  # test_folds, above what is read
def test_a_fold_is_as_it_was_left_when_its_window_comes_back(shelf: Visit):
    page = shelf.open(long_one(shelf))
    call = page.locator(".fold.tool").first
    anchor = call.get_attribute("id")
    call.locator("> summary").click(position={"x": 8, "y": 12})
    expect(page).to_have_url(re.compile("open="))
    page.keyboard.press("G")
    expect(page.locator("#transcript-end")).to_have_count(1)
    expect(page.locator(f"#{anchor}")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.locator(f"#{anchor}")).to_have_attribute("open", "")


def test_the_outline_moves_without_a_new_page_where_the_turn_is_loaded(visit: Visit):
    page = tour(visit)
    page.evaluate("window.unbroken = true")
    page.locator("#outline li[data-turn='2'] .outline-turn").click()
    expect(page.locator("#turn-2")).to_be_in_viewport()
    expect(page.locator("#outline li[aria-current]")).to_have_attribute("data-turn", "2")
    expect(page).to_have_url(re.compile(r"\?turn=2#turn-2$"))
    assert page.evaluate("window.unbroken") is True


@pytest.mark.proof  # by key in make test
def test_outline_lists_turns_around_the_scroll_position(shelf: Visit):
    page = shelf.open(long_one(shelf))
    listed = page.locator("#outline li[data-turn]").last.get_attribute("data-turn") or ""
    turns = page.locator(".turn-head[data-turn]")

    def beyond() -> bool:
        return int(turns.last.get_attribute("data-turn") or "") > int(listed) + 5

    repeat_until(beyond, lambda: to_bottom(page), "turns that are not listed")
    to_bottom(page)
    current_entry = page.locator("#outline li[aria-current]")
    expect(current_entry).to_have_count(1)
    wait_until(
        lambda: int(current_entry.get_attribute("data-turn") or "") > int(listed), "it follows"
    )
    expect(current_entry).to_be_in_viewport()
