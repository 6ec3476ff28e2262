from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import TOO_WIDE
from tests.browser.pages import BOOLEAN, Visit, answer_question, decline_question, path_of
from tests.machine.browsing import PHONE, WIDE

pytestmark = pytest.mark.browser


def rows(page: Page):
    return page.locator("tbody tr")


def download_rows(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert download.value.suggested_filename.startswith("questions-")
    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.proof  # tests/web/views/audit has its fields
def test_the_filter_form_and_the_bars_write_the_url(visit: Visit):
    page = visit.open("/audit?demo=1")
    page.get_by_label("Reason").select_option("backend_error")
    page.get_by_role("button", name="Filter").click()
    expect(rows(page).first).to_have_attribute("data-reason", "backend_error")
    assert "reason=backend_error" in page.url
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Include the demo").check()
    page.get_by_role("button", name="Filter").click()
    bar = page.locator(".bar-row[data-outcome=unanswered]")
    count = int(bar.locator("b").inner_text())
    bar.click()
    expect(rows(page)).to_have_count(count)
    assert "outcome=unanswered" in page.url


@pytest.mark.proof  # test_inquiry_table (tests/web) has its rows and its CSV
def test_audit_lists_new_decisions_with_their_decider(visit: Visit):
    question_page = visit.begin("Audited")
    answer_question(question_page, BOOLEAN, "No")
    decline_question(question_page, "select")
    page = visit.open("/audit?demo=1&person=Owner")
    latest = [rows(page).nth(index) for index in (0, 1)]
    expect(latest[0]).to_have_attribute("data-outcome", "cancelled")
    expect(latest[1]).to_contain_text("No")
    for row in latest:
        expect(row).to_contain_text("Audited")
        expect(row).to_contain_text("Owner")
    line = download_rows(page)[1]
    assert (line["answer"], line["decided_by"], line["decider"]) == ("No", "person", "Owner")
    assert path_of(question_page) in line["link"]


MEASURE_FIELDS = """() => [...document.querySelectorAll(
  'form.filter input:not([type=checkbox], [type=hidden]), form.filter select')]
  .filter(field => field.checkVisibility())
  .map(field => field.getBoundingClientRect())
  .map(({top, height}) => [Math.round(top * 2) / 2, Math.round(height * 2) / 2])"""
MEASURE_CUT_COLUMNS = """() => [...document.querySelectorAll('main .table')]
  .map(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)"""
MEASURE_HEIGHTS = """() => [...document.querySelectorAll('main .table tbody tr')]
  .map(row => row.getBoundingClientRect().height)"""
#: Of each chart: whether it shows, the rows of its table, those that show, and the pixels cut off.
MEASURE_CHARTS = """() => {
  const isLaidOut = part => part.checkVisibility() && part.getBoundingClientRect().height > 0;
  return [...document.querySelectorAll('.chart-figure:has(.chart)')].map(figure => {
    const rows = [...figure.querySelectorAll('tbody tr')];
    const table = figure.querySelector('.table');
    return [
      isLaidOut(figure.querySelector('.chart')), rows.length, rows.filter(isLaidOut).length,
      table.scrollHeight - table.clientHeight,
    ]; })}"""
#: Pixels above the first question, by the size of the window.
TOPS = [(WIDE, 430), (PHONE, 844)]
TOUR = "A tour of questions and answers"
#: Pixels of a row in a narrow window: four lines.
MAX_ROW_HEIGHT = 100
#: Pixels of a window in which tables stand narrower than on a desk, of a sheet of A4, and of a
#: small notebook's window.
NARROW, SHEET, NOTEBOOK = (760, 900), (718, 1000), (1200, 800)
MEDIA: tuple[tuple[tuple[int, int], Literal["screen", "print"]], ...] = (
    (WIDE, "screen"),
    (NARROW, "screen"),
    (SHEET, "print"),
)


def test_first_question_is_near_the_top_and_narrow_tables_are_whole(visit: Visit):
    number = visit.find(TOUR).rpartition("/")[2]  # other tests ask longer questions
    page = visit.open(f"/audit?conversation={number}")
    for size, height in TOPS:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        expect(page.locator(".more-filters")).not_to_have_attribute("open", "")
        top = rows(page).first.evaluate("row => row.getBoundingClientRect().top + scrollY")
        assert top <= height, size
    for size, media in MEDIA:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(media=media)
        assert not page.evaluate(TOO_WIDE), media
        cut_widths = page.evaluate(MEASURE_CUT_COLUMNS)
        assert cut_widths
        assert media == "print" or max(page.evaluate(MEASURE_HEIGHTS)) <= MAX_ROW_HEIGHT
        assert size == NARROW or max(cut_widths) <= 1, cut_widths


def check_print_without_form(page: Page) -> None:
    """Check that a printed page has its filters in words instead of their form."""
    expect(page.locator(".print-only")).to_contain_text(page.url)
    for part in (".site-header", ".views", ".filter", ".quick-ranges", ".toolbar"):
        assert not any(each.is_visible() for each in page.locator(part).all()), part
    assert not page.evaluate(TOO_WIDE)


def test_printed_charts_have_every_row_of_their_tables_and_no_form(visit: Visit):
    page = visit.open("/audit/charts?demo=1", size=SHEET)
    expect(page.locator(".chart").first).to_be_visible()
    expect(page.locator(".print-only")).to_be_hidden()
    assert {shown_count for _, _, shown_count, _ in page.evaluate(MEASURE_CHARTS)} == {0}
    page.emulate_media(media="print")
    charts = page.evaluate(MEASURE_CHARTS)
    assert len(charts) > 3
    for is_shown, row_count, shown_count, cut_height in charts:
        assert is_shown
        assert 0 < row_count == shown_count
        assert cut_height <= 1
    check_print_without_form(page)


@pytest.mark.proof  # other widths in make test
def test_the_window_of_a_small_notebook_has_every_column(visit: Visit):
    visit.begin("A title with AKeyOfFortyLettersThatNoLineCanBreak")
    demo = visit.home.workspaces()["Demo"]  # others have what tests ask
    page = visit.open(f"/audit?workspace={demo}", size=NOTEBOOK)
    expect(rows(page).nth(10)).to_be_visible()
    expect(page.locator("thead th")).to_have_count(9)
    assert not page.evaluate(TOO_WIDE)
    (cut_width,) = page.evaluate(MEASURE_CUT_COLUMNS)
    assert cut_width == 0


def test_fields_of_the_filter_are_aligned_and_control_enter_opens_a_link(visit: Visit):
    page = visit.open("/audit?demo=1&reason=backend_error")
    boxes = page.evaluate(MEASURE_FIELDS)
    assert len(boxes) > 3
    assert len({height for _, height in boxes}) == 1, boxes
    tops = sorted({top for top, _ in boxes})
    row_gaps = [after - before for before, after in pairwise(tops)]
    assert all(gap > boxes[0][1] for gap in row_gaps), boxes
    with page.context.expect_page() as opened_page:
        page.get_by_role("link", name="Clear").press("Control+Enter")
    opened_page.value.wait_for_url("**/audit")
    assert "reason" in page.url


@pytest.mark.proof  # charts, above, in make test
@pytest.mark.parametrize("path", ["", "/decisions", "/ledger", "/reviews/cancelled"])
def test_print_has_filters_in_words_instead_of_their_form(visit: Visit, path: str):
    page = visit.open(f"/audit{path}", size=SHEET)
    expect(page.locator(".print-only")).to_be_hidden()
    page.emulate_media(media="print")
    check_print_without_form(page)
