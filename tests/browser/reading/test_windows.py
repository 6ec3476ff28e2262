"""Scrolling through a conversation of any length: both ways, in place, in bounded memory."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

import pytest
from playwright.sync_api import CDPSession, Page, Route, expect

from tests.browser.library import LENGTH, MANY_CALLS, MANY_MESSAGES, MIDDLE
from tests.browser.pages import Visit
from tests.browser.reading.windows import (
    EARLIER,
    ITEMS,
    LATER,
    get_scroll_position,
    list_window_ranges,
    long_one,
    repeat_until,
    scroll_page,
    to_bottom,
    to_top,
    top_of,
    wait_for_windows,
)
from tests.machine.ports import wait_until
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.browser

#: Windows that stay, and pixels by which what is read may move.
MOST, STILL = 8, 2
#: What the page does with a response that has come, it has done by then.
AFTER_TASKS = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
#: Events of the longest item of the long conversation; a window has several times as many.
MEMBERS = 6
#: Positions up to which somebody scrolls whose page's weight is taken.
PLACES = range(choose_size(1_500, 2_000), LENGTH - 199, choose_size(500, 1_000))


def has_windows(page: Page, count: int) -> bool:
    """Tell whether so many windows are there."""
    return len(list_window_ranges(page)) >= count


def reaches(page: Page, place: int) -> bool:
    """Tell whether a position is loaded."""
    return list_window_ranges(page)[-1][1] >= place


def unbroken(page: Page) -> None:
    """Find neither a hole between the windows nor anything twice."""
    pairs = list_window_ranges(page)
    # A window is named by where its items begin: what else is in the last one comes in between.
    assert all(0 < first - last <= MEMBERS for (_, last), (first, _) in pairwise(pairs)), pairs
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.proof  # the test of far windows scrolls down too
def test_scrolling_down_loads_later_windows(shelf: Visit):
    page = shelf.open(long_one(shelf))
    assert len(list_window_ranges(page)) == 1
    to_bottom(page)
    wait_for_windows(page, 2)
    unbroken(page)
    expect(page.locator(EARLIER)).to_have_count(0)
    expect(page.locator(LATER)).to_have_count(1)


def test_fragment_alone_opens_the_window_around_its_event(shelf: Visit):
    path = long_one(shelf)
    events = re.findall(r'id="(e-[\w-]+)"', shelf.home.owner.get(f"{path}?at={MIDDLE}").text)
    anchor = events[len(events) // 2]
    page = shelf.open(f"{path}#{anchor}")
    expect(page).to_have_url(re.compile(rf"{path}\?at={anchor}(&open=[\w,-]+)?#{anchor}$"))
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


def test_scrolling_up_loads_earlier_items_and_the_page_does_not_move(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at=end#composer")
    for count in range(2, choose_size(3, 5)):
        repeat_until(
            partial(has_windows, page, count),
            partial(scroll_page, page, choose_size(-4_000, -900)),
            "one window more",
        )
        wait_for_windows(page, count)
    page.evaluate("scrollBy(0, 1)")
    unbroken(page)
    # The link is gone to beyond the screen: what it brings must not move what is read.
    count = len(list_window_ranges(page))
    page.evaluate("document.querySelector('.window').scrollIntoView({behavior: 'instant'})")
    before = get_scroll_position(page)
    wait_for_windows(page, count + 1)
    assert abs(top_of(page, before.anchor) - before.top) <= STILL


def test_earlier_window_does_not_load_by_itself_at_the_top(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    to_bottom(page)
    wait_for_windows(page, 2)
    expect(page.locator(EARLIER)).to_have_count(1)
    first = list_window_ranges(page)[0]
    page.evaluate("scrollTo({top: 200, behavior: 'instant'})")
    wait_for_windows(page, 3)
    assert list_window_ranges(page)[0] < first


@pytest.mark.proof  # a size
def test_a_permalink_has_room_on_both_sides_and_stays_under_the_bar(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    anchor = page.locator(ITEMS).nth(10).get_attribute("id") or ""
    second_page = shelf.open(f"{long_one(shelf)}?at={anchor}#{anchor}")
    expect(second_page.locator(f"#{anchor}")).to_be_in_viewport()
    for way, by in ((EARLIER, -900), (LATER, 900)):
        count = len(list_window_ranges(second_page))
        expect(second_page.locator(way)).to_have_count(1)
        repeat_until(
            partial(has_windows, second_page, count + 1),
            partial(scroll_page, second_page, by),
            "one window more",
        )
        wait_for_windows(second_page, count + 1)
        unbroken(second_page)


def test_far_windows_are_removed_and_replaced_by_a_link(shelf: Visit):
    # Nine windows of the long conversation take three times as long to lay out.
    page = shelf.open(shelf.find(MANY_MESSAGES))
    first = list_window_ranges(page)[0]
    repeat_until(
        lambda: list_window_ranges(page)[0] != first, partial(to_bottom, page), "the first has left"
    )
    wait_for_windows(page, MOST)
    assert len(list_window_ranges(page)) == MOST
    expect(page.locator(EARLIER)).to_have_count(1)
    unbroken(page)
    repeat_until(
        lambda: list_window_ranges(page)[0][0] == first[0], partial(to_top, page), "it is back"
    )
    wait_for_windows(page, MOST)
    unbroken(page)
    expect(page.locator(EARLIER)).to_have_count(0)
    assert len(list_window_ranges(page)) <= MOST


@pytest.mark.proof  # far windows leave in make test
def test_window_with_the_focus_is_not_removed(shelf: Visit):
    page = shelf.open(long_one(shelf))
    summary = page.locator(f"{ITEMS} summary").first
    summary.focus()
    anchor = summary.locator("..").get_attribute("id")
    ways = page.locator(".load-more + .load-more")
    repeat_until(ways.count, partial(to_bottom, page), "the rest has left")
    expect(page.locator(f"#{anchor} > summary")).to_be_focused()
    wait_for_windows(page, MOST)
    assert len(list_window_ranges(page)) == MOST
    # Between it and the rest a link stands for either side, and brings what is missing.
    repeat_until(lambda: not ways.count(), partial(scroll_page, page, -1500), "both sides meet")
    wait_for_windows(page, MOST)
    assert len(list_window_ranges(page)) == MOST
    unbroken(page)


@pytest.mark.proof  # a variant
def test_a_selection_does_not_leave(shelf: Visit):
    page = shelf.open(long_one(shelf))
    paragraph = page.locator("article p").first
    page.evaluate("getSelection().selectAllChildren(document.querySelector('article p'))")
    text = paragraph.inner_text()
    repeat_until(
        page.locator(".load-more + .load-more").count, partial(to_bottom, page), "the rest has left"
    )
    assert page.evaluate("getSelection().toString()").strip() == text.strip()


def test_load_more_link_offers_a_retry_and_leads_to_the_loaded_events(shelf: Visit):
    shelf.pages.forgive("503|Response Status Error")
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    last = page.locator(ITEMS).first.get_attribute("id")
    page.route(re.compile("before="), lambda route: route.fulfill(status=503))
    page.get_by_role("link", name="Earlier events").press("Enter")
    retry_link = page.get_by_role("link", name="Couldn't load these events. Retry")
    expect(retry_link).to_be_visible()
    page.unroute_all()
    retry_link.press("Enter")
    wait_for_windows(page, 2)
    focused = "document.activeElement.closest('[data-kind]')"
    assert page.evaluate(f"{focused}.nextElementSibling === null")
    assert page.evaluate(
        f"{focused}.closest('.window').nextElementSibling.querySelector('#{last}') !== null"
    )


@pytest.mark.proof  # test_keys has a step that fails, browsing/test_lists a retry
def test_failed_window_offers_a_retry_link(shelf: Visit):
    shelf.pages.forgive("503|Response Status Error")
    page = shelf.open(long_one(shelf))
    page.route(re.compile("after="), lambda route: route.fulfill(status=503))
    to_bottom(page)
    retry_link = page.get_by_role("link", name="Couldn't load these events. Retry")
    expect(retry_link).to_be_visible()
    page.unroute_all()
    retry_link.click()
    wait_for_windows(page, 2)
    unbroken(page)


def weight(page: Page, tools: CDPSession) -> tuple[float, float]:
    """Return how many nodes the page has, and the bytes of its scripts' heap."""
    tools.send("HeapProfiler.collectGarbage")
    metrics = tools.send("Performance.getMetrics")["metrics"]
    metrics_by_name = {metric["name"]: metric["value"] for metric in metrics}
    return metrics_by_name["Nodes"], metrics_by_name["JSHeapUsedSize"]


