"""What is on record of who saw a question, and when."""

from __future__ import annotations

import secrets

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
    wait_until_connected,
)
from tests.machine.browsing import PHONE
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

COLUMNS = ("delivered", "visible", "focused", "draft")


def key_of(page: Page, kind: str) -> int:
    return int(find_card(page, kind).get_attribute("data-question") or 0)


def proof(auditor: Page, key: int) -> dict[str, list[bool]]:
    """Return what is on record by person: delivered, on the screen, gone into, begun."""
    auditor.goto(auditor.url.split("/questions")[0] + f"/questions/{key}")
    rows = auditor.locator("tr[data-receipt]").all()
    return {
        row.locator("th").inner_text(): [
            cell.inner_text() != "never" for cell in row.locator("td").all()
        ]
        for row in rows
    }


def wait_for_proof(auditor: Page, key: int, **expected: list[bool]) -> None:
    def is_seen() -> bool:
        receipts = proof(auditor, key)
        return all(receipts.get(name) == flags for name, flags in expected.items())

    wait_until(is_seen, f"question {key} was seen so: {expected}")


@pytest.fixture
def name() -> str:
    return f"ada{secrets.token_hex(3)}"


def test_receipts_record_delivery_visibility_focus_and_draft(visit: Visit, name: str):
    page = visit.begin('/call ask_user {"question": "Which name?", "answer_type": "text"}')
    key = key_of(page, TEXT)
    page.close()
    ada = visit.open("/questions", who=visit.home.invite(name, "responder"))
    auditor = visit.open(f"/questions/{key}", javascript=False)
    wait_for_proof(auditor, key, **{name: [True, True, False, False]})
    find_card(ada, TEXT).get_by_label("Answer").focus()
    wait_for_proof(auditor, key, **{name: [True, True, True, False]})
    ada.keyboard.type("x")
    wait_for_proof(auditor, key, **{name: [True] * 4})
    answer_question(ada, TEXT, "a.md")
    expect(ada.locator(".card.settled")).to_have_count(1)
    proof(auditor, key)
    steps = [step.get_attribute("data-step") for step in auditor.locator("[data-step]").all()]
    assert steps[0] == "asked"
    assert steps[-1] == "settled"
    assert {"delivered_at", "visible_at", "focused_at", "draft_at"} < set(steps)


@pytest.mark.proof  # a variant
def test_a_page_that_is_never_painted_has_it_delivered_and_never_shown(visit: Visit, name: str):
    key = key_of(visit.begin(), BOOLEAN)
    ada = visit.home.invite(name, "responder")
    assert ada.get("/questions").status == 200
    auditor = visit.open("/questions", javascript=False)
    wait_for_proof(auditor, key, **{name: [True, False, False, False]})


@pytest.mark.proof  # a variant
def test_card_below_the_viewport_is_visible_after_scrolling(visit: Visit, name: str):
    first, last = visit.begin("First"), visit.begin("Last")
    decline_question(first, BOOLEAN)
    above, key = key_of(first, SELECT), key_of(last, BOOLEAN)
    responder = visit.home.invite(name, "responder")
    ada = visit.open("/questions", who=responder, size=(PHONE[0], 640))
    wait_until_connected(ada)
    auditor = visit.open("/questions", javascript=False)
    wait_for_proof(auditor, key, **{name: [True, True, False, False]})
    assert proof(auditor, above)[name][:2] == [True, False]
    ada.locator(f"#question-{above}").scroll_into_view_if_needed()
    wait_for_proof(auditor, above, **{name: [True, True, False, False]})


@pytest.mark.proof  # a variant
def test_receipt_of_a_secret_draft_omits_the_secret(visit: Visit, name: str):
    page = visit.begin()
    for kind in (BOOLEAN, SELECT, TEXT):
        decline_question(page, kind)
    key = key_of(page, SECRET)
    ada = visit.open("/questions", who=visit.home.invite(name, "responder"))
    frames: list[str] = []
    ada.on("websocket", lambda line: line.on("framesent", lambda data: frames.append(str(data))))
    ada.reload()
    find_card(ada, SECRET).get_by_label("Secret", exact=True).press_sequentially("sesame")
    auditor = visit.open("/questions", javascript=False)
    wait_for_proof(auditor, key, **{name: [True] * 4})
    assert any("draft" in message for message in frames)
    assert not any("ses" in message for message in frames)
