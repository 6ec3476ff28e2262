"""Told elsewhere, answered by the link alone: with a real server, receiver and browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import BOOLEAN, SECRET, SELECT, TYPES, Visit, decline_question, find_card
from tests.machine.ports import wait_until
from tests.machine.sizes import IS_PROOF
from tests.runtime.notifications.receiver import NotificationReceiver, run_receiver

pytestmark = pytest.mark.browser

CANARY = "canary-3b6e"
#: What a message says of a secret, whose question it keeps to itself.
SECRET_ASKED = "A secret is requested."
#: Types of the questions that are answered by links, which the server sends every 5 s; the others
#: are declined on the page.
BY_LINK = TYPES if IS_PROOF else (BOOLEAN, SECRET)
_LINK = re.compile(r"http://\S+/answer/[\w-]+")


@pytest.fixture
def receiver() -> Iterator[NotificationReceiver]:
    with run_receiver() as running_receiver:
        yield running_receiver


def wait_for_link(receiver: NotificationReceiver, words: str) -> str:
    """Return the link in the message that has these words, once the server has sent it."""

    def find_messages() -> list[str]:
        return [body for body in receiver.bodies if words in body]

    wait_until(find_messages, f"a message of {words}", 60)
    (message,) = find_messages()
    match = _LINK.search(message)
    assert match, message
    return match[0]


@pytest.fixture
def address(visit: Visit, receiver: NotificationReceiver) -> Iterator[None]:
    """Have everything that waits told to the receiver as long as a test lasts."""
    page = visit.open("/notifications")
    add(page, receiver.url())
    yield
    page.reload()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed the channel.")).to_be_visible()


def add(page: Page, url: str) -> None:
    page.get_by_role("textbox", name="URL").fill(url)
    channel_form = page.get_by_role("form", name="Add a channel")
    channel_form.get_by_label("Notify after (seconds)").fill("0")
    page.get_by_label("Workspace").select_option(label="Demo")
    page.get_by_role("button", name="Add").click()


def answer(page: Page, link: str, kind: str) -> None:
    """Answer the one question on the page behind a link."""
    page.goto(link)
    expect(heading(page)).to_contain_text("Question for")
    expect(page.locator(".card")).to_have_attribute("data-answer-type", kind)
    look = check_accessibility if kind == TYPES[0] else check_under_proof
    look(page)
    if kind in (BOOLEAN, SELECT):
        page.locator(".answer-buttons button").first.click()
    else:
        name = "Secret" if kind == SECRET else "Answer"
        field = page.locator(".card").get_by_label(name, exact=kind == SECRET)
        field.fill(CANARY if kind == SECRET else "Seven “roses”")
        page.get_by_role("button", name="Answer").click()
    expect(heading(page)).to_have_text("Thank you")
    look(page)


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


@pytest.mark.proof  # tests/web/views has the form
def test_an_address_is_added_and_tried(visit: Visit, receiver: NotificationReceiver):
    visit.pages.forgive("status of 422")
    page = visit.open("/notifications")
    check_under_proof(page)
    add(page, "json://127.0.0.1/x")
    expect(page.get_by_role("alert")).to_contain_text("“json” is not supported here.")
    expect(page.get_by_role("textbox", name="URL")).to_have_value("json://127.0.0.1/x")
    check_accessibility(page)
    add(page, receiver.url())
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("Sent a test to")).to_be_visible()
    check_under_proof(page)
    receiver.manner = "fails"
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("The last message failed.")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed the channel.")).to_be_visible()


@pytest.mark.proof  # tests/web/views/test_answer_links has it
@pytest.mark.usefixtures("address")
def test_a_person_answers_questions_by_links_alone(visit: Visit, receiver: NotificationReceiver):
    page, stranger = visit.begin("Show me"), visit.pages()
    ask_text = ""
    for kind in TYPES:
        ask_text = find_card(page, kind).locator(".question-title").inner_text()
        if kind in BY_LINK:
            answer(
                stranger,
                wait_for_link(receiver, SECRET_ASKED if kind == SECRET else ask_text),
                kind,
            )
        else:
            decline_question(page, kind)
    expect(page.get_by_text("secret: received, not shown")).to_be_visible()
    stranger.goto(_LINK.findall(receiver.all)[0])
    expect(heading(stranger)).to_have_text("This question is closed")
    check_accessibility(stranger)
    assert SECRET_ASKED in receiver.bodies[-1]
    assert ask_text
    assert ask_text not in receiver.all
    stored = b"".join(file.read_bytes() for file in visit.server.data.iterdir() if file.is_file())
    for text in (
        receiver.all,
        stranger.content(),
        visit.server.log_text(),
        stored.decode("latin-1"),
    ):
        assert CANARY not in text


@pytest.mark.proof  # tests/web/views/test_answer_links has it
def test_a_link_that_is_none_says_so_and_no_more(visit: Visit):
    visit.pages.forgive("status of 404")
    page = visit.pages()
    page.goto(f"{visit.server.url}/answer/none")
    expect(page.get_by_role("heading", level=1)).to_have_text("Link not valid")
    check_accessibility(page)
