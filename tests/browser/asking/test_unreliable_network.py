"""Forms that are sent over a network that is not always there; the socket takes no answer."""

from __future__ import annotations

import json
import re

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Locator, Page, Request, Route, WebSocketRoute, expect

from jpweb.store.database.availability import Outage
from tests.browser import evidence
from tests.browser.pages import (
    BOOLEAN,
    SECRET,
    SELECT,
    TEXT,
    Visit,
    find_card,
    find_composer,
    find_inquiries,
    number_of,
    open_decline,
    wait_until_connected,
)
from tests.browser.wires import PageWire
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

SENT = re.compile("/(answer|decline)$")
#: Submit a form twice, without a page that comes; tells of each time whether it was prevented.
SUBMIT_TWICE = """() => {
  const states = [];
  addEventListener("submit", (event) => {
    states.push(event.defaultPrevented);
    event.preventDefault();
  });
  const form = document.querySelector("main form[method=post]");
  for (let time = 0; time < 2; time += 1) form.requestSubmit();
  return states;
}"""
#: Send a reply that interrupts a turn, from a page that does not show yet that the turn has ended.
INTERRUPT_TOO_LATE = """() => {
  const form = document.querySelector("form[action$='/turns']").cloneNode(true);
  form.action = form.action.replace(/turns$/, "respond");
  const field = form.querySelector("textarea");
  field.dataset.draft = field.dataset.draft.replace("say", "instead");
  field.value = "stop";
  document.querySelector("main").append(form);
  form.requestSubmit();
}"""
ASKS_TEXT = '/call ask_user {"question": "Which name?", "answer_type": "text"}'
LOST = (
    "ERR_INTERNET_DISCONNECTED|ERR_FAILED|status of (409|503)|^.object Event.|htmx:|Response Status"
)


@pytest.fixture
def page(visit: Visit) -> Page:
    """Return a conversation that asks for a text."""
    visit.pages.forgive(LOST)
    page = visit.begin(ASKS_TEXT)
    find_card(page, TEXT).get_by_label("Answer").fill("typed with care")
    bypass_socket(page)
    return page


def find_settled_card(page: Page) -> Locator:
    return page.locator(".card.settled")


def problem(page: Page) -> Locator:
    return page.locator(".card[data-outcome=open]").get_by_role("alert")


def bypass_socket(page: Page) -> None:
    """Make forms of cards be sent at once, not 3 s after the page's socket carried nothing."""
    page.evaluate(
        """() => addEventListener("htmx:beforeRequest", (sending) => {
          delete sending.target.dataset.viaSocket;
        }, true)"""
    )


def press(page: Page, name: str = "Answer") -> None:
    bypass_socket(page)
    page.locator(".card[data-outcome=open]").get_by_role("button", name=name).click()


def answers(visit: Visit, page: Page) -> list[dict[str, object]]:
    return [
        record.outcome
        for record in evidence.pair_inquiries(evidence.read_journal(visit.server, number_of(page)))
    ]


def test_answer_sent_offline_or_over_a_full_disk_can_be_sent_again(visit: Visit, page: Page):
    page.context.set_offline(True)
    press(page)
    expect(problem(page)).to_contain_text("Not sent: this device is offline.")
    expect(problem(page)).to_contain_text("Try again.")
    expect(find_card(page, TEXT).get_by_label("Answer")).to_have_value("typed with care")
    expect(find_card(page, TEXT).get_by_role("button", name="Answer")).to_be_enabled()
    expect(find_card(page, TEXT).get_by_role("button", name="Answer")).to_be_focused()
    page.context.set_offline(False)

    html = render_to_string("503.html", {"outage": Outage.FULL, "is_submission": True})
    page.route(SENT, lambda route: route.fulfill(status=503, body=html))
    press(page)
    expect(problem(page)).to_contain_text("Database disk full.")
    expect(problem(page)).to_contain_text("What you just sent was not saved")
    expect(problem(page)).to_contain_text("Your input is still here.")
    page.unroute(SENT)

    wire = PageWire(page, "refuse")  # the socket's server cannot save it, that of the form can
    page.reload()
    expect(find_card(page, TEXT).get_by_label("Answer")).to_have_value("typed with care")
    wait_until_connected(page)
    find_card(page, TEXT).get_by_role("button", name="Answer").click()
    expect(find_settled_card(page)).to_have_count(1)
    assert len(wire.answers) == 1
    assert answers(visit, page)[0] == {"outcome": "answered", "answer": "typed with care"}


