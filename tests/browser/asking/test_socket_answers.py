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
    answer_question,
    decline_question,
    find_card,
    find_cards,
    find_option,
    number_of,
    open_decline,
    wait_until_connected,
)
from tests.browser.wires import PATIENT_WITH_SOCKET, PageWire
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

ANSWER = re.compile("/answer$")
ASKS_TEXT = '/call ask_user {"question": "Which file?", "answer_type": "text"}'
ASKS = '/call ask_user {"question": "Go on?", "answer_type": "boolean", "default": true}'
#: The page waits 0.3 s for a reply by socket, not three, before it submits the form.
HASTY_WITHOUT_SOCKET = PATIENT_WITH_SOCKET.replace("60000", "300")


class WiredConversation:
    """A conversation whose page asks for a text, its wire, and the forms that it has sent."""

    def __init__(self, visit: Visit, *, script: str = "", is_last: bool = False) -> None:
        """Open the page; ``is_last`` tells whether nothing is asked after the text."""
        visit.pages.forgive("status of 40[49]|^.object Event.|WebSocket")
        self.visit = visit
        self.page = visit.sign_in()
        self.wire = PageWire(self.page)
        if script:
            self.page.add_init_script(script)
        text = ASKS_TEXT if is_last else "Quickly"
        path = visit.home.owner.begin(visit.home.workspaces()["Demo"], text)
        visit.begun_paths.append(path)
        self.page.goto(f"{visit.server.url}{path}")
        for kind in () if is_last else (BOOLEAN, SELECT):
            decline_question(self.page, kind)
        self.forms: list[str] = []
        self.page.on("request", self._note)
        find_card(self.page, TEXT).get_by_label("Answer").fill("typed with care")

    def _note(self, request: Request) -> None:
        if ANSWER.search(request.url):
            self.forms.append(request.url)

    def press(self) -> None:
        find_card(self.page, TEXT).get_by_role("button", name="Answer").click()

    def answers(self) -> list[object]:
        records = evidence.pair_inquiries(
            evidence.read_journal(self.visit.server, number_of(self.page))
        )
        return [record.outcome["answer"] for record in records if "answer" in record.outcome]


@pytest.fixture
def conversation(visit: Visit) -> WiredConversation:
    return WiredConversation(visit, script=PATIENT_WITH_SOCKET)


@pytest.fixture
def hasty_conversation(visit: Visit) -> WiredConversation:
    """Return one whose page sends the form after three seconds without a reply."""
    return WiredConversation(visit, is_last=True)


def count_states(wire: PageWire) -> int:
    """Return how often the page has told the server which cards it shows."""
    return len([message for message in wire.page_messages if "questions" in message])


def pause_clock(page: Page) -> None:
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))


def find_settled_card(page: Page):
    return page.locator(".card.settled").last


def test_answer_takes_the_socket_and_the_secret_with_the_focus_its_form(
    conversation: WiredConversation,
):
    pause_clock(conversation.page)  # a card that comes later than two seconds gets no focus
    conversation.press()
    conversation.page.clock.run_for(10)  # a press holds messages of the socket back until a timer
    expect(find_settled_card(conversation.page)).to_contain_text("typed with care")
    expect(find_card(conversation.page, SECRET).get_by_label("Secret", exact=True)).to_be_focused()
    assert [message["answer"] for message in conversation.wire.answers] == ["typed with care"]
    assert conversation.forms == []
    assert conversation.answers() == ["typed with care"]
    storage_keys = conversation.page.evaluate("Object.keys(sessionStorage)")
    assert not [key for key in storage_keys if ":answer" in key]
    conversation.page.clock.resume()
    answer_question(conversation.page, SECRET, "open sesame")
    assert len(conversation.wire.answers) == len(conversation.forms) == 1
    assert "sesame" not in str(conversation.wire.answers)


@pytest.mark.proof  # an order within one message
def test_receipts_are_sent_before_the_answer_of_a_card(visit: Visit):
    page = visit.open("/conversations/new")
    wire = PageWire(page)
    visit.begin_on(page, "Quickly")
    find_option(find_card(page, BOOLEAN), "No").click()
    find_card(page, SELECT)
    steps = [
        "answer" if "answer" in message else str(message.get("receipts"))
        for message in wire.page_messages
    ]
    assert "draft" in steps[steps.index("answer") - 1]


@pytest.mark.proof  # a variant
def test_focus_elsewhere_is_kept_when_an_answer_is_confirmed(conversation: WiredConversation):
    conversation.wire.way = "hold"
    conversation.press()
    expect(conversation.page.get_by_text("Sending…")).to_be_visible()
    main = conversation.page.get_by_role("navigation", name="Main")
    link = main.get_by_role("link", name="Questions")
    link.focus()
    conversation.wire.let_go()
    find_card(conversation.page, SECRET)
    expect(link).to_be_focused()


