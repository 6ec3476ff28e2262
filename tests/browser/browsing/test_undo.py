"""Answers by one press: the seconds in which they can be undone, and who leaves meanwhile."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser import evidence
from tests.browser.looks import check_accessibility
from tests.browser.pages import (
    BOOLEAN,
    Visit,
    find_card,
    find_cards,
    find_option,
    give_time,
    path_of,
    wait_until_connected,
)
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser
ASK = "/call ask_user " + json.dumps({"question": "Delete it?", "answer_type": "boolean"})


def list_outcomes(visit: Visit, path: str) -> list[object]:
    journal = evidence.read_journal(visit.server, int(path.rpartition("/")[2]))
    return [record.outcome for record in evidence.pair_inquiries(journal) if record.outcome]


def test_an_answer_by_one_press_is_sent_after_five_seconds(visit: Visit):
    page = give_time(visit.begin(ASK), seconds=5)
    wait_until_connected(page)
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    find_option(find_card(page, BOOLEAN), "No").click()
    expect(page.locator(".undo-note")).to_contain_text("Sending No…")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.clock.fast_forward(4_000)
    assert list_outcomes(visit, path_of(page)) == []
    page.clock.fast_forward(1_500)
    page.clock.resume()
    expect(page.locator(".card.settled")).to_contain_text("No")
    assert list_outcomes(visit, path_of(page)) == [{"outcome": "answered", "answer": False}]


def test_an_answer_that_is_undone_was_never_sent(visit: Visit):
    page = give_time(visit.begin(ASK))
    find_option(find_card(page, BOOLEAN), "No").focus()
    page.keyboard.press("y")
    expect(page.locator(".undo-note")).to_contain_text("Sending Yes…")
    check_accessibility(page, "#inbox")
    page.keyboard.press("u")
    expect(find_option(find_card(page, BOOLEAN), "Yes")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Undone. Nothing was sent.")
    page.clock.fast_forward(65_000)
    assert list_outcomes(visit, path_of(page)) == []
    page.keyboard.press("n")
    page.clock.fast_forward(65_000)
    expect(page.locator(".card.settled")).to_contain_text("No")


def test_leaving_the_page_during_undo_sends_the_answer(visit: Visit):
    page = give_time(visit.begin(ASK))
    path = path_of(page)
    find_option(find_card(page, BOOLEAN), "Yes").click()
    page.goto(f"{visit.server.url}/search")
    wait_until(
        lambda: list_outcomes(visit, path) == [{"outcome": "answered", "answer": True}],
        "the answer is on record",
    )


def test_undoable_choice_is_dropped_when_another_person_answers_first(visit: Visit):
    page = give_time(visit.begin(ASK))
    wait_until_connected(page)
    other = visit.open(path_of(page))
    find_option(find_card(page, BOOLEAN), "Yes").click()
    find_option(find_card(other, BOOLEAN), "No").click()
    expect(page.get_by_label("Your choice (not sent)")).to_have_value("Yes")
    page.clock.fast_forward(65_000)
    assert list_outcomes(visit, path_of(page)) == [{"outcome": "answered", "answer": False}]


def test_keys_go_from_card_to_card(visit: Visit):
    page = visit.begin(f"{ASK}\n{ASK}")
    cards = find_cards(page, BOOLEAN)
    expect(cards).to_have_count(2)
    find_option(cards.first, "Yes").focus()
    page.keyboard.press("j")
    expect(cards.last).to_be_focused()
    page.keyboard.press("k")
    expect(cards.first).to_be_focused()
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    page.keyboard.press("y")
    expect(cards).to_have_count(1)
    expect(cards).to_be_focused()
    page.keyboard.press("y")  # too soon: nobody has read the card yet
    page.keyboard.press("d")
    expect(cards.get_by_label("Reason (optional")).to_be_hidden()
    answered = {"outcome": "answered", "answer": True}
    assert list_outcomes(visit, path_of(page)) == [answered]
    page.clock.run_for(600)
    page.keyboard.press("d")
    expect(cards.get_by_label("Reason (optional")).to_be_focused()
    page.keyboard.type("why not")
    page.keyboard.press("Enter")
    expect(cards).to_have_count(0)


def test_the_first_card_has_the_focus_on_the_questions_page(visit: Visit):
    visit.begin_unseen(ASK)
    wait_until(lambda: "Delete it?" in visit.home.owner.get("/questions").text, "it waits")
    page = visit.open("/questions")
    expect(page.locator(".card[data-outcome=open]").first).to_be_focused()