def refuse_answer(page: Page, outage: Outage) -> None:
    """Send an answer that an outage refuses."""
    html = render_to_string("503.html", {"outage": outage, "is_submission": True})
    page.route(SENT, lambda route: route.fulfill(status=503, body=html))
    press(page)
    expect(problem(page)).to_contain_text(f"{outage.title}.")
    page.unroute(SENT)


def test_notice_of_an_outage_ends_once_the_database_is_read(visit: Visit, page: Page):
    wire = PageWire(page)
    page.reload()
    wait_until_connected(page)
    refuse_answer(page, Outage.FULL)  # in which updates are read, and nothing is saved
    wire.tell('<span id="question-count" hx-swap-oob="true">7</span>')
    expect(page.locator("#question-count")).to_have_text("7")
    expect(problem(page)).to_contain_text(f"{Outage.FULL.title}.")
    refuse_answer(page, Outage.LOST)
    expect(problem(page)).to_have_text(
        "The database is available again. Your input is still here. Try again."
    )
    press(page)
    expect(find_settled_card(page)).to_have_count(1)
    assert answers(visit, page)[0] == {"outcome": "answered", "answer": "typed with care"}


@pytest.mark.proof  # a variant: the answer of a key, and the next card
def test_answer_that_the_socket_could_not_save_is_sent_as_a_form(visit: Visit):
    visit.pages.forgive(LOST)
    page = visit.begin("Socket")

    def refuse_answers(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def refuse_answer(message: str | bytes) -> None:
            if "answer" in (fields := json.loads(message)):
                socket.send(json.dumps({"reply": fields["number"], "status": 503}))
            else:
                server.send(message)

        socket.on_message(refuse_answer)

    page.route_web_socket(re.compile("/ws"), refuse_answers)
    page.reload()
    find_card(page, BOOLEAN).get_by_role("button", name="Yes").click()
    find_card(page, SELECT)


@pytest.mark.proof  # a reply that was lost is tried again too
def test_answer_after_a_server_error_can_be_sent_again(visit: Visit, page: Page):
    page.route(SENT, lambda route: route.fulfill(status=503, body="busy"))
    press(page)
    expect(problem(page)).to_contain_text("Not confirmed: the server returned an error (503).")
    page.unroute(SENT)
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page.route(SENT, hold)
    press(page)
    expect(page.get_by_text("Sending…")).to_be_visible()
    expect(page.get_by_text("Not confirmed")).to_be_hidden()
    wait_until(lambda: page.title() and routes, "the form is sent")
    routes[0].continue_()
    expect(find_settled_card(page)).to_have_count(1)


@pytest.mark.proof  # an answer that could not be sent stays
def test_a_note_that_could_not_be_sent_stays(visit: Visit, page: Page):
    page.route(SENT, lambda route: route.abort())
    open_decline(find_card(page, TEXT)).fill("because")
    press(page, "Decline")
    expect(problem(page)).to_contain_text("Not confirmed: the server can't be reached.")
    expect(page.get_by_label("Reason (optional")).to_have_value("because")
    page.unroute(SENT)
    press(page, "Decline")
    expect(page.locator(".card.settled [data-note]").last).to_have_text("because")


def test_an_answer_whose_reply_was_lost_counts_once(visit: Visit, page: Page):
    page.route_web_socket(re.compile("/ws$"), lambda _: None)
    page.reload()

    def lose(route: Route) -> None:
        assert route.fetch().status == 200
        route.abort()

    page.route(SENT, lose)
    press(page)
    expect(problem(page)).to_contain_text("Not confirmed")
    page.unroute(SENT)
    press(page)
    settled_card = page.locator(".card.settled").last
    expect(settled_card.get_by_role("alert")).to_contain_text("You already responded")
    outcomes = [outcome for outcome in answers(visit, page) if outcome.get("outcome") == "answered"]
    assert outcomes == [{"outcome": "answered", "answer": "typed with care"}]


@pytest.mark.proof  # by socket in make test
def test_answer_form_submitted_repeatedly_is_sent_once(visit: Visit, page: Page):
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    requests: list[Request] = []
    page.on(
        "request", lambda request: requests.append(request) if SENT.search(request.url) else None
    )
    page.route(SENT, hold)
    field = find_card(page, TEXT).get_by_label("Answer")
    for _ in range(3):
        field.press("Control+Enter")
    open_decline(find_card(page, TEXT)).press("Enter")
    expect(page.get_by_text("Sending…")).to_be_visible()
    for name in ("Answer", "Decline"):
        expect(find_card(page, TEXT).get_by_role("button", name=name)).to_be_disabled()
    wait_until(lambda: page.title() and routes, "the form is sent")
    routes[0].continue_()
    expect(find_settled_card(page)).to_have_count(1)
    assert [request.url.rpartition("/")[2] for request in requests] == ["answer"]


def test_unsent_secret_is_kept_only_in_its_password_field_until_a_reload(visit: Visit):
    visit.pages.forgive(LOST)
    page = visit.begin("/call demo_vault {}")
    field = find_card(page, SECRET).get_by_label("Secret", exact=True)
    expect(field).to_have_attribute("type", "password")
    expect(field).to_have_attribute("autocomplete", "off")
    field.fill("open sesame")
    page.context.set_offline(True)
    press(page)
    expect(problem(page)).to_contain_text("Not sent")
    expect(field).to_have_value("open sesame")
    assert "sesame" not in evidence.kept_by(page)
    page.context.set_offline(False)
    page.reload()
    expect(field).to_have_value("")
    field.fill("open sesame")
    press(page)
    expect(find_composer(page)).to_be_visible()
    expect(find_inquiries(page).last).to_have_attribute("data-outcome", "redacted")


def test_form_that_is_pressed_again_before_its_page_has_come_is_sent_once(visit: Visit):
    page = visit.open("/conversations/new")
    page.get_by_label("First message").fill("Once")
    assert page.evaluate(SUBMIT_TWICE) == [False, True]


@pytest.mark.proof  # one that is refused into a field with a draft does too
def test_message_that_is_refused_into_its_field_outlives_the_reload(visit: Visit):
    page = visit.begin()
    page.get_by_role("button", name="Stop", exact=True).click()
    field = find_composer(page)
    field.fill("Too late")
    visit.pages.forgive("status of 422")
    page.locator("form[action$='/turns']").evaluate(
        "form => { form.action = form.action.replace(/turns$/, 'respond'); form.requestSubmit(); }"
    )
    expect(page.get_by_text("Your text is below")).to_be_visible()
    expect(field).to_have_value("Too late")
    page.reload()
    expect(page.get_by_text("Your text is below")).to_have_count(0)
    expect(field).to_have_value("Too late")


def test_refused_messages_stay_drafts_beside_what_their_field_has(visit: Visit):
    visit.pages.forgive("status of 422")
    page = visit.begin()
    address = page.url
    page.get_by_text("Interrupt with a reply…").click()
    reply_field = page.get_by_label("Reply to the model.")
    reply_field.fill("Too early")
    page.locator("form[action$='/respond']").evaluate(
        "form => form.action = form.action.replace(/respond$/, 'turns')"
    )
    page.locator("form[action$='/turns']").get_by_role("button", name="Send").click()
    expect(page.locator("#composer pre")).to_have_text("Too early")
    assert page.url == f"{address}?at=end#composer"
    page.reload()
    expect(page.locator("#composer pre")).to_have_count(0)
    expect(reply_field).to_have_value("Too early")

    page.get_by_role("button", name="Stop", exact=True).click()
    field = find_composer(page)
    field.fill("A long message\nof two lines")
    page.evaluate(INTERRUPT_TOO_LATE)
    expect(page.get_by_text("Your text is below")).to_be_visible()
    expect(field).to_have_value("A long message\nof two lines\n\nstop")
    page.goto(address)
    expect(field).to_have_value("A long message\nof two lines\n\nstop")