def test_enter_that_is_held_answers_one_question_and_leads_to_the_next(visit: Visit):
    page = visit.begin("\n".join([ASKS] * 3))
    cards = find_cards(page, BOOLEAN)
    expect(cards).to_have_count(3)
    next_card = page.locator(f"#{cards.last.get_attribute('id')}")
    find_option(cards.nth(1), "Yes").focus()
    page.set_viewport_size({"width": 800, "height": 300})
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    expect(next_card).not_to_be_in_viewport()
    page.keyboard.down("Enter")
    expect(cards).to_have_count(2)
    expect(find_option(next_card, "Yes")).to_be_focused()
    expect(next_card).to_be_in_viewport(ratio=0.99)
    page.keyboard.down("Enter")  # as a key that is held says again
    page.keyboard.down("Control")
    page.keyboard.down("Enter")
    page.keyboard.up("Control")
    page.keyboard.up("Enter")
    expect(cards).to_have_count(2)
    expect(next_card).not_to_have_class(re.compile("htmx-request"))
    page.keyboard.press("1")
    expect(cards).to_have_count(1)


@pytest.mark.proof  # a card that stays; its refusal is in tests/web/test_questions
def test_a_refused_secret_keeps_the_focus_in_its_own_card(visit: Visit):
    visit.pages.forgive("status of 422")
    visit.begin('/call ask_user {"question": "Which name?", "answer_type": "text"}')
    find_card(visit.begin("/call demo_vault {}"), SECRET)
    queue = visit.open("/questions")
    expect(find_cards(queue).first).to_contain_text("Which name?")
    refused_html = find_card(queue, SECRET).evaluate("card => card.outerHTML")
    queue.route(ANSWER, lambda route: route.fulfill(status=422, body=refused_html))
    field = find_card(queue, SECRET).get_by_label("Secret", exact=True)
    field.fill("open sesame")
    field.press("Enter")
    expect(field).to_have_value("")
    expect(field).to_be_focused()


