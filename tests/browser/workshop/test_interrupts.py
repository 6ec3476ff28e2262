"""Stop, restart, and an answer instead: while tools run, and while text comes in."""

from __future__ import annotations

import json
import re
import threading

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_under_proof
from tests.browser.pages import (
    find_composer,
    find_run_status,
    last_words,
    stay_on_page,
    wait_until_connected,
)
from tests.browser.workshop.shop import Stay, find_call, find_prompt, find_question
from tests.machine.vendors import Call, Reply, Say

pytestmark = pytest.mark.browser

LONG = "This goes on and on and would never end by itself"
TOOLS = Reply(Call("greet", {}, id="greet_1"), Call("echo", {"words": "heard"}, id="echo_1"))


def streaming(workshop: Stay, *replies: Reply) -> Page:
    """Have the model say something whose end never comes, once the page listens."""
    page_listens = threading.Event()

    def begin(_body: object) -> Reply:
        assert page_listens.wait(20)
        return Reply(Say(LONG), end="hang")

    page = workshop.ask("Talk", begin, *replies)
    wait_until_connected(page)
    page_listens.set()
    expect(page.locator("#partial-text")).to_contain_text(LONG)
    return page


def begin_running_tool(workshop: Stay, *replies: Reply) -> Page:
    """Have one tool ask while another one runs and does not end."""
    workshop.shop.hold.touch()
    page = workshop.ask("Work", TOOLS, *replies)
    wait_until_connected(page)
    find_question(page, "Whom shall I greet?")
    find_prompt(page, "run").get_by_role("button", name="Allow for this turn").click()
    expect(page.locator(".card[data-approval-kind=run][data-outcome=open]")).to_have_count(0)
    return page


def press(page: Page, name: str) -> None:
    page.locator("#composer").get_by_role("button", name=name, exact=True).click()


def instead(page: Page, text: str) -> None:
    page.get_by_text("Interrupt with a reply…").click()
    page.get_by_label("Reply to the model").fill(text)
    press(page, "Send")


def read_model_messages(workshop: Stay) -> str:
    return json.dumps(workshop.model.requests[-1].body["messages"], ensure_ascii=False)


def test_stopping_while_tools_run_ends_their_cards_and_the_turn(workshop: Stay):
    page = begin_running_tool(workshop)
    check_under_proof(page)
    press(page, "Stop")
    expect(find_run_status(page, "The last turn was stopped.")).to_be_visible()
    expect(find_composer(page)).to_be_visible()
    for tool in ("greet", "echo"):
        expect(find_call(page, tool)).to_contain_text("The user stopped this tool call on purpose")
    inquiry_fold = find_call(page, "greet").locator("details[data-kind=inquiry_request]")
    expect(inquiry_fold).to_have_attribute("data-reason", "user")
    expect(page.locator(".card[data-outcome=open]")).to_have_count(0)
    assert len(workshop.model.requests) == 1


@pytest.mark.proof  # while tools run in make test
def test_stop_during_a_reply_keeps_the_received_text(workshop: Stay):
    page = streaming(workshop)
    press(page, "Stop")
    expect(find_run_status(page, "The last turn was stopped.")).to_be_visible()
    expect(last_words(page)).to_contain_text(re.compile("This goes on and on"))
    expect(page.locator("#partial-text")).to_be_hidden()
    assert workshop.model.hangup_event.wait(10), "the vendor is left"


@pytest.mark.proof  # tests/runtime/scenarios/test_interrupts has it
def test_restarting_runs_the_tools_again_and_asks_again(workshop: Stay):
    page = begin_running_tool(
        workshop, Reply(Say('{"answer": false}')), Reply(Say("Both are done."))
    )
    card_id = find_question(page, "Whom shall I greet?").get_attribute("id")
    with page.expect_navigation():
        press(page, "Rerun tool calls")
    inquiry_fold = find_call(page, "greet").locator("details[data-kind=inquiry_request]")
    expect(inquiry_fold).to_have_count(2)
    expect(inquiry_fold.first).to_have_attribute("data-reason", "user")
    expect(inquiry_fold.last).to_have_attribute("data-outcome", "open")
    # The page may have been rendered before the first question ended.
    expect(page.locator(f"#{card_id}[data-outcome=open]")).to_have_count(0)
    workshop.shop.hold.unlink()
    card = find_question(page, "Whom shall I greet?")
    card.get_by_role("button", name="Answer").click()
    expect(last_words(page)).to_contain_text("Both are done.")
    for tool, result in (("greet", "Hello, world."), ("echo", "heard")):
        expect(find_call(page, tool).locator("[data-kind=tool_call_response]")).to_have_count(1)
        expect(find_call(page, tool)).to_contain_text(result)
    expect(find_call(page, "greet")).to_contain_text("Asked 2 times")


@pytest.mark.proof  # tests/runtime/scenarios/test_interrupts has it
def test_response_to_running_tools_is_sent_to_the_model(workshop: Stay):
    page = begin_running_tool(workshop, Reply(Say("As you wish.")))
    instead(page, "Leave it; the harvest is in.")
    expect(last_words(page)).to_contain_text("As you wish.")
    for tool in ("greet", "echo"):
        expect(find_call(page, tool)).to_contain_text("The user ended this tool call")
        expect(find_call(page, tool)).to_contain_text("Leave it; the harvest is in.")
    call_row = find_call(page, "greet").locator("> summary")
    expect(call_row).to_contain_text("Interrupted with a reply: Leave it; the harvest is in.")
    assert read_model_messages(workshop).count("Leave it; the harvest is in.") == 2
    expect(page.locator(".turn-head")).to_have_count(1)


@pytest.mark.proof  # instead of tools in make test
def test_an_answer_instead_of_text_is_said_in_the_same_turn(workshop: Stay):
    page = streaming(workshop, Reply(Say("In short, then.")))
    instead(page, "Shorter, please.")
    expect(last_words(page)).to_contain_text("In short, then.")
    expect(find_composer(page)).to_be_visible()
    prompts = page.locator("article[data-kind=chat_request]")
    expect(prompts).to_have_count(2)
    expect(prompts.last).to_contain_text("Shorter, please.")
    expect(page.locator(".turn-head")).to_have_count(1)
    assert "Shorter, please." in read_model_messages(workshop)


@pytest.mark.proof  # a variant
def test_interrupting_without_a_word_loses_nothing_on_the_page(workshop: Stay):
    page = begin_running_tool(workshop)
    with stay_on_page(page):
        page.get_by_text("Interrupt with a reply…").click()
        press(page, "Send")
        field = page.get_by_label("Reply to the model")
        expect(field).to_be_focused()
    find_question(page, "Whom shall I greet?")
