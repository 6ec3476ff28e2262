"""What is on record of who saw a question, and when."""

from __future__ import annotations

import re
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

#: The row of a person among the receipts of a question's page, and the cells after their name.
RECEIPT = re.compile(
    r'<tr data-receipt="[^"]*">\s*<th scope="row">([^<]*)</th>(.*?)</tr>', re.DOTALL
)
CELL = re.compile(r'<td class="number">(.*?)</td>', re.DOTALL)


def key_of(page: Page, kind: str) -> int:
    return int(find_card(page, kind).get_attribute("data-question") or 0)


def proof(visit: Visit, key: int) -> dict[str, list[bool]]:
    """Return what is on record by person: delivered, on the screen, gone into, begun."""
    rows = RECEIPT.findall(visit.home.owner.get(f"/questions/{key}").text)
    return {name: [cell != "never" for cell in CELL.findall(cells)] for name, cells in rows}


def wait_for_proof(visit: Visit, key: int, **expected: list[bool]) -> None:
    def is_seen() -> bool:
        receipts = proof(visit, key)
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
    wait_for_proof(visit, key, **{name: [True, True, False, False]})
    find_card(ada, TEXT).get_by_label("Answer").focus()
    wait_for_proof(visit, key, **{name: [True, True, True, False]})
    ada.keyboard.type("x")
    wait_for_proof(visit, key, **{name: [True] * 4})
    answer_question(ada, TEXT, "a.md")
    expect(ada.locator(".card.settled")).to_have_count(1)
    steps = re.findall(r'data-step="(\w+)"', visit.home.owner.get(f"/questions/{key}").text)
    assert steps[0] == "asked"
    assert steps[-1] == "settled"
    assert {"delivered_at", "visible_at", "focused_at", "draft_at"} < set(steps)


@pytest.mark.proof  # a variant
def test_a_page_that_is_never_painted_has_it_delivered_and_never_shown(visit: Visit, name: str):
    key = key_of(visit.begin(), BOOLEAN)
    ada = visit.home.invite(name, "responder")
    assert ada.get("/questions").status == 200
    wait_for_proof(visit, key, **{name: [True, False, False, False]})


@pytest.mark.proof  # a variant
def test_card_below_the_viewport_is_visible_after_scrolling(visit: Visit, name: str):
    first, last = visit.begin("First"), visit.begin("Last")
    decline_question(first, BOOLEAN)
    above, key = key_of(first, SELECT), key_of(last, BOOLEAN)
    responder = visit.home.invite(name, "responder")
    ada = visit.open("/questions", who=responder, size=(PHONE[0], 640))
    wait_until_connected(ada)
    wait_for_proof(visit, key, **{name: [True, True, False, False]})
    assert proof(visit, above)[name][:2] == [True, False]
    ada.locator(f"#question-{above}").scroll_into_view_if_needed()
    wait_for_proof(visit, above, **{name: [True, True, False, False]})


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
    wait_for_proof(visit, key, **{name: [True] * 4})
    assert any("draft" in message for message in frames)
    assert not any("ses" in message for message in frames)
