from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import evidence
from tests.browser.pages import (
    BOOLEAN,
    REPORT,
    SECRET,
    SELECT,
    TEXT,
    Visit,
    answer_all,
    answer_question,
    decline_question,
    find_card,
    find_composer,
    find_inquiries,
    find_option,
    find_run_status,
    find_waiting_count,
    last_words,
    number_of,
    path_of,
    send_message,
    stay_on_page,
    wait_until_connected,
)

pytestmark = pytest.mark.browser

SOURCES = [{"source": "assistant"}] * 3 + [{"source": "tool", "name": "demo_vault"}]


def by_mouse_and_keyboard(page: Page, second_page: Page) -> None:
    """Answer the four questions, each in another way, while a second page shows them."""
    find_option(find_card(page, BOOLEAN), "Yes").click()
    expect(second_page.locator(".card.settled")).to_have_count(1)
    find_card(page, SELECT)
    page.keyboard.press("Tab")  # who presses a key has read the card
    find_option(find_card(page, SELECT), "with a backup").focus()
    page.keyboard.press("2")
    field = find_card(page, TEXT).get_by_label("Answer")
    expect(field).to_have_value("report.md")
    field.fill(REPORT)
    field.press("Control+Enter")
    find_card(page, SECRET).get_by_label("Secret", exact=True).press_sequentially("open sesame")
    page.keyboard.press("Enter")


@pytest.mark.proof  # test_follow and workshop/test_turn see text stream
def test_text_streams_before_it_is_on_record(slow_visit: Visit):
    page = slow_visit.open("/conversations/new")
    slow_visit.begin_on(page, "Stream, please")
    reply = page.locator("article.assistant")
    partial = page.locator("#partial-text")
    with stay_on_page(page):
        expect(partial).to_contain_text("Hello. **I am a script", timeout=15_000)
        assert reply.count() == 0
        events = evidence.read_journal(slow_visit.server, number_of(page))
        assert "I am a script" not in str(events)
        expect(reply).to_contain_text("Hello. I am a script, not a model")
        expect(partial).to_be_hidden()


def test_four_questions_are_answered_live_recorded_and_their_cards_leave(visit: Visit):
    page = visit.begin()
    second_page = visit.open(path_of(page))
    wait_until_connected(second_page)
    with stay_on_page(page), stay_on_page(second_page):
        by_mouse_and_keyboard(page, second_page)
        expect(find_composer(page)).to_be_visible()
        expect(last_words(page)).to_contain_text("yes or no: true (boolean)")
        expect(last_words(page)).to_contain_text('one of three: "without a backup" (string)')
        expect(last_words(page)).to_contain_text(f'free text: "{REPORT}" (string)')
        expect(last_words(page)).to_contain_text("secret: received, not shown")
        expect(find_composer(second_page)).to_be_visible()
        expect(second_page.locator("#inbox .card")).to_have_count(0)
        expect(find_inquiries(second_page)).to_have_count(4)
    expect(page.locator(".card.settled")).to_have_count(1)
    expect(page.locator(".card.settled")).to_be_focused()
    _check_journal(evidence.read_journal(visit.server, number_of(page)))


def _check_journal(events: list[dict[str, Any]]) -> None:
    """Find the events that the RFDs name."""
    records = evidence.pair_inquiries(events)
    assert [record.outcome for record in records] == [
        {"outcome": "answered", "answer": True},
        {"outcome": "answered", "answer": "without a backup"},
        {"outcome": "answered", "answer": REPORT},
        {"outcome": "redacted"},
    ]
    assert [record.source for record in records] == SOURCES
    calls = [event["id"] for event in events if event["type"] == "tool_call_request"]
    questions = ["answer"] * 3 + ["passphrase"]
    assert [record.id for record in records] == [
        f"{call}.{question}.1" for call, question in zip(calls, questions, strict=True)
    ]
    assert evidence.list_results(events)[:2] == [
        '{"answer_type":"boolean","answer":true}',
        '{"answer_type":"select","answer":"without a backup"}',
    ]


