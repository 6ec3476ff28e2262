"""Reviewing by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pages import Visit

pytestmark = pytest.mark.browser


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
    form.get_by_label("Note").fill("Nobody was told.")
    page.keyboard.press("n")
    expect(form.get_by_label("Note")).to_have_value("Nobody was told.n")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".notice").first).to_have_text("Saved your review.")
    page.goto(f"{question}?queue=cancelled")
    expect(page.locator("#reviews")).to_contain_text("Reviewed: Wrong")
    page.keyboard.press("n")
    expect(page).not_to_have_url(f"{question}?queue=cancelled")


def test_note_of_a_review_outlives_a_reload(visit: Visit):
    page = visit.open("/audit?demo=1&reason=backend_error")
    page.locator("tbody a.details").first.click()
    page.locator("[data-review-start]").click()
    note = page.locator("form[data-review]").get_by_label("Note")
    note.fill("Half a sentence")
    page.reload()
    expect(note).to_have_value("Half a sentence")
