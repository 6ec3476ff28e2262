"""Claiming and snoozing a card by keys, and the height of a card."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import (
    BOOLEAN,
    Visit,
    find_card,
    find_option,
    path_of,
    wait_until_connected,
)

pytestmark = pytest.mark.browser

ASKS = '/call ask_user {"question": "Shall I claim this?", "answer_type": "boolean"}'
ASKS_AGAIN = '/call ask_user {"question": "Shall I go on as before?", "answer_type": "boolean"}'
ASKS_TO_SNOOZE = '/call ask_user {"question": "Shall I wait?", "answer_type": "boolean"}'
#: Pixels of the card of a yes-or-no question.
MAX_CARD_HEIGHT = 150


def press_on_card(card: Locator, key: str) -> None:
    """Press a key while the card has the focus as a whole."""
    card.evaluate("card => { card.tabIndex = -1; card.focus(); }")
    card.page.keyboard.press(key)


def check_focus_of_claims(card: Locator) -> None:
    """Release a claimed card by its button, claim it and release it again."""
    claim = card.get_by_role("link", name="I'm on it")
    release = card.get_by_role("button", name="Release")
    for control, next_control, text in (
        (release, claim, "Released."),
        (claim, release, "Owner is on it."),
        (release, claim, "Released."),
    ):
        control.press("Enter")
        expect(next_control).to_be_focused()
        expect(card.page.locator("#announcer")).to_have_text(text)


def test_keys_claim_release_and_snooze_a_card_on_every_page(visit: Visit):
    page = visit.begin(ASKS)
    card = page.locator(".card[data-outcome=open]").last
    expect(card).to_be_visible()
    number = card.get_attribute("data-question")
    queue = visit.open("/questions")
    wait_until_connected(queue)
    queued = queue.locator(f"#question-{number}")
    assert queued.evaluate("card => card.offsetHeight") <= MAX_CARD_HEIGHT
    press_on_card(queued, "i")
    expect(queued.get_by_text("is on it · ")).to_be_visible()
    expect(card.get_by_text("is on it · ")).to_be_visible()
    expect(card.get_by_role("button", name="Release")).to_be_visible()
    assert queued.evaluate("card => card.offsetHeight") <= MAX_CARD_HEIGHT
    check_accessibility(queue, f"#question-{number}")
    check_focus_of_claims(card)
    expect(queued.get_by_role("link", name="I'm on it")).to_be_visible()

    press_on_card(queued, "z")
    expect(queued.get_by_role("button", name="10 minutes")).to_be_focused()
    queue.keyboard.press("Enter")
    expect(queued).to_have_count(0)
    expect(card).to_have_count(0)
    snoozed = queue.locator("#snoozed")
    snoozed.locator("summary").click()
    check_under_proof(queue)
    snoozed.locator(f"[data-snoozed='{number}']").get_by_role("button").click()
    expect(queued).to_be_visible()
    expect(queued).to_be_focused()
    assert path_of(queue) == "/questions"


@pytest.mark.proof  # tests/web/questions/test_claims has the form, and keys snooze in make test
def test_snooze_on_a_question_page_leads_to_snoozed_questions(visit: Visit):
    number = find_card(visit.begin(ASKS_TO_SNOOZE), BOOLEAN).get_attribute("data-question")
    page = visit.open(f"/questions/{number}")
    find_card(page, BOOLEAN).get_by_role("link", name="Snooze").click()
    page.get_by_role("button", name="1 hour").click()
    page.wait_for_url("**/questions#snoozed")
    expect(page.locator(f"[data-snoozed='{number}']")).to_contain_text("comes back")
    expect(page.locator(f"[data-snoozed='{number}']")).to_be_visible()


@pytest.mark.proof  # the height of one without in make test
def test_a_card_with_an_earlier_answer_is_as_low_as_one_without(visit: Visit):
    page = visit.begin(ASKS_AGAIN)
    find_option(find_card(page, BOOLEAN), "Yes").click()
    expect(page.locator(".card.settled")).to_have_count(1)
    visit.begin(ASKS_AGAIN)
    card = visit.open("/questions").locator(".card[data-outcome=open]").last
    expect(card.locator(".previous-answers")).to_be_visible()
    assert card.evaluate("card => card.offsetHeight") <= MAX_CARD_HEIGHT
