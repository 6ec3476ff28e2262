"""A printed conversation says what of it is on the paper."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.library import LONG_RESULT
from tests.browser.pages import Visit
from tests.browser.reading.windows import LATER, long_one, to_bottom
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: How many elements do not show all of their text.
COUNT_CUT = "all => all.filter(each => each.scrollHeight > each.clientHeight + 1).length"


def prepare_printing(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


def test_print_note_names_the_printed_events_and_the_export(shelf: Visit):
    page = shelf.open(long_one(shelf))
    note = page.locator(".print-note")
    expect(note).to_be_hidden()
    prepare_printing(page)
    before = note.inner_text()
    assert before.startswith("Printed: events 0 to ")
    assert "only what is expanded. The whole conversation is in Export" in before
    for part in (".toolbar", ".site-header", "#outline", ".time-strip", "#composer"):
        expect(page.locator(part)).to_be_hidden()
    page.emulate_media(media="screen")
    count = page.locator("#transcript > .window").count()
    to_bottom(page)
    expect(page.locator("#transcript > .window")).not_to_have_count(count)
    prepare_printing(page)
    assert note.inner_text() != before


@pytest.mark.proof  # a variant: the note of a part stands above
def test_a_whole_conversation_that_is_unfolded_has_no_note(visit: Visit):
    page = visit.open(visit.find("A tour of questions and answers"))
    expect(page.locator(LATER)).to_have_count(0)
    prepare_printing(page)
    expect(page.locator(".print-note")).to_be_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Expand all").click()
    prepare_printing(page)
    expect(page.locator(".print-note")).to_be_hidden()


def test_expanded_result_is_printed_to_its_last_line(shelf: Visit):
    page = shelf.open(shelf.find(LONG_RESULT))
    page.get_by_role("button", name="Expand all").click()
    texts = page.locator("#transcript .text")
    expect(texts.last).to_be_visible()
    wait_until(lambda: texts.evaluate_all(COUNT_CUT), "it scrolls on a screen")
    prepare_printing(page)
    assert not texts.evaluate_all(COUNT_CUT)
    expect(page.locator(".print-note")).to_be_hidden()  # all is on the paper
