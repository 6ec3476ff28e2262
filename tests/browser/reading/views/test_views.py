"""A conversation raw, compacted, as the model saw it, and its configuration, in a real browser."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import Home, Visit
from tests.browser.reading.windows import find_long_one, long_one
from tests.machine.sizes import mark_proof

pytestmark = pytest.mark.browser

VIEWS = (
    *("Transcript", "Timeline", "Compacted", "Raw", "What the model saw"),
    *("Configuration", "Review"),
)
#: By view: the query of a part that is not its first.
FAR_QUERIES = {
    "Timeline": "?from=1",
    "Compacted": "?from=80",
    "Raw": "?from=0",
    "What the model saw": "?turn=3",
    "Configuration": "?from=start",
    "Review": "",
}


UNFOLD_SOME = "folds => { for (const fold of folds.slice(0, 5)) fold.open = true }"
_TABS = re.compile(r'aria-label="Conversation views">(.*?)</nav>', re.DOTALL)
_TAB = re.compile(r'<a href="([^"]+)"[^>]*>([^<]+)</a>')


@pytest.fixture(scope="module")
def path_by_view(library: Home) -> dict[str, str]:
    """Return the paths of the long conversation's views by their names."""
    return list_tabs(library, find_long_one(library))


def list_tabs(home: Home, path: str) -> dict[str, str]:
    """Return the paths of a conversation's views by their names."""
    tabs = _TABS.search(home.owner.get(path).text)
    assert tabs
    return {name: path for path, name in _TAB.findall(tabs[1])}


@pytest.mark.proof  # test_layout presses each tab
@pytest.mark.parametrize("javascript", [True, False])
def test_the_views_are_reached_from_each_other_by_keyboard(shelf: Visit, javascript: bool):
    page = shelf.open(long_one(shelf), javascript=javascript)
    tabs = page.get_by_role("navigation", name="Conversation views").get_by_role("link")
    assert tabs.all_inner_texts() == list(VIEWS)
    for name in (*VIEWS[1:], VIEWS[0]):
        tab = page.get_by_role("link", name=name, exact=True)
        tab.focus()
        page.keyboard.press("Enter")
        expect(tab).to_have_attribute("aria-current", "page")


# Compacted has the parts of Raw, Configuration those of Timeline.
@pytest.mark.parametrize(
    "name",
    ["Timeline", "Raw", "What the model saw", "Review", *mark_proof("Compacted", "Configuration")],
)
def test_conversation_view_is_accessible(visit: Visit, name: str):
    path = visit.find("A tour of questions and answers")
    page = visit.open(list_tabs(visit.home, path)[name])
    page.locator("main details").evaluate_all(UNFOLD_SOME)
    check_accessibility(page)


@pytest.mark.proof  # a size
@pytest.mark.parametrize("name", VIEWS[1:])
def test_view_of_a_long_conversation_is_accessible(
    shelf: Visit, path_by_view: dict[str, str], name: str
):
    page = shelf.sign_in()
    url = shelf.server.url + path_by_view[name]
    for query in (FAR_QUERIES[name], ""):
        page.goto(url + query)
        check_under_proof(page)
        page.locator("main details").evaluate_all(UNFOLD_SOME)
        check_accessibility(page)
    if shots_folder := os.environ.get("JPWEB_TEST_SHOTS"):
        page.screenshot(path=Path(shots_folder) / f"{name}.png", full_page=True)


def test_an_element_leads_to_its_place_in_the_transcript(
    shelf: Visit, path_by_view: dict[str, str]
):
    page = shelf.open(path_by_view["Raw"] + "?from=300")
    entry = page.locator("article.entry").nth(3)
    anchor = entry.get_attribute("id") or ""
    entry.get_by_role("link", name="Show in transcript").click()
    # What is unfolded comes into the address a moment later.
    expect(page).to_have_url(re.compile(rf"at={anchor}(&open=[\w,-]+)?#{anchor}$"))
    expect(page.locator(f"#{anchor}")).to_be_attached()


def test_raw_view_shows_decoded_base64_fields(shelf: Visit, path_by_view: dict[str, str]):
    page = shelf.open(path_by_view["Raw"])
    entry = page.locator("article.entry[data-kind=tool_call_request]").first
    expect(entry.locator("> pre")).to_contain_text("YmVkcy8w")
    expect(entry.get_by_text('"beds/0.py"')).to_be_hidden()
    entry.get_by_text("Decoded: arguments").click()
    expect(entry.get_by_text('"beds/0.py"')).to_be_visible()


def test_model_view_is_beside_the_events_or_above_on_a_phone(
    shelf: Visit, path_by_view: dict[str, str]
):
    page = shelf.open(path_by_view["What the model saw"] + "?turn=1")
    sent_side, happened_side = page.locator(".side").all()
    for size, is_beside in (((1280, 800), True), ((390, 844), False)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        left_box, right_box = sent_side.bounding_box(), happened_side.bounding_box()
        assert left_box
        assert right_box
        assert (right_box["x"] > left_box["x"] + left_box["width"]) is is_beside
        assert (right_box["y"] >= left_box["y"] + left_box["height"]) is not is_beside
