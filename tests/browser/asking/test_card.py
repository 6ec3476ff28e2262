"""What a card shows, keeps and does."""

from __future__ import annotations

import base64
import json
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser import evidence
from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import (
    BOOLEAN,
    SELECT,
    TEXT,
    Visit,
    answer_question,
    decline_question,
    find_card,
    find_composer,
    find_inquiries,
    find_option,
    number_of,
    open_decline,
    path_of,
    stay_on_page,
    wait_until_connected,
)
from tests.machine.browsing import PHONE
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

#: How the letters of a field are ordered; whether an element's last letter is left of its first.
DIRECTION = "field => getComputedStyle(field).unicodeBidi"
READS_FROM_RIGHT = """(element) => {
  const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  const measure = (index) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + 1);
    return range.getBoundingClientRect().left;
  };
  return measure(text.data.length - 1) < measure(0);
}"""
OPTIONS = ["red", "blue", "green"]


@pytest.fixture
def words() -> str:
    """Return words that no other test has used."""
    return f"Which colour, {secrets.token_hex(4)}?"


def ask(visit: Visit, question: str, **fields: Any) -> Page:
    """Let the assistant ask something; returns the conversation's page."""
    arguments = {"question": question, "answer_type": "select", "options": OPTIONS} | fields
    return visit.begin(f"/call ask_user {json.dumps(arguments)}")


def note_of(page: Page) -> Locator:
    return open_decline(page.locator(".card[data-outcome=open]"))


def hold_requests(page: Page, path_end: str) -> list[Route]:
    """Return a list that gets the requests of a page to such paths, which stay unanswered."""
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page.route(re.compile(f"{path_end}$"), hold)
    return routes


def press_and_hold(page: Page, control: Locator, path_end: str) -> Route:
    """Press a control of a card, and return the request that it sends, unanswered."""
    routes = hold_requests(page, path_end)
    control.click()
    wait_until(lambda: page.title() and routes, "it is requested")
    return routes[0]


def tab_to(field: Locator) -> None:
    """Press Tab until a field has the focus, past links and what was answered before."""
    for _ in range(8):
        if field.evaluate("field => field === document.activeElement"):
            return
        field.page.keyboard.press("Tab")
    expect(field).to_be_focused()


def test_decline_reason_is_typed_at_once_and_shown_to_all_members(visit: Visit):
    page = visit.begin("Why")
    list_page = visit.open("/questions")
    wait_until_connected(list_page)
    find_card(page, BOOLEAN).locator(".decline > summary").press("Enter")
    page.keyboard.type("Not before the backup")
    expect(note_of(page)).to_have_value("Not before the backup")
    expect(page.locator(".card.settled")).to_have_count(0)
    decline_question(page, BOOLEAN)
    for tab in (page, list_page):
        expect(tab.locator(".card.settled [data-note]")).to_have_text("Not before the backup")
    expect(find_inquiries(page).first.locator("[data-note]")).to_have_text("Not before the backup")
    (note,) = [e["metadata"]["jpweb"]["note"] for e in responses(visit, page)]
    assert base64.b64decode(note) == b"Not before the backup"
    list_page.reload()
    recent_answers = list_page.get_by_role("region", name="Your recent answers")
    expect(recent_answers.locator(".row").first).to_contain_text("Not before the backup")


def responses(visit: Visit, page: Page) -> list[dict[str, Any]]:
    events = evidence.read_journal(visit.server, number_of(page))
    return [event for event in events if event["type"] == "inquiry_response"]


@pytest.mark.proof  # test_journey declines with a note too
def test_a_note_is_never_sent_as_an_answer(visit: Visit):
    page = visit.begin()
    decline_question(page, BOOLEAN)
    decline_question(page, SELECT)
    expect(find_card(page, TEXT).get_by_label("Answer")).to_have_value("report.md")
    note_of(page).press_sequentially("no file")
    page.keyboard.press("Enter")
    expect(page.locator(".card.settled").last).to_contain_text("no file")
    assert [response["outcome"] for response in responses(visit, page)] == ["cancelled"] * 3


@pytest.mark.parametrize(
    "way", [pytest.param("a reload", marks=pytest.mark.proof), "the Questions page"]
)
def test_card_keeps_its_draft_after_reload_and_navigation(visit: Visit, way: str):
    page = ask(visit, "Which?", options=[*OPTIONS, "black", "white", "grey"])
    select_card = find_card(page, SELECT)
    select_card.get_by_role("radio").first.focus()
    page.keyboard.press("2")
    note_of(page).fill("half a reason")
    page.reload() if way == "a reload" else page.goto(f"{visit.server.url}/questions")
    expect(select_card.get_by_label("blue")).to_be_checked()
    expect(select_card.get_by_label("Reason (optional")).to_be_visible()
    expect(note_of(page)).to_have_value("half a reason")
    select_card.get_by_role("button", name="Answer").click()
    expect(page.locator(".card.settled")).to_contain_text("blue")
    assert "half a reason" not in page.evaluate(evidence.STORAGE)


