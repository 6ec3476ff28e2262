"""May this run, may the model see that: asked by a real turn, of everybody who may answer."""

from __future__ import annotations

import json
import re
import secrets

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import (
    find_composer,
    find_waiting_count,
    last_words,
    open_decline,
    path_of,
    reload_until,
    stay_on_page,
    wait_until_connected,
)
from tests.browser.workshop.shop import NAME, Stay, find_call, find_prompt
from tests.machine.vendors import Call, Reply, Say

pytestmark = pytest.mark.browser

RUN_ONCE, FOR_THE_TURN = "Allow once", "Allow for this turn"
#: What the sample's tool says when it fails.
BROKEN = "something is wrong"


def wild(number: int = 1) -> Reply:
    return Reply(Call("wild", {}, id=f"wild_{number}"))


def echo(words: str, number: int = 1) -> Reply:
    return Reply(Call("echo", {"words": words}, id=f"echo_{number}"))


def make_done_reply() -> Reply:
    return Reply(Say("Done."))


def press(card: Locator, name: str) -> None:
    card.get_by_role("button", name=name, exact=True).click()


def expect_turn_end(page: Page) -> None:
    expect(last_words(page)).to_contain_text(re.compile("Done"))
    expect(find_composer(page)).to_be_visible()


def read_model_messages(workshop: Stay) -> str:
    """Return what the model was told last."""
    return json.dumps(workshop.model.requests[-1].body["messages"], ensure_ascii=False)


def test_a_call_waits_for_permission_and_its_error_for_delivery(workshop: Stay):
    page = workshop.ask("Misbehave", wild(), make_done_reply())
    with stay_on_page(page):
        card = find_prompt(page, "run")
        expect(card).to_contain_text("wild (local)")
        call_row = find_call(page, "wild").locator("> summary")
        expect(call_row).to_contain_text("Waiting for approval")
        check_accessibility(page, "#inbox")
        press(card, RUN_ONCE)
        result = find_prompt(page, "deliver")
        expect(result).to_contain_text("Send this error to the model?")
        expect(call_row).to_contain_text("Result needs review")
        expect(result).to_contain_text(BROKEN)
        check_accessibility(page, "#inbox")
        assert len(workshop.model.requests) == 1
        press(result, "Send")
        expect_turn_end(page)
    assert BROKEN in read_model_messages(workshop)
    expect(find_call(page, "wild")).to_have_class(re.compile("failed"))


@pytest.mark.proof  # tests/web/websocket/test_approval_rows has it
def test_call_row_shows_readers_the_pending_approval(workshop: Stay):
    page = workshop.ask("Let them watch", wild(), make_done_reply())
    find_prompt(page, "run")
    reader = workshop.home.invite(f"Rita {secrets.token_hex(3)}", "reader", workspace=NAME)
    reader_page = workshop.open(path_of(page), who=reader)
    with stay_on_page(reader_page):
        wait_until_connected(reader_page)
        call_row = find_call(reader_page, "wild").locator("> summary")
        expect(call_row).to_contain_text("Waiting for approval")
        press(find_prompt(page, "run"), RUN_ONCE)
        expect(call_row).to_contain_text("Result needs review")
        expect(call_row).to_contain_text("Allowed")
        expect(call_row).not_to_contain_text("Waiting for approval")
        press(find_prompt(page, "deliver"), "Send")
        expect(call_row).not_to_contain_text("Result needs review")


@pytest.mark.proof  # tests/runtime/inquiries has it
def test_permission_once_covers_one_call_and_turn_covers_later_calls(workshop: Stay):
    page = workshop.ask("Again", echo("one"), echo("two", 2), echo("three", 3), make_done_reply())
    press(find_prompt(page, "run"), RUN_ONCE)
    second = find_prompt(page, "run")
    expect(second).to_contain_text('"two"')
    press(second, FOR_THE_TURN)
    expect_turn_end(page)
    results = page.locator("[data-kind=tool_call_response]")
    assert [text.split()[-1] for text in results.all_text_contents()] == ["one", "two", "three"]
    workshop.shop.set_replies(echo("four", 4), make_done_reply())
    find_composer(page).fill("And in the next turn?")
    page.get_by_role("button", name="Send").click()
    expect(find_prompt(page, "run")).to_contain_text('"four"')


@pytest.mark.proof  # tests/agent/tool_calls/test_prompting; test_prompts denies
def test_a_call_is_skipped_and_the_model_reads_why(workshop: Stay):
    page = workshop.ask("Skip", wild(), make_done_reply())
    card = find_prompt(page, "run")
    open_decline(card).fill("The night shift is asleep")
    press(card, "Deny")
    expect_turn_end(page)
    assert "Tool skipped by user: The night shift is asleep" in read_model_messages(workshop)
    expect(find_call(page, "wild")).to_contain_text("The night shift is asleep")


