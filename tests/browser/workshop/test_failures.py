"""What a person sees when the model's vendor fails, and what trying again does."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser import evidence
from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import find_composer, last_words, number_of, stay_on_page
from tests.browser.workshop.shop import KEY, Stay, find_call, find_question
from tests.machine.vendors import Call, Failure, Reply, Say, Script

pytestmark = pytest.mark.browser


def wrapped(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}}


FAILURES: dict[str, tuple[Script, str]] = {
    "rate_limit": (Failure(429, wrapped("rate_limit_error", "Slow down")), "rate limit reached"),
    "wrong_key": (
        Failure(401, wrapped("authentication_error", f"invalid {KEY}")),
        "rejected the API key",
    ),
    "unavailable": (Failure(529, wrapped("overloaded_error", "Overloaded")), "overloaded"),
    "broken_off": (Reply(Say("Half a sentence and"), end="cut"), "ended before it was complete"),
}


def expect_failure(page: Page, kind: str) -> None:
    expect(page.locator("[data-failure]")).to_have_attribute("data-failure", kind)


def click_try_again(page: Page) -> None:
    page.get_by_role("button", name="Try again").click()


def kinds(workshop: Stay, page: Page) -> list[str]:
    return [event["type"] for event in evidence.read_journal(workshop.server, number_of(page))]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("rate_limit", marks=pytest.mark.proof),
        pytest.param("wrong_key", marks=pytest.mark.proof),
        pytest.param("unavailable", marks=pytest.mark.proof),
        "broken_off",
    ],
)
def test_a_failed_turn_says_why_and_is_completed_by_trying_again(workshop: Stay, kind: str):
    reply, words = FAILURES[kind]
    page = workshop.ask(f"Fail: {kind}", reply, Reply(Say("Here it is.")))
    with stay_on_page(page):
        expect_failure(page, kind)
        expect(page.locator("[data-failure]")).to_contain_text("The last turn failed.")
        expect(page.locator("[data-failure]")).to_contain_text(words)
        expect(find_composer(page)).to_be_visible()
    assert KEY not in page.content()
    if kind == "wrong_key":
        check_accessibility(page, "[data-failure]")
    check_under_proof(page)
    click_try_again(page)
    expect(last_words(page)).to_contain_text("Here it is.")
    expect(find_composer(page)).to_be_visible()
    expect(page.locator("[data-failure]")).to_have_count(0)
    expect(page.locator(".turn-head")).to_have_count(1)
    expect(page.locator("article[data-kind=chat_request]")).to_have_count(1)
    reply_kinds = ["chat_response", "chat_response"] if kind == "broken_off" else ["chat_response"]
    assert kinds(workshop, page) == ["turn_start", "chat_request", *reply_kinds]


@pytest.mark.proof  # tests/runtime/scenarios/test_failures has it of every way to fail
def test_trying_again_after_a_tool_has_run_runs_it_no_second_time(workshop: Stay):
    limit = FAILURES["rate_limit"][0]
    script: list[Script] = [Reply(Call("greet", {}, id="once")), Reply(Say('{"answer": false}'))]
    page = workshop.ask("Fail later", *script, limit, limit, Reply(Say("At last.")))
    question_card = find_question(page, "Whom shall I greet?")
    question_card.get_by_role("button", name="Answer").click()
    expect_failure(page, "rate_limit")
    before = kinds(workshop, page)
    click_try_again(page)
    workshop.wait_for_requests(4)
    expect_failure(page, "rate_limit")
    assert kinds(workshop, page) == before
    click_try_again(page)
    expect(last_words(page)).to_contain_text("At last.")
    assert kinds(workshop, page) == [*before, "chat_response"]
    expect(find_call(page, "greet")).to_contain_text("Hello, world.")
    assert len(workshop.model.requests) == 5