@pytest.mark.proof  # a size: others see that windows leave
def test_memory_stays_bounded_while_scrolling(shelf: Visit):
    page = shelf.open(long_one(shelf))
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    measured: list[tuple[float, float]] = []
    for place in PLACES:
        repeat_until(partial(reaches, page, place), partial(to_bottom, page), f"{place} is there")
        wait_for_windows(page, MOST)
        assert len(list_window_ranges(page)) == MOST
        measured.append(weight(page, tools))
    for nodes, heap in measured[1:]:
        assert nodes <= 1.25 * measured[0][0], measured
        assert heap <= 1.25 * measured[0][1] + 1_000_000, measured
    wait_until(lambda: not page.locator(".load-more .htmx-request").count(), "it is quiet")
    unbroken(page)


#: Put the window that ends before a position above the others, as if those between had left.
SHOW_EARLIER = """async before => {
  const transcript = document.getElementById("transcript");
  const url = `${transcript.dataset.href}?before=${before}`;
  const html = await (await fetch(url, { headers: { "HX-Request": "true" } })).text();
  transcript.insertAdjacentHTML("afterbegin", html);
}"""
IS_BESIDE = "each => each.previousElementSibling.matches('.window')"


@pytest.mark.proof  # rare: what is between two windows has left, and they overlap
@pytest.mark.parametrize(
    ("known_end", "summary", "calls"),
    [
        pytest.param(102, "10 calls 8 . read, 2 . write", 10, id="run"),
        pytest.param(118, "", 2, id="pair"),
        pytest.param(122, "", 0, id="nothing"),
    ],
)
def test_window_that_overlaps_another_keeps_only_the_calls_that_lack(
    shelf: Visit, known_end: int, summary: str, calls: int
):
    """Of the calls at 22 to 120, which the link brings, those before ``known_end`` are there."""
    page = shelf.open(f"{shelf.find(MANY_CALLS)}?after=121")
    page.evaluate(SHOW_EARLIER, known_end)
    last_window = page.locator("#transcript > .window[data-first='122']")
    page.locator(EARLIER).last.get_by_role("link").press("Enter")
    wait_until(lambda: last_window.evaluate(IS_BESIDE), "it has come")
    unbroken(page)
    expect(page.locator(EARLIER)).to_have_count(1)  # above both
    window = page.locator(f"#transcript > .window[data-first='{known_end - 1}']")
    expect(window.locator("[data-tool]")).to_have_count(calls)
    runs = window.locator(".call-group > summary")
    if summary:
        expect(runs).to_contain_text(re.compile(summary))
        expect(runs).to_be_focused()
    else:
        expect(runs).to_have_count(0)


@pytest.mark.proof  # rare: another end is asked for before the first has come
def test_last_of_two_requested_windows_is_shown(shelf: Visit):
    page = shelf.open(f"{long_one(shelf)}?at={MIDDLE}")
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page.route(re.compile("at=end"), hold)
    page.reload()  # a loaded page may still send some requests that are not held
    page.keyboard.press("G")
    wait_until(lambda: page.title() and routes, "the end is asked for")
    page.keyboard.type("gg")
    wait_until(lambda: list_window_ranges(page)[0][0] == 0, "the beginning is shown")
    with page.expect_response(re.compile("at=end")) as response:
        routes[0].continue_()
    response.value.finished()
    page.evaluate(AFTER_TASKS)
    assert list_window_ranges(page)[0][0] == 0