@pytest.mark.proof  # test_several_people, who is late
def test_draft_can_be_copied_when_another_person_answers(visit: Visit):
    page = visit.begin()
    answer_question(page, BOOLEAN, "Yes")
    ada = visit.open(path_of(page), who=visit.home.invite(secrets.token_hex(4), "responder"))
    wait_until_connected(ada)
    note_of(ada).fill("a long and careful reason")
    answer_question(page, SELECT, "not at all")
    expect(ada.get_by_label("Your reason (not sent)")).to_have_value("a long and careful reason")
    storage = ada.evaluate("JSON.stringify({...sessionStorage})")
    assert "reason" not in storage
    assert "backup" not in storage


def replace_default(field: Locator) -> None:
    """Type over a field's default, leave it, and go on typing at its end."""
    keyboard = field.page.keyboard
    expect(field).to_have_value("report.md")
    tab_to(field)
    keyboard.type("day.md")
    expect(field).to_have_value("day.md")
    for key in ("Tab", "Shift+Tab", "End"):
        keyboard.press(key)
    keyboard.type("!")
    expect(field).to_have_value("day.md!")
    keyboard.press("Tab")


def test_cards_are_answered_by_keyboard_alone(visit: Visit):
    page = visit.begin("Keys")
    find_card(page, BOOLEAN)
    page.locator("#inbox").evaluate("desk => { desk.tabIndex = -1; desk.focus(); }")
    tab_to(find_option(find_card(page, BOOLEAN), "No"))
    page.keyboard.press("Enter")
    tab_to(find_option(find_card(page, SELECT), "with a backup"))
    page.keyboard.press("3")
    text_card = find_card(page, TEXT)
    replace_default(text_card.get_by_label("Answer"))
    tab_to(text_card.locator(".decline > summary"))
    page.keyboard.press("d")
    expect(note_of(page)).to_be_focused()
    page.keyboard.type("3 is no file")
    expect(note_of(page)).to_have_value("3 is no file")
    page.keyboard.press("Escape")
    expect(note_of(page)).to_have_value("3 is no file")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".card.settled").last).to_contain_text("3 is no file")
    outcomes = [response["outcome"] for response in responses(visit, page)]
    assert outcomes == ["answered", "answered", "cancelled"]


@pytest.mark.proof  # opened by Enter in make test
def test_decline_that_is_pressed_puts_the_focus_in_the_reason(visit: Visit):
    page = visit.begin("Focus")
    find_card(page, BOOLEAN).locator(".decline > summary").click()
    page.keyboard.type("not yet")
    expect(find_card(page, BOOLEAN).get_by_label("Reason (optional")).to_have_value("not yet")
    expect(page.locator(".card.settled")).to_have_count(0)


@pytest.mark.proof  # browsing/test_lost_requests has it, with a request that is lost
def test_strip_of_times_says_running_until_the_turn_has_ended(visit: Visit):
    page = visit.begin("Strip")
    second_page = visit.open(path_of(page))
    wait_until_connected(second_page)
    strip = second_page.locator("#time-strip[data-href]")
    with stay_on_page(second_page):
        expect(strip).to_contain_text("running")
        page.locator("#composer").get_by_role("button", name="Stop", exact=True).click()
        expect(find_composer(second_page)).to_be_visible()
        expect(strip).to_contain_text("\u2013")
        expect(strip).not_to_contain_text("running")


@pytest.mark.proof  # a variant
def test_card_waiting_time_counts_up_without_a_server(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    page.reload()
    wait_time = page.locator("time[data-waiting-seconds]")
    since = int(wait_time.get_attribute("data-waiting-seconds") or "")
    page.clock.fast_forward(40_000)
    expect(wait_time).to_have_text(f"{(since + 40) // 10 * 10} s" if since < 20 else "1 min")
    page.clock.fast_forward("02:05:00")
    expect(wait_time).to_have_text("2 h 5 min")
    assert (
        wait_time.evaluate("waits => waits.closest('[aria-live], [role=status], [role=alert]')")
        is None
    )


@pytest.mark.proof  # tests/web/views/test_question has each part, of which no script takes care
def test_card_shows_source_context_default_and_previous_answer(visit: Visit, words: str):
    first = ask(visit, words)
    find_option(find_card(first, SELECT), "blue").click()
    expect(first.locator(".card.settled")).to_have_count(1)
    page = ask(visit, words, default="green", context="The wall is *white* now.")
    select_card = find_card(page, SELECT)
    expect(select_card.locator("header")).to_contain_text("Assistant asks")
    expect(select_card).to_contain_text("The wall is white now.")
    expect(select_card.locator("[data-default]")).to_have_text("green")
    check_under_proof(page)
    before = select_card.locator(".previous-answers")
    before.locator("summary").click()
    expect(before.locator("li")).to_have_count(1)
    expect(before).to_contain_text("blue by Owner")
    check_accessibility(page, "#inbox")
    before.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.locator("#question-details")).to_contain_text("redbluegreen")
    check_under_proof(page)


