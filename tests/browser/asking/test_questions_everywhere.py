from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import (
    BOOLEAN,
    SECRET,
    SELECT,
    TEXT,
    Visit,
    answer_question,
    decline_question,
    find_card,
    find_cards,
    find_composer,
    find_inquiries,
    find_option,
    find_waiting_count,
    path_of,
    stay_on_page,
    wait_until_connected,
)
from tests.machine.browsing import PHONE

pytestmark = pytest.mark.browser

#: Let two more questions come with one message of the socket.
ADD_TWO_CARDS = """() => {
  const card = document.querySelector(".card[data-outcome=open]");
  for (const title of ["One?", "Two?"]) {
    const newCard = card.cloneNode(true);
    newCard.id = title;
    newCard.querySelector(".question-title").textContent = title;
    card.parentElement.append(newCard);
  }
  document.dispatchEvent(new CustomEvent("htmx:wsAfterMessage"));
}"""


def up_to_the_text(page: Page) -> None:
    """Decline the first two questions, so that the text is asked."""
    decline_question(page, BOOLEAN)
    decline_question(page, SELECT)
    find_card(page, TEXT)


@pytest.mark.proof  # live in make test; test_card reads a page again
def test_question_is_shown_after_reload_in_a_second_tab_and_on_a_phone(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    page.reload()
    expect(find_card(page, BOOLEAN)).to_contain_text("Shall I show you how questions work?")
    second = visit.pages(page.url, sibling=page)
    find_card(second, BOOLEAN)
    phone = visit.open("/questions", size=PHONE)
    boolean_card = find_card(phone, BOOLEAN)
    boolean_card.scroll_into_view_if_needed()
    expect(find_option(boolean_card, "No")).to_be_in_viewport()


def test_question_appears_and_disappears_on_all_pages_and_is_announced(visit: Visit):
    inbox_page = visit.open("/questions")
    plain_list = visit.open("/")
    for tab in (inbox_page, plain_list):
        wait_until_connected(tab)
    with stay_on_page(inbox_page), stay_on_page(plain_list):
        page = visit.begin("Push me")
        for tab in (page, inbox_page):
            find_card(tab, BOOLEAN)
        expect(find_card(inbox_page, BOOLEAN).get_by_role("link", name="Push me")).to_be_visible()
        for tab in (page, inbox_page, plain_list):
            expect(find_waiting_count(tab)).to_have_attribute("data-count", "1")
        expect(inbox_page.locator("#announcer")).to_have_text(
            "New question: Shall I show you how questions work?"
        )
        answer_question(inbox_page, BOOLEAN, "Yes")
        for tab in (page, inbox_page):
            expect(tab.locator(".card.settled")).to_contain_text("by Owner")
            find_card(tab, SELECT)
        expect(plain_list).to_have_title("(1) Home · jpweb")
    inbox_page.evaluate(ADD_TWO_CARDS)
    expect(inbox_page.locator("#announcer")).to_have_text("New question: One?; New question: Two?")


@pytest.mark.proof  # two pages of another size and tab
def test_question_appears_and_disappears_on_a_phone_and_in_a_second_tab(visit: Visit):
    phone = visit.open("/questions", size=PHONE)
    wait_until_connected(phone)
    with stay_on_page(phone):
        page = visit.begin("Push me")
        second = visit.pages(page.url, sibling=page)
        for tab in (page, second, phone):
            find_card(tab, BOOLEAN)
            expect(find_waiting_count(tab)).to_have_attribute("data-count", "1")
        answer_question(phone, BOOLEAN, "Yes")
        for tab in (page, second, phone):
            expect(tab.locator(".card.settled")).to_contain_text("by Owner")
            find_card(tab, SELECT)


@pytest.mark.proof  # in test_journey cards leave, and a question comes and goes below
def test_questions_page_shows_when_no_question_is_open(visit: Visit):
    inbox_page = visit.open("/questions")
    empty_notice = inbox_page.get_by_text("You're all caught up.")
    expect(empty_notice).to_be_visible()
    page = visit.begin()
    find_card(inbox_page, BOOLEAN)
    expect(empty_notice).to_be_hidden()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(find_cards(inbox_page)).to_have_count(0)
    inbox_page.reload()
    expect(empty_notice).to_be_visible()


@pytest.mark.proof  # test_card keeps drafts too
def test_a_draft_survives_a_reload_and_other_live_updates(visit: Visit):
    page = visit.begin()
    up_to_the_text(page)
    visit.begin("Another")
    page.goto(f"{visit.server.url}/questions")
    field = find_card(page, TEXT).get_by_label("Answer")
    field.fill("half a thought")
    list_page = visit.open("/questions")
    decline_question(list_page, BOOLEAN)
    find_card(page, SELECT)
    expect(field).to_have_value("half a thought")
    page.reload()
    expect(field).to_have_value("half a thought")
    answer_question(page, TEXT, "a whole thought")
    assert "thought" not in page.evaluate("JSON.stringify({...sessionStorage})")


@pytest.mark.proof  # a card's draft in make test
def test_message_draft_survives_a_reload_until_sent(visit: Visit):
    page = visit.open("/conversations/new")
    words = page.get_by_label("First message")
    words.fill("Not sent yet")
    page.reload()
    expect(words).to_have_value("Not sent yet")
    visit.begin_on(page, "Sent")
    page.goto(f"{visit.server.url}/conversations/new")
    expect(words).to_have_value("")


@pytest.mark.proof  # a variant of what takes no focus
def test_expanded_call_stays_expanded_when_updated(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    calls = page.locator("details[data-kind=tool_call_request]")
    calls.first.locator("> summary").click(position={"x": 8, "y": 12})
    expect(find_inquiries(page).first).to_be_visible()
    answer_question(page, BOOLEAN, "Yes")
    find_card(page, SELECT)
    expect(calls.first.locator("[data-kind=tool_call_response]")).to_be_visible()
    expect(calls.nth(1)).not_to_have_attribute("open", "")
    expect(calls.first.locator("[data-answer]")).to_be_hidden()  # a settled one folds by itself


def test_focus_stays_in_a_field_during_updates(visit: Visit):
    visit.begin('/call ask_user {"question": "Which name?", "answer_type": "text"}')
    page = visit.open("/questions")
    field = find_card(page, TEXT).get_by_label("Answer")
    field.fill("")
    field.press_sequentially("typed ")
    visit.begin("Another")
    find_card(page, BOOLEAN)
    expect(field).to_be_focused()
    page.keyboard.type("on")
    expect(field).to_have_value("typed on")


@pytest.mark.proof  # test_journey, with all four
def test_focus_moves_to_the_settled_card_after_the_last_answer(visit: Visit):
    page = visit.begin()
    up_to_the_text(page)
    decline_question(page, TEXT)
    find_card(page, SECRET).get_by_label("Secret", exact=True).fill("open sesame")
    page.keyboard.press("Enter")
    expect(find_composer(page)).to_be_visible()
    expect(page.locator(".card.settled[data-outcome=redacted]")).to_be_focused()


@pytest.mark.proof  # test_socket_answers, by socket
def test_focus_moves_to_the_next_question_after_an_answer(visit: Visit):
    first_page = visit.begin("One")
    up_to_the_text(first_page)
    visit.begin("Other")
    page = visit.open("/questions")
    find_card(page, TEXT).get_by_label("Answer").press("Control+Enter")
    expect(find_card(page, BOOLEAN)).to_be_focused()


@pytest.mark.proof  # test_card presses it too
def test_escape_declines_nothing(visit: Visit):
    page = visit.begin()
    find_option(find_card(page, BOOLEAN), "Yes").focus()
    page.keyboard.press("Escape")
    find_card(page, BOOLEAN)
    page.reload()
    find_card(page, BOOLEAN)


@pytest.mark.proof  # tests/web/test_questions has it
def test_questions_page_lists_recent_answers_with_their_outcomes(visit: Visit):
    page = visit.begin("Decide")
    answer_question(page, BOOLEAN, "Yes")
    decline_question(page, SELECT)
    place = path_of(page)
    page.goto(f"{visit.server.url}/questions")
    recent_answers = page.get_by_role("region", name="Your recent answers").locator(".row")
    expect(recent_answers.first).to_have_attribute("data-outcome", "cancelled")
    expect(recent_answers.nth(1)).to_have_attribute("data-outcome", "answered")
    recent_answers.nth(1).get_by_role("link").first.click()
    assert path_of(page) == place
    expect(page.locator(":target")).to_be_in_viewport()


@pytest.mark.proof  # a variant
def test_a_call_that_waits_says_so_once(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    states = page.locator("[data-kind=tool_call_request] > summary .state").last
    expect(states).to_contain_text("Waiting")
    expect(page.get_by_text("No result yet")).to_have_count(0)


@pytest.mark.proof  # the focus stays in make test
def test_transcript_update_keeps_the_focus_and_is_counted(visit: Visit):
    page = visit.begin()
    second_page = visit.open(path_of(page))
    wait_until_connected(second_page)
    call = second_page.locator("[data-kind=tool_call_request]").first
    with stay_on_page(second_page):
        summary = find_inquiries(second_page).first.locator("> summary")
        expect(summary).to_contain_text("Waiting")
        call.evaluate("each => { each.open = true; }")
        summary.focus()
        answer_question(page, BOOLEAN, "Yes")
        expect(summary).to_contain_text("Answered")
        expect(summary).to_be_focused()
        expect(call).to_have_attribute("open", "")
        second_page.locator("#event-filter summary").click()
        name = re.compile(r"^Questions \d")
        link = second_page.locator("#event-filter").get_by_role("link", name=name)
        link.focus()
        answer_question(page, SELECT, "not at all")
        expect(find_inquiries(second_page)).to_have_count(3)
        expect(link).to_have_text("Questions 3")
        expect(link).to_be_focused()
