"""Answers that take the socket, and what becomes of them where it does not carry them."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser import evidence
from tests.browser.pages import (
    BOOLEAN,
    SECRET,
    SELECT,
    TEXT,
    Visit,
    answer,
    card,
    cards,
    connected,
    decline,
    number_of,
)
from tests.browser.wires import Wire
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

ANSWER = re.compile("/answer$")
ASKS = '/call ask_user {"question": "Go on?", "answer_type": "boolean", "default": true}'


class Talk:
    """A conversation whose page asks for a text, its wire, and the forms that it has sent."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page = visit.open("/conversations/new")
        self.wire = Wire(self.page)
        visit.begin_on(self.page, "Quickly")
        decline(self.page, BOOLEAN)
        decline(self.page, SELECT)
        self.forms: list[str] = []
        self.page.on("request", self._note)
        card(self.page, TEXT).get_by_label("Answer").fill("typed with care")

    def _note(self, made: Request) -> None:
        if ANSWER.search(made.url):
            self.forms.append(made.url)

    def press(self) -> None:
        card(self.page, TEXT).get_by_role("button", name="Answer").click()

    def answers(self) -> list[object]:
        asked = evidence.asked(evidence.journal(self.visit.server, number_of(self.page)))
        return [each.outcome["answer"] for each in asked if "answer" in each.outcome]


@pytest.fixture
def talk(visit: Visit) -> Talk:
    visit.pages.forgive("status of 40[49]|^.object Event.|WebSocket")
    return Talk(visit)


def late(page: Page):
    return page.locator(".card.settled").last


def test_an_answer_takes_the_socket_and_the_next_question_has_the_focus(talk: Talk):
    talk.press()
    expect(late(talk.page)).to_contain_text("typed with care")
    expect(card(talk.page, SECRET).get_by_label("Secret", exact=True)).to_be_focused()
    assert [each["answer"] for each in talk.wire.sent] == ["typed with care"]
    assert talk.forms == []
    assert talk.answers() == ["typed with care"]
    kept = talk.page.evaluate("Object.keys(sessionStorage)")
    assert not [key for key in kept if ":answer" in key]


@pytest.mark.proof  # an order within one message
def test_what_was_seen_of_a_card_is_told_before_what_came_of_it(visit: Visit):
    page = visit.open("/conversations/new")
    wire = Wire(page)
    visit.begin_on(page, "Quickly")
    card(page, BOOLEAN).get_by_label("No", exact=True).evaluate(
        "(no) => { no.click(); no.form.requestSubmit(); }"
    )
    card(page, SELECT)
    told = ["answer" if "answer" in each else str(each.get("receipts")) for each in wire.said]
    assert "draft" in told[told.index("answer") - 1]


@pytest.mark.proof  # a variant
def test_who_went_elsewhere_is_not_taken_to_the_next_question(talk: Talk):
    talk.wire.way = "hold"
    talk.press()
    expect(talk.page.get_by_text("Sending…")).to_be_visible()
    main = talk.page.get_by_role("navigation", name="Main")
    elsewhere = main.get_by_role("link", name="Questions")
    elsewhere.focus()
    talk.wire.let_go()
    card(talk.page, SECRET)
    expect(elsewhere).to_be_focused()


def test_enter_that_is_held_answers_one_question_alone(visit: Visit):
    page = visit.open("/conversations/new")
    visit.begin_on(page, f"{ASKS}\n{ASKS}")
    expect(cards(page, BOOLEAN)).to_have_count(2)
    cards(page, BOOLEAN).first.get_by_label("Yes", exact=True).focus()
    page.keyboard.down("Enter")
    expect(cards(page, BOOLEAN)).to_have_count(1)
    expect(cards(page, BOOLEAN).get_by_label("Yes", exact=True)).to_be_focused()
    page.keyboard.down("Enter")  # as a key that is held says again
    page.keyboard.down("Control")
    page.keyboard.down("Enter")
    page.keyboard.up("Control")
    page.keyboard.up("Enter")
    expect(cards(page, BOOLEAN)).to_have_count(1)
    expect(cards(page, BOOLEAN)).not_to_have_class(re.compile("htmx-request"))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(cards(page, BOOLEAN)).to_have_count(0)