@pytest.mark.proof  # held in make test
def test_enter_that_is_pressed_twice_in_haste_answers_one_question_alone(visit: Visit):
    page = visit.open("/conversations/new")
    wire = PageWire(page)
    visit.begin_on(page, f"{ASKS}\n{ASKS}")
    expect(find_cards(page, BOOLEAN)).to_have_count(2)
    pause_clock(page)
    find_option(find_cards(page, BOOLEAN).first, "Yes").focus()
    page.keyboard.press("Enter")
    expect(find_cards(page, BOOLEAN)).to_have_count(1)
    expect(find_option(find_cards(page, BOOLEAN), "Yes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(find_option(find_cards(page, BOOLEAN), "Yes")).to_be_enabled()
    assert len(wire.answers) == 1
    page.clock.run_for(600)
    page.keyboard.press("Enter")
    expect(find_cards(page, BOOLEAN)).to_have_count(0)
    assert len(wire.answers) == 2


@pytest.mark.proof  # a secret goes by its form in make test
def test_long_text_answer_is_sent_by_its_form(conversation: WiredConversation):
    find_card(conversation.page, TEXT).get_by_label("Answer").fill("long " * 25_000)
    conversation.press()
    find_card(conversation.page, SECRET)
    assert (conversation.wire.answers, len(conversation.forms)) == ([], 1)


@pytest.mark.parametrize("way", ["drop", pytest.param("break", marks=pytest.mark.proof)])
def test_answer_that_fails_on_the_socket_is_sent_by_its_form(visit: Visit, way: str):
    conversation = WiredConversation(visit, script=HASTY_WITHOUT_SOCKET, is_last=True)
    conversation.wire.way = way
    conversation.press()
    expect(find_settled_card(conversation.page)).to_contain_text("typed with care")
    assert len(conversation.forms) == 1
    assert conversation.answers() == ["typed with care"]


@pytest.mark.proof  # a variant that waits 3 s
def test_form_resends_the_submitted_text_without_later_edits(
    hasty_conversation: WiredConversation,
):
    hasty_conversation.wire.way = "drop"
    field = find_card(hasty_conversation.page, TEXT).get_by_label("Answer")
    hasty_conversation.press()
    expect(hasty_conversation.page.get_by_text("Sending…")).to_be_visible()
    field.fill("typed too late")
    expect(find_settled_card(hasty_conversation.page)).to_contain_text("typed with care")
    assert hasty_conversation.answers() == ["typed with care"]


@pytest.mark.proof  # a variant
def test_card_that_stays_fetches_updates_it_missed_while_sending(visit: Visit):
    page = visit.open("/conversations/new")
    wire = PageWire(page, "hold")
    page.add_init_script(PATIENT_WITH_SOCKET)
    visit.begin_on(page, "Quickly")
    card_id = find_card(page, BOOLEAN).get_attribute("id")
    find_option(find_card(page, BOOLEAN), "No").click()
    expect(page.get_by_text("Sending…")).to_be_visible()
    wire.tell(f'<article class="card settled" id="{card_id}" hx-swap-oob="true">Gone</article>')
    before = count_states(wire)
    wire.let_go("neither")
    expect(find_card(page, BOOLEAN).get_by_role("alert")).to_have_text("Choose yes or no.")
    wait_until(
        lambda: page.title() and count_states(wire) > before,
        "the page says anew what it shows",
    )


@pytest.mark.proof  # test_card, by another's
def test_ones_own_answer_is_in_the_course_of_the_page_of_one_question(visit: Visit):
    page = visit.begin("Quickly")
    key = find_card(page, BOOLEAN).get_attribute("data-question")
    question_page = visit.open(f"/questions/{key}")
    wait_until_connected(question_page)
    find_option(find_card(question_page, BOOLEAN), "No").click()
    expect(question_page.locator("#timeline [data-step=settled]")).to_contain_text("No")
    # What was seen of it is on record a moment after its answer.
    expect(question_page.locator("#timeline tbody td").last).not_to_have_text("never")


@pytest.mark.chaos
def test_an_answer_whose_reply_was_lost_on_the_socket_counts_once(
    hasty_conversation: WiredConversation,
):
    hasty_conversation.wire.way = "lose"
    hasty_conversation.press()
    expect(find_settled_card(hasty_conversation.page).get_by_role("alert")).to_contain_text(
        "You already responded"
    )
    assert hasty_conversation.answers() == ["typed with care"]


@pytest.mark.proof  # tests/web/test_answering has it
def test_card_shows_an_invalid_answer_error_and_keeps_the_choice(visit: Visit):
    page = visit.open("/conversations/new")
    wire = PageWire(page, "twist")
    visit.begin_on(page, "Quickly")
    find_option(find_card(page, BOOLEAN), "No").click()
    expect(find_card(page, BOOLEAN).get_by_role("alert")).to_have_text("Choose yes or no.")
    wire.way = "carry"
    find_option(find_card(page, BOOLEAN), "No").click()
    expect(find_settled_card(page)).to_contain_text("No")
    expect(find_settled_card(page)).to_have_attribute("data-outcome", "answered")


@pytest.mark.proof  # held in make test
def test_answer_pressed_repeatedly_is_sent_once_by_socket(conversation: WiredConversation):
    conversation.wire.way = "hold"
    field = find_card(conversation.page, TEXT).get_by_label("Answer")
    for _ in range(3):
        field.press("Control+Enter")
    open_decline(find_card(conversation.page, TEXT)).press("Enter")
    for name in ("Answer", "Decline"):
        expect(find_card(conversation.page, TEXT).get_by_role("button", name=name)).to_be_disabled()
    conversation.wire.let_go()
    expect(find_settled_card(conversation.page)).to_contain_text("typed with care")
    assert (len(conversation.wire.answers), conversation.forms) == (1, [])
    expect(
        find_card(conversation.page, SECRET).get_by_role("button", name="Answer")
    ).to_be_enabled()


@pytest.mark.proof  # tests/web/test_answering has it
def test_card_shows_that_its_person_may_no_longer_answer(conversation: WiredConversation):
    name = f"Ada {secrets.token_hex(3)}"
    ada = conversation.visit.open(who=conversation.visit.home.invite(name, "responder"))
    wire = PageWire(ada, "hold")
    ada.goto(conversation.page.url)
    wait_until_connected(ada)
    find_card(ada, TEXT).get_by_label("Answer").fill("mine")
    find_card(ada, TEXT).get_by_role("button", name="Answer").click()
    expect(ada.get_by_text("Sending…")).to_be_visible()
    workspace = conversation.visit.home.workspaces()["Demo"]
    people = f"/workspaces/{workspace}/people"
    row = re.search(
        rf"{name}.*?/memberships/(\d+)/remove",
        conversation.visit.home.owner.get(people).text,
        re.DOTALL,
    )
    assert row
    conversation.visit.home.owner.post(f"/memberships/{row[1]}/remove", people)
    wire.let_go()
    # By the socket, or by its form where the server has closed the socket of who left before.
    pattern = re.compile("no longer yours to answer|you don't have access")
    expect(ada.locator(".card [data-problem]")).to_contain_text(pattern)
    assert conversation.answers() == []
