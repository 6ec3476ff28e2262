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
    answer,
    card,
    connected,
    decline,
)
from tests.machine.browsing import PHONE
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

COLUMNS = ("delivered", "visible", "focused", "draft")


def key_of(page: Page, kind: str) -> int:
    return int(card(page, kind).get_attribute("data-question") or 0)


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


def soon(auditor: Page, key: int, **expected: list[bool]) -> None:
    def there() -> bool:
        found = proof(auditor, key)
        return all(found.get(who) == seen for who, seen in expected.items())

    wait_until(there, f"question {key} was seen so: {expected}")


@pytest.fixture
def name() -> str:
    return f"ada{secrets.token_hex(3)}"


def test_what_is_seen_is_told_step_by_step(visit: Visit, name: str):
    page = visit.begin()
    for kind in (BOOLEAN, SELECT):
        decline(page, kind)
    key = key_of(page, TEXT)
    page.close()
    ada = visit.open("/questions", who=visit.home.invite(name, "responder"))
    auditor = visit.open(f"/questions/{key}", javascript=False)
    soon(auditor, key, **{name: [True, True, False, False]})
    card(ada, TEXT).get_by_label("Answer").focus()
    soon(auditor, key, **{name: [True, True, True, False]})
    ada.keyboard.type("x")
    soon(auditor, key, **{name: [True] * 4})
    answer(ada, TEXT, "a.md")
    expect(ada.locator(".card.settled")).to_have_count(1)
    proof(auditor, key)
    steps = [each.get_attribute("data-step") for each in auditor.locator("[data-step]").all()]
    assert steps[0] == "asked"
    assert steps[-1] == "settled"
    assert {"delivered_at", "visible_at", "focused_at", "draft_at"} < set(steps)


def test_a_page_that_is_never_painted_has_it_delivered_and_never_shown(visit: Visit, name: str):
    key = key_of(visit.begin(), BOOLEAN)
    ada = visit.home.invite(name, "responder")
    assert ada.get("/questions").status == 200
    auditor = visit.open("/questions", javascript=False)
    soon(auditor, key, **{name: [True, False, False, False]})


@pytest.mark.proof  # a variant
def test_a_card_below_the_screen_is_shown_once_somebody_scrolls_there(visit: Visit, name: str):
    first, last = visit.begin("First"), visit.begin("Last")
    decline(first, BOOLEAN)
    above, key = key_of(first, SELECT), key_of(last, BOOLEAN)
    who = visit.home.invite(name, "responder")
    ada = visit.open("/questions", who=who, size=(PHONE[0], 640))
    connected(ada)
    auditor = visit.open("/questions", javascript=False)
    soon(auditor, key, **{name: [True, True, False, False]})
    assert proof(auditor, above)[name][:2] == [True, False]
    ada.locator(f"#question-{above}").scroll_into_view_if_needed()
    soon(auditor, above, **{name: [True, True, False, False]})


@pytest.mark.proof  # a variant
def test_that_a_secret_is_being_typed_is_told_and_not_the_secret(visit: Visit, name: str):
    page = visit.begin()
    for kind in (BOOLEAN, SELECT, TEXT):
        decline(page, kind)
    key = key_of(page, SECRET)
    ada = visit.open("/questions", who=visit.home.invite(name, "responder"))
    sent: list[str] = []
    ada.on("websocket", lambda line: line.on("framesent", lambda data: sent.append(str(data))))
    ada.reload()
    card(ada, SECRET).get_by_label("Secret", exact=True).press_sequentially("sesame")
    auditor = visit.open("/questions", javascript=False)
    soon(auditor, key, **{name: [True] * 4})
    assert any("draft" in each for each in sent)
    assert not any("ses" in each for each in sent)
