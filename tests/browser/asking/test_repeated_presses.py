"""Presses that follow an answer at once, and where the focus goes after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import BOOLEAN, Visit, find_card, find_cards, find_option, give_time

pytestmark = pytest.mark.browser
ASK = '/call ask_user {"question": "Delete it?", "answer_type": "boolean"}'
SMALL = (800, 420)
READING_MS = 600
#: Whether the focused element is a card, or in one, that the screen shows.
IS_IN_VIEW = """() => {
  const { top, bottom } = document.activeElement.closest(".card").getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


def stop_clock(page: Page) -> Page:
    """Give answers of a page a minute, and let no time pass between two presses."""
    give_time(page)
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    return page


def test_second_press_of_a_key_does_not_answer_the_next_question(visit: Visit):
    page = visit.begin(f"{ASK}\n{ASK}")
    cards = find_cards(page, BOOLEAN)
    expect(cards).to_have_count(2)
    stop_clock(page)
    find_option(cards.first, "Yes").focus()
    page.keyboard.press("y")
    expect(cards.last).to_be_focused()
    for key in ("y", "1", "d"):
        page.keyboard.press(key)
    expect(cards.first.locator(".undo-note")).to_be_visible()
    expect(cards.last.get_by_label("Reason (optional")).to_be_hidden()
    expect(cards.last.locator(".undo-note")).to_have_count(0)
    page.clock.run_for(READING_MS)
    page.keyboard.press("y")
    expect(cards.last.locator(".undo-note")).to_be_visible()


@pytest.mark.parametrize("key", ["Enter", pytest.param("Space", marks=pytest.mark.proof)])
def test_second_press_or_click_of_an_answer_does_not_undo_it(visit: Visit, key: str):
    page = visit.begin(ASK)
    note = find_card(page, BOOLEAN).locator(".undo-note")
    undo = note.get_by_role("button", name="Undo")
    stop_clock(page)
    find_option(find_card(page, BOOLEAN), "Yes").focus()
    page.keyboard.press(key)
    expect(undo).to_be_focused()
    page.keyboard.press(key)
    expect(note).to_be_visible()
    page.clock.run_for(READING_MS)
    page.keyboard.press(key)
    expect(note).to_have_count(0)

    find_option(find_card(page, BOOLEAN), "No").click()
    undo.hover()
    page.mouse.down(click_count=2)  # which button is below the pointer depends on the label
    page.mouse.up(click_count=2)
    expect(note).to_contain_text("Sending No…")
    undo.click()
    expect(note).to_have_count(0)


@pytest.mark.proof  # the focus goes to the next card in make test
@pytest.mark.parametrize(
    "has_undo",
    [
        pytest.param(True, id="undoable"),
        pytest.param(False, id="sent at once"),
    ],
)
def test_card_that_gets_the_focus_after_an_answer_is_in_view(visit: Visit, has_undo: bool):
    page = visit.begin("\n".join([ASK] * 6), size=SMALL)
    cards = find_cards(page, BOOLEAN)
    expect(cards).to_have_count(6)
    if has_undo:
        give_time(page)
    find_option(cards.last, "Yes").focus()  # after the last card comes the first
    expect(cards.first).not_to_be_in_viewport()
    first_id = cards.first.get_attribute("id")
    page.keyboard.press("y")
    expect(page.locator(f"#{first_id}")).to_be_focused()
    assert page.evaluate(IS_IN_VIEW)