def test_a_question_in_hebrew_is_read_from_the_right(visit: Visit):
    question = {"question": "האם (למחוק) את report.md?", "answer_type": "text", "default": "לא!"}
    page = visit.begin(f"/call ask_user {json.dumps(question)}")
    text_card = find_card(page, TEXT)
    assert text_card.locator(".question-title p").evaluate(READS_FROM_RIGHT)
    assert page.locator(".inquiry .question-title").evaluate(READS_FROM_RIGHT)
    assert text_card.get_by_label("Answer").evaluate(DIRECTION) == "plaintext"
    text_card.get_by_role("button", name="Answer").click()
    settled_card = page.locator(".card.settled")
    assert settled_card.locator(".question-title").evaluate(READS_FROM_RIGHT)
    assert settled_card.locator("code").evaluate(READS_FROM_RIGHT)


def test_question_page_updates_live(visit: Visit):
    page = visit.begin("Alone")
    number = find_card(page, BOOLEAN).get_attribute("data-question")
    question_page = visit.open(f"/questions/{number}#question-{number}", size=PHONE)
    wait_until_connected(question_page)
    expect(find_card(question_page, BOOLEAN)).to_be_focused()
    expect(question_page.locator("#question-details")).to_be_hidden()
    check_under_proof(question_page)
    with stay_on_page(question_page):
        note_of(question_page).fill("not sent")
        answer_question(page, BOOLEAN, "Yes")
        expect(question_page.locator(".card.settled")).to_contain_text("by Owner")
        expect(question_page.get_by_label("Your reason (not sent)")).to_have_value("not sent")
        expect(question_page.locator("#question-details")).to_be_visible()
        expect(question_page.locator("[data-step=settled]")).to_contain_text("Yes by Owner")
    expect(question_page.locator(".card")).to_have_count(1)
    check_under_proof(question_page)


@pytest.mark.proof  # test_journey_without_scripts
def test_a_question_can_be_answered_on_its_own_page_without_scripts(visit: Visit):
    page = visit.begin("Plain")
    number = find_card(page, BOOLEAN).get_attribute("data-question")
    plain = visit.open(f"/questions/{number}", javascript=False)
    note_of(plain).fill("no scripts")
    decline_question(plain, BOOLEAN)
    expect(plain.locator(":target [data-note]")).to_have_text("no scripts")


@pytest.mark.proof  # an answer over a snooze, and a card that another settles, in make test
@pytest.mark.parametrize("way", ["answer", "decline"])
def test_card_is_settled_while_its_context_loads(visit: Visit, way: str):
    visit.begin("Slow link")
    page = visit.open("/questions")
    card = find_card(page, BOOLEAN)
    route = press_and_hold(page, card.get_by_text("Show context"), "/context")
    expect(page.get_by_text("Sending…")).to_be_hidden()
    (answer_question(page, BOOLEAN, "Yes") if way == "answer" else decline_question(page, BOOLEAN))
    expect(page.locator(".card.settled")).to_contain_text("by Owner")
    route.continue_()


def test_an_answer_is_shown_over_requests_of_its_card_that_fail_or_hang(visit: Visit):
    visit.pages.forgive("503|Response Status Error|htmx:(afterRequest|sendAbort)")
    first = visit.begin("Slow link")
    page = visit.open("/questions")
    wait_until_connected(page)
    card = find_card(page, BOOLEAN)
    page.route(re.compile("/context$"), lambda route: route.fulfill(status=503))
    card.get_by_text("Show context").click()
    expect(card.get_by_role("alert")).to_contain_text("Couldn't load the context")
    expect(card.get_by_role("link", name="Last messages before this question")).to_be_visible()

    card.get_by_role("link", name="Snooze").click()
    press_and_hold(page, card.get_by_role("button", name="10 minutes"), "/snooze")
    answer_question(page, BOOLEAN, "Yes")
    expect(page.locator(".card.settled")).to_contain_text("by Owner")

    select_card = find_card(page, SELECT)
    route = press_and_hold(page, select_card.get_by_text("Show context"), "/context")
    answer_question(first, SELECT, "not at all")  # as another person does
    expect(page.locator(".card.settled").last).to_contain_text("not at all by Owner")
    route.continue_()


@pytest.mark.proof  # a context in make test
@pytest.mark.parametrize(
    ("control", "path_end"),
    [
        pytest.param("I'm on it", "/claim", id="claim"),
        pytest.param("Snooze…", "/snooze/choose", id="snooze"),
    ],
)
def test_card_that_another_settles_while_it_loads_is_shown_settled(
    visit: Visit, control: str, path_end: str
):
    first = visit.begin("Slow link")
    page = visit.open("/questions")
    wait_until_connected(page)
    route = press_and_hold(page, find_card(page, BOOLEAN).get_by_text(control), path_end)
    answer_question(first, BOOLEAN, "Yes")
    expect(page.locator(".card.settled")).to_contain_text("by Owner")
    route.continue_()