@pytest.mark.proof  # the whole journey in make test
def test_transcript_shows_questions_under_their_tool_calls(visit: Visit):
    page = visit.begin()
    answer_all(page, "open sesame")
    for look in ("as it came", "as it is read again"):
        questions = find_inquiries(page)
        expect(questions).to_have_count(4)
        rows = [
            {
                key: question.get_attribute(f"data-{key}")
                for key in ("outcome", "source", "answer-type")
            }
            for question in questions.all()
        ]
        assert [row["outcome"] for row in rows] == ["answered"] * 3 + ["redacted"], look
        assert [row["source"] for row in rows] == ["assistant"] * 3 + ["tool"], look
        assert [row["answer-type"] for row in rows] == [BOOLEAN, SELECT, TEXT, SECRET], look
        tools = page.locator("[data-kind=tool_call_request]")
        assert [tool.get_attribute("data-tool") for tool in tools.all()] == [
            *["ask_user"] * 3,
            "demo_vault",
        ]
        assert page.locator("[data-answer]").all_text_contents() == [
            "Yes",
            "without a backup",
            REPORT,
        ]
        page.reload()


@pytest.mark.proof  # test_waiting_notices counts too
def test_waiting_count_updates_in_navigation_and_title(visit: Visit):
    page = visit.begin("Count me")
    find_card(page, BOOLEAN)
    expect(find_waiting_count(page)).to_have_attribute("data-count", "1")
    expect(page).to_have_title("(1) Count me · jpweb")
    answer_all(page, "open sesame")
    expect(find_waiting_count(page)).to_have_attribute("data-count", "0")
    expect(find_waiting_count(page)).to_be_hidden()
    expect(page).to_have_title("Count me · jpweb")


@pytest.mark.proof  # test_card has both by keyboard
def test_declining_is_not_answering_no(visit: Visit):
    page = visit.begin()
    answer_question(page, BOOLEAN, "No")
    for kind in (SELECT, TEXT, SECRET):
        decline_question(page, kind)
    expect(last_words(page)).to_contain_text("yes or no: false (boolean)")
    send_message(page, "Again")
    expect(page.locator("#turn-1")).to_be_visible()
    decline_question(page, BOOLEAN)
    find_card(page, SELECT)
    events = evidence.read_journal(visit.server, number_of(page))
    said_no, declined = evidence.pair_inquiries(events)[0], evidence.pair_inquiries(events)[4]
    assert said_no.outcome == {"outcome": "answered", "answer": False}
    assert declined.outcome == {"outcome": "cancelled", "reason": "user"}
    assert evidence.list_results(events)[0] == '{"answer_type":"boolean","answer":false}'
    assert evidence.list_results(events)[4] == "Tool input cancelled by user."
    first_inquiry = page.locator("#turn-1 ~ * [data-kind=inquiry_request]").first
    expect(first_inquiry).to_have_attribute("data-outcome", "cancelled")
    expect(first_inquiry).to_have_attribute("data-reason", "user")
    expect(page.locator("#turn-1 ~ * [data-kind=tool_call_response]").first).to_contain_text(
        "Tool input cancelled by user."
    )


@pytest.mark.proof  # tests/runtime/scenarios plays further turns
def test_second_turn_continues_the_conversation(visit: Visit):
    page = visit.begin()
    answer_all(page, "open sesame")
    send_message(page, "And once more")
    expect(page).to_have_url(re.compile("#composer$"))
    answer_all(page, "open sesame")
    expect(page.locator(".turn-head")).to_have_count(2)
    expect(page.locator("#turn-1 ~ .person")).to_contain_text("And once more")
    expect(page.locator("#counts [data-count=turns]")).to_have_text("2")
    expect(page.locator("#counts [data-count=answered]")).to_have_text("6")
    expect(page.locator("#counts [data-count=redacted]")).to_have_text("2")
    ids = [
        record.id
        for record in evidence.pair_inquiries(evidence.read_journal(visit.server, number_of(page)))
    ]
    assert len(set(ids)) == 8


@pytest.mark.proof  # workshop/test_interrupts stops tools
def test_stopping_the_turn_ends_its_open_question(visit: Visit):
    page = visit.begin()
    find_card(page, BOOLEAN)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(find_composer(page)).to_be_visible()
    expect(find_run_status(page, "The last turn was stopped.")).to_be_visible()
    expect(find_inquiries(page)).to_have_attribute("data-outcome", "cancelled")
    expect(find_inquiries(page)).to_have_attribute("data-reason", "user")
    expect(find_waiting_count(page)).to_have_attribute("data-count", "0")