def test_enter_that_is_pressed_twice_in_haste_answers_one_question_alone(visit: Visit):
    page = visit.open("/conversations/new")
    wire = Wire(page)
    visit.begin_on(page, f"{ASKS}\n{ASKS}")
    expect(cards(page, BOOLEAN)).to_have_count(2)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    cards(page, BOOLEAN).first.get_by_label("Yes", exact=True).focus()
    page.keyboard.press("Enter")
    expect(cards(page, BOOLEAN)).to_have_count(1)
    expect(cards(page, BOOLEAN).get_by_label("Yes", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(cards(page, BOOLEAN).get_by_role("button", name="Answer")).to_be_enabled()
    assert len(wire.sent) == 1
    page.clock.run_for(600)
    page.keyboard.press("Enter")
    expect(cards(page, BOOLEAN)).to_have_count(0)
    assert len(wire.sent) == 2


def test_a_secret_goes_by_its_form(talk: Talk):
    talk.press()
    answer(talk.page, SECRET, "open sesame")
    assert len(talk.wire.sent) == len(talk.forms) == 1
    assert "sesame" not in str(talk.wire.sent)


@pytest.mark.proof  # a secret goes by its form in make test
def test_a_long_text_goes_by_its_form(talk: Talk):
    card(talk.page, TEXT).get_by_label("Answer").fill("long " * 25_000)
    talk.press()
    card(talk.page, SECRET)
    assert (talk.wire.sent, len(talk.forms)) == ([], 1)


@pytest.mark.parametrize("way", ["drop", pytest.param("break", marks=pytest.mark.proof)])
def test_what_the_socket_does_not_carry_is_sent_by_the_form(talk: Talk, way: str):
    talk.wire.way = way
    talk.press()
    expect(late(talk.page)).to_contain_text("typed with care")
    assert len(talk.forms) == 1
    assert talk.answers() == ["typed with care"]


@pytest.mark.proof  # a variant that waits 3 s
def test_the_form_sends_what_was_sent_and_not_what_was_typed_since(talk: Talk):
    talk.wire.way = "drop"
    field = card(talk.page, TEXT).get_by_label("Answer")
    talk.press()
    expect(talk.page.get_by_text("Sending…")).to_be_visible()
    field.fill("typed too late")
    expect(late(talk.page)).to_contain_text("typed with care")
    assert talk.answers() == ["typed with care"]


@pytest.mark.proof  # a variant
def test_what_was_said_of_a_card_while_it_was_sent_is_asked_for_again_where_it_stays(visit: Visit):
    page = visit.open("/conversations/new")
    wire = Wire(page, "hold")
    visit.begin_on(page, "Quickly")
    own = card(page, BOOLEAN).get_attribute("id")
    card(page, BOOLEAN).get_by_label("No", exact=True).check()
    card(page, BOOLEAN).get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Sending…")).to_be_visible()
    wire.tell(f'<article class="card settled" id="{own}" hx-swap-oob="true">Gone</article>')
    before = len([each for each in wire.said if "shown" in each])
    wire.let_go("neither")
    expect(card(page, BOOLEAN).get_by_role("alert")).to_have_text("Choose yes or no.")
    wait_until(
        lambda: page.title() and len([e for e in wire.said if "shown" in e]) > before,
        "the page says anew what it shows",
    )


@pytest.mark.proof  # test_card, by another's
def test_ones_own_answer_is_in_the_course_of_the_page_of_one_question(visit: Visit):
    page = visit.begin("Quickly")
    key = card(page, BOOLEAN).get_attribute("data-question")
    alone = visit.open(f"/questions/{key}")
    connected(alone)
    card(alone, BOOLEAN).get_by_label("No", exact=True).evaluate(
        "(no) => { no.click(); no.form.requestSubmit(); }"
    )
    expect(alone.locator("#timeline [data-step=settled]")).to_contain_text("false")
    # What was seen of it is on record a moment after its answer.
    expect(alone.locator("#timeline tbody td").last).not_to_have_text("never")


@pytest.mark.chaos
def test_an_answer_whose_reply_was_lost_on_the_socket_counts_once(talk: Talk):
    talk.wire.way = "lose"
    talk.press()
    expect(late(talk.page).get_by_role("alert")).to_contain_text("You already responded")
    assert talk.answers() == ["typed with care"]


def test_what_does_not_fit_is_said_in_the_card_which_keeps_what_was_chosen(visit: Visit):
    page = visit.open("/conversations/new")
    wire = Wire(page, "twist")
    visit.begin_on(page, "Quickly")
    card(page, BOOLEAN).get_by_label("No", exact=True).check()
    card(page, BOOLEAN).get_by_role("button", name="Answer").click()
    expect(card(page, BOOLEAN).get_by_role("alert")).to_have_text("Choose yes or no.")
    expect(card(page, BOOLEAN).get_by_label("No", exact=True)).to_be_checked()
    wire.way = "carry"
    card(page, BOOLEAN).get_by_role("button", name="Answer").click()
    expect(late(page)).to_contain_text("false")
    expect(late(page)).to_have_attribute("data-outcome", "answered")


def test_what_is_sent_twice_in_haste_takes_the_socket_once(talk: Talk):
    talk.wire.way = "hold"
    field = card(talk.page, TEXT).get_by_label("Answer")
    for _ in range(3):
        field.press("Control+Enter")
    card(talk.page, TEXT).get_by_label("Reason (optional").press("Enter")
    for name in ("Answer", "Decline"):
        expect(card(talk.page, TEXT).get_by_role("button", name=name)).to_be_disabled()
    talk.wire.let_go()
    expect(late(talk.page)).to_contain_text("typed with care")
    assert (len(talk.wire.sent), talk.forms) == (1, [])
    expect(card(talk.page, SECRET).get_by_role("button", name="Decline")).to_be_enabled()


@pytest.mark.proof  # tests/web/test_answering has it
def test_who_may_answer_no_longer_is_told_so_in_the_card(talk: Talk):
    name = f"Ada {secrets.token_hex(3)}"
    ada = talk.visit.open(who=talk.visit.home.invite(name, "responder"))
    wire = Wire(ada, "hold")
    ada.goto(talk.page.url)
    connected(ada)
    card(ada, TEXT).get_by_label("Answer").fill("mine")
    card(ada, TEXT).get_by_role("button", name="Answer").click()
    expect(ada.get_by_text("Sending…")).to_be_visible()
    home = talk.visit.home.workspaces()["Demo"]
    people = f"/workspaces/{home}/people"
    row = re.search(
        rf"{name}.*?/memberships/(\d+)/remove", talk.visit.home.owner.get(people).text, re.DOTALL
    )
    assert row
    talk.visit.home.owner.post(f"/memberships/{row[1]}/remove", people)
    wire.let_go()
    # By the socket, or by its form where the server has closed the socket of who left before.
    refused = re.compile("no longer yours to answer|you don't have access")
    expect(ada.locator(".card [data-problem]")).to_contain_text(refused)
    assert talk.answers() == []
