"""Where things stand on a conversation's page: content first, one toolbar, menus that close."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import CUT_NAMES, CUT_OFF, TOO_WIDE
from tests.browser.pages import Visit
from tests.machine.browsing import PHONE, WIDE
from tests.machine.sizes import choose_size, mark_proof

pytestmark = pytest.mark.browser

TOUR = "A tour of questions and answers"
#: Pixels above the first event, by the size of the screen.
MAX_TOP = {WIDE: 160, PHONE: 200}
#: Pixels of a closed fold: 28, and its border.
MAX_ROW_HEIGHT = 30
#: Pixels of a conversation in a list: two lines of text and its border; and above the first row of
#: a table with all filters.
MAX_LISTED_HEIGHT, MAX_TABLE_TOP = 70, 500
#: Of each element, whether its border differs from the page in forced colours.
LIST_MARKED = """(elements, edge) => {
  const { backgroundColor } = getComputedStyle(document.body);
  const getColor = (element) => getComputedStyle(element)[`border-${edge}-color`];
  return elements.map((element) => getColor(element) !== backgroundColor);
}"""
ITEM = "#transcript > .window > [data-kind]:not(.turn-anchor)"


def get_box(locator: Locator) -> dict[str, float]:
    box = locator.bounding_box()
    assert box
    return {"x": box["x"], "y": box["y"], "height": box["height"]}


@pytest.mark.parametrize("size", [PHONE, pytest.param(WIDE, marks=pytest.mark.proof)])
def test_first_event_is_near_the_top(visit: Visit, size: tuple[int, int]):
    page = visit.open(visit.find(TOUR), size=size)
    assert get_box(page.locator(ITEM).first)["y"] <= MAX_TOP[size]
    expect(page.locator("#time-strip p").first).to_be_visible()
    # The metadata beside the title is a Tab stop exactly where they scroll.
    metadata = page.locator("#metadata-bar")
    assert metadata.evaluate("each => each.scrollWidth > each.clientWidth")
    expect(metadata).to_have_attribute("tabindex", "0")
    for part in metadata.locator("p > *").all():
        part.scroll_into_view_if_needed()
        expect(part).to_be_in_viewport(ratio=0.99)


def test_a_call_takes_one_row_and_the_header_uses_the_room_that_it_has(visit: Visit):
    page = visit.open(visit.find(TOUR), size=WIDE)
    row = page.locator("details[data-kind=tool_call_request]:not([open]) > summary").first
    assert get_box(row)["height"] <= MAX_ROW_HEIGHT
    title = page.locator("h1")
    assert title.evaluate("each => each.scrollWidth <= each.clientWidth")
    page.locator("#counts").evaluate("each => { each.style.display = 'none' }")
    page.set_viewport_size({"width": 1279, "height": 800})
    expect(page.locator("#metadata-bar:not([tabindex])")).to_be_visible()
    page.locator("#counts").evaluate("each => { each.style.display = '' }")
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(page.locator("#metadata .place")).to_be_in_viewport(ratio=1)


def test_the_metadata_wraps_on_a_phone_without_scripts(visit: Visit):
    """Nothing makes them a Tab stop there, by which a keyboard reaches what scrolls."""
    page = visit.open(visit.find(TOUR), size=PHONE, javascript=False)
    parts = page.locator("#metadata > *").all()
    assert len(parts) > 2
    for part in parts:
        expect(part).to_be_in_viewport(ratio=1)


def test_a_conversation_of_a_list_takes_two_lines(visit: Visit):
    page = visit.open("/conversations")
    row = page.locator(".row", has_text="What hostile text looks like here")
    assert get_box(row)["height"] <= MAX_LISTED_HEIGHT


@pytest.mark.proof  # auditing/test_audit has it in two sizes
def test_the_table_of_the_audit_begins_on_the_first_screen(visit: Visit):
    page = visit.open("/audit?demo=on")
    assert get_box(page.locator("tbody tr").first)["y"] <= MAX_TABLE_TOP


def test_tabs_stay_where_they_are_and_forced_colors_mark_the_current(visit: Visit):
    page = visit.open(visit.find(TOUR))
    page.emulate_media(forced_colors="active")
    for selector, edge in ((".views a", "bottom"), (".outline li[data-turn]", "left")):
        marks = page.locator(selector).evaluate_all(LIST_MARKED, edge)
        assert len(marks) > 1
        assert sum(marks) == 1, selector
    page.emulate_media(forced_colors="none")
    tabs = page.get_by_label("Conversation views").get_by_role("link")
    names = tabs.all_inner_texts()
    places = [get_box(tabs.first)["x"]]
    for name in names[1 : choose_size(2, 7)]:
        page.get_by_label("Conversation views").get_by_role("link", name=name).click()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        assert tabs.all_inner_texts() == names
        places.append(get_box(tabs.first)["x"])
    assert len(set(places)) == 1, places


def open_menu(page: Page, name: str) -> Locator:
    menu = page.locator(".toolbar details.menu").filter(has_text=name).first
    menu.locator("summary").click()
    expect(menu).to_have_attribute("open", "")
    return menu


def check_current_tab(page: Page) -> None:
    expect(page.locator(".views a[aria-current]")).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("scrollY") == 0


@pytest.mark.proof  # a variant: the tabs of the audit below
def test_the_current_tab_of_a_phone_is_in_view(visit: Visit):
    check_current_tab(visit.open(f"{visit.find(TOUR)}/reviews", size=PHONE))


@pytest.mark.parametrize(
    "path", ["/audit/ledger", *mark_proof("/audit?demo=1", "/audit/decisions?demo=1")]
)
def test_phone_shows_the_current_tab_and_wraps_long_texts_of_a_table(visit: Visit, path: str):
    page = visit.open(path, size=PHONE)
    check_current_tab(page)
    cells = page.locator(".labelled td.nowrap, .labelled td:nth-child(2)")
    for text in ("remembered answer " * 5, "w" * 150):
        cells.evaluate_all("(cells, text) => cells.forEach(e => { e.textContent = text; })", text)
        assert page.evaluate(CUT_OFF) == []
        assert not page.evaluate(TOO_WIDE)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(PHONE, id="phone"),
        pytest.param(WIDE, id="desk", marks=pytest.mark.proof),
    ],
)
def test_decisions_timeline_shows_each_name_whole(visit: Visit, size: tuple[int, int]):
    page = visit.open("/audit/decisions?view=timeline&demo=1&decided=memory", size=size)
    names = page.locator(".lane-name")
    expect(names.get_by_text("remembered answer").first).to_be_visible()
    assert page.evaluate(CUT_NAMES) == []
    names.evaluate_all("(names, text) => names.forEach(e => { e.textContent = text; })", "w" * 150)
    assert page.evaluate(CUT_NAMES) == []
    assert not page.evaluate(TOO_WIDE)


def test_escape_a_press_elsewhere_and_another_menu_close_a_menu(visit: Visit):
    page = visit.open(visit.find(TOUR))
    menu = open_menu(page, "Export")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()
    menu = open_menu(page, "Export")
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")
    menu = open_menu(page, "Export")
    other_menu = open_menu(page, "Show")
    expect(menu).not_to_have_attribute("open", "")
    expect(other_menu).to_have_attribute("open", "")


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((683, 330), id="zoomed window", marks=pytest.mark.proof),
        pytest.param((390, 300), id="low phone"),
    ],
)
def test_a_menu_that_is_higher_than_the_window_scrolls(visit: Visit, size: tuple[int, int]):
    page = visit.open(visit.find(TOUR), size=size)
    page.locator(".site-header .menu summary").click()
    page.get_by_role("button", name="Sign out").click(trial=True)
    page.keyboard.press("Escape")
    page.locator(ITEM).nth(3).scroll_into_view_if_needed()
    menu = open_menu(page, "Show")
    menu.get_by_role("link").last.click(trial=True)
    menu.get_by_role("link").first.click(trial=True)


def test_toolbar_of_a_phone_exports_leads_to_a_turn_and_expands_all(visit: Visit):
    page = visit.open(visit.find(TOUR), size=PHONE)
    page.locator(".toolbar summary", has_text="Export").click()
    menu = page.locator(".toolbar .menu-body").filter(has=page.locator(".download-link"))
    expect(menu.locator(".download-link .muted").first).to_be_visible()
    box = menu.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE[0]
    page.keyboard.press("Escape")
    outline = page.locator("#outline")
    expect(outline).to_be_hidden()
    button = page.get_by_role("button", name="Outline")
    button.click()
    expect(outline.get_by_text("Let a tree have a nickname")).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    button.click()
    expect(outline).to_be_hidden()
    button.click()
    outline.locator("li[data-turn='1'] .outline-turn").click()
    expect(page.locator(".outline-body")).not_to_have_attribute("open", "")
    expect(page.locator("#turn-1")).to_be_in_viewport()
    closed = page.locator("#transcript .fold:not([open])")
    assert closed.count()
    page.locator("#event-filter summary").click()
    page.get_by_role("button", name="Expand all").click()
    expect(closed).to_have_count(0)


def test_web_app_manifest_is_installable(visit: Visit):
    page = visit.open("/")
    session = page.context.new_cdp_session(page)
    manifest = session.send("Page.getAppManifest")
    assert manifest["errors"] == []
    assert '"start_url": "/"' in manifest["data"]
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    # Full Chromium counts a test's window as incognito, where nothing can be installed.
    assert {error["errorId"] for error in errors} <= {"in-incognito"}


def test_a_phone_has_its_navigation_at_the_lower_edge(visit: Visit):
    page = visit.open("/questions", size=PHONE)
    link = page.get_by_role("navigation", name="Main").get_by_role("link", name="Search")
    assert get_box(link)["y"] > PHONE[1] - 60
    assert get_box(link)["height"] >= 44
    link.click()
    page.wait_for_url("**/search")


@pytest.mark.proof  # the header of the tour above is as high
@pytest.mark.parametrize("size", [PHONE, WIDE])
def test_the_header_names_the_model_and_leads_to_its_change(visit: Visit, size: tuple[int, int]):
    page = visit.open(visit.find("Release 1.4 of the orchard planner"), size=size)
    model = page.locator(".page-header #model")
    expect(model).to_be_visible()
    expect(page.locator("#time-strip #model")).to_have_count(0)
    assert get_box(page.locator(ITEM).first)["y"] <= MAX_TOP[size]