@pytest.mark.proof  # tests/agent/tool_calls/test_prompting has it; test_prompts edits on the page
def test_edited_arguments_run_and_edited_result_reaches_the_model(workshop: Stay):
    page = workshop.ask("Edit", echo("as the model wrote it"), wild(2), make_done_reply())
    card = find_prompt(page, "run")
    card.get_by_text("Edit arguments…").click()
    card.get_by_label("The tool runs with these arguments").fill('{"words": "as Ada wrote it"}')
    press(card, RUN_ONCE)
    expect(find_prompt(page, "run")).to_contain_text("No arguments")
    assert '"as Ada wrote it"' in read_model_messages(workshop)
    press(find_prompt(page, "run"), RUN_ONCE)
    result = find_prompt(page, "deliver")
    result.get_by_text("Send a result instead…").click()
    result.get_by_label("Sent to the model").fill("It went well.")
    press(result, "Send")
    expect_turn_end(page)
    assert "It went well." in read_model_messages(workshop)
    assert BROKEN not in read_model_messages(workshop)


@pytest.mark.proof  # test_prompts, without a model
def test_approval_decided_by_two_people_at_once_informs_the_second(workshop: Stay):
    workshop.pages.forgive("status of 409")
    name = f"Bea {secrets.token_hex(3)}"
    page = workshop.ask("Both of us", echo("hello"), make_done_reply())
    find_prompt(page, "run")
    second_page = workshop.open(who=workshop.home.invite(name, "responder", workspace=NAME))
    second_page.route_web_socket(re.compile("/ws$"), lambda _: None)
    second_page.goto(page.url)
    open_decline(find_prompt(second_page, "run")).fill("I would rather not")
    press(find_prompt(page, "run"), RUN_ONCE)
    expect_turn_end(page)
    press(find_prompt(second_page, "run"), "Deny")
    settled_card = second_page.locator(".card.settled")
    expect(settled_card.get_by_role("alert")).to_contain_text("Already decided by Owner")
    expect(settled_card.get_by_role("alert")).to_contain_text("Your choice wasn't used.")
    expect(settled_card.get_by_label("Your draft (not sent)")).to_have_value("I would rather not")
    expect(find_call(page, "echo").locator("[data-kind=tool_call_response]")).to_contain_text(
        "hello"
    )


@pytest.mark.proof  # a variant
def test_a_refresh_between_the_cards_loses_nothing(workshop: Stay):
    page = workshop.ask("Refresh", wild(), make_done_reply())
    find_prompt(page, "run")
    page.reload()
    expect(find_waiting_count(page)).to_have_attribute("data-count", "1")
    press(find_prompt(page, "run"), RUN_ONCE)
    find_prompt(page, "deliver")
    page.reload()
    press(find_prompt(page, "deliver"), "Don't send")
    expect_turn_end(page)
    assert "Result delivery skipped by user." in read_model_messages(workshop)
    assert BROKEN not in read_model_messages(workshop)


def tab_to(page: Page, name: str) -> None:
    """Go to a button by the keyboard alone."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"the keyboard does not reach {name}")


@pytest.mark.proof  # test_prompts, without a model
def test_approval_cards_are_decided_by_keyboard(workshop: Stay):
    page = workshop.ask("Keys", wild(), make_done_reply())
    wait_until_connected(page)
    find_prompt(page, "run")
    tab_to(page, RUN_ONCE)
    page.keyboard.press("Enter")
    expect(find_prompt(page, "deliver")).to_be_visible()
    tab_to(page, "Send")
    page.keyboard.press("Enter")
    expect_turn_end(page)


@pytest.mark.proof  # test_prompts, without a model
def test_approval_cards_are_decided_without_scripts(workshop: Stay):
    page = workshop.open(javascript=False)
    workshop.ask("Plainly", wild(), make_done_reply(), page=page)
    reload_until(page, ".card[data-approval-kind=run]")
    press(find_prompt(page, "run"), RUN_ONCE)
    reload_until(page, ".card[data-approval-kind=deliver]")
    press(find_prompt(page, "deliver"), "Don't send")
    workshop.wait_for_requests(2)
    page.goto(workshop.server.url + path_of(page))
    expect(find_call(page, "wild")).to_contain_text("Result delivery skipped by user.")
    assert "Result delivery skipped by user." in read_model_messages(workshop)
