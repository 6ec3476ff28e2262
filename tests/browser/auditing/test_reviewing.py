"""Reviewing by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import TOO_WIDE
from tests.browser.pages import Visit
from tests.machine.browsing import PHONE, WIDE
from tests.machine.sizes import mark_proof

pytestmark = pytest.mark.browser
WITHOUT_NOTE = "Write a note: say why it isn't fine."
#: Writes a count in place of each number in elements.
REPLACE_COUNTS = """([selector, count]) => {
  for (const element of document.querySelectorAll(selector)) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      walker.currentNode.data = walker.currentNode.data.replace(/[0-9][0-9,]*[+]?/g, count);
    }
  }
}"""
#: Names of bars that take more than one line, or reach beyond their bar.
LIST_BROKEN_NAMES = """() => [...document.querySelectorAll('.bar-name')].filter(name => {
  const range = document.createRange();
  range.selectNodeContents(name);
  const [line, ...others] = range.getClientRects();
  return others.length || line.right > name.nextElementSibling.getBoundingClientRect().left;
}).map(name => name.textContent)"""


def test_keys_start_a_review_choose_its_verdict_and_skip_to_the_next(visit: Visit):
    page = visit.open("/audit?demo=1&reason=backend_error")
    page.locator("tbody a.details").first.click()
    question = page.url
    page.goto(f"{question}?queue=cancelled")
    page.keyboard.press("r")
    form = page.locator("form[data-review]")
    expect(form).to_be_visible()
    page.wait_for_load_state("load")  # the keys are bound
    page.keyboard.press("3")
    expect(form.get_by_label("Wrong")).to_be_checked()
    expect(form.get_by_label("Wrong")).to_be_focused()
    visit.pages.forgive("status of 422")
    page.keyboard.press("Control+Enter")
    expect(form.get_by_label("Note")).to_be_focused()
    expect(form.get_by_label("Note")).to_have_accessible_description(WITHOUT_NOTE)
    form.get_by_label("Note").fill("Nobody was told.")
    page.keyboard.press("n")
    expect(form.get_by_label("Note")).to_have_value("Nobody was told.n")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".notice").first).to_have_text("Saved your review.")
    page.goto(f"{question}?queue=cancelled")
    expect(page.locator("#reviews")).to_contain_text("Reviewed: Wrong")
    page.keyboard.press("n")
    expect(page).not_to_have_url(f"{question}?queue=cancelled")


@pytest.mark.proof  # keys choose a verdict and go to the next above
def test_keys_of_reviewing_apply_while_a_verdict_has_the_focus(visit: Visit):
    page = visit.open("/audit?demo=1&reason=lost")
    page.locator("tbody a.details").first.click()
    question = f"{page.url}?queue=cancelled"
    page.goto(question)
    page.locator("[data-review-start]").click()
    radios = page.locator("form[data-review]").get_by_role("radio")
    radios.nth(2).check()
    page.wait_for_load_state("load")  # the keys are bound
    page.keyboard.press("1")
    expect(radios.first).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(radios.nth(1)).to_be_focused()
    page.keyboard.press("n")
    expect(page).not_to_have_url(re.compile(re.escape(question)))


@pytest.mark.proof  # drafts of cards, overrides and messages outlive one in make test
def test_note_of_a_review_outlives_a_reload(visit: Visit):
    page = visit.open("/audit?demo=1&reason=backend_error")
    page.locator("tbody a.details").first.click()
    page.locator("[data-review-start]").click()
    note = page.locator("form[data-review]").get_by_label("Note")
    note.fill("Half a sentence")
    page.reload()
    expect(note).to_have_value("Half a sentence")


@pytest.mark.parametrize("count", [*mark_proof("10"), "1,000"])
def test_queues_fit_a_phone_whatever_their_counts(visit: Visit, count: str):
    page = visit.open("/audit/reviews", size=(360, 800))
    page.evaluate(REPLACE_COUNTS, [".row.queue .number", count])
    expect(page.locator(".row.queue .progress").first).to_contain_text(f"{count} of {count} rev")
    for width in (360, *(width for width, _ in (PHONE, WIDE))):
        page.set_viewport_size({"width": width, "height": 800})
        assert not page.evaluate(TOO_WIDE), width


@pytest.mark.proof  # queues below other counts in make test
def test_outcome_names_stand_on_one_line_beside_long_counts(visit: Visit):
    page = visit.open("/audit?demo=1", size=PHONE)
    page.evaluate(REPLACE_COUNTS, [".bar-row b", "2,000+"])
    for width in (360, *(width for width, _ in (PHONE, WIDE))):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(LIST_BROKEN_NAMES) == [], width
        assert not page.evaluate(TOO_WIDE), width
