"""The open page of a settled question whose text is redacted."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import expect

from tests.browser.pages import TEXT, Visit, find_card, find_composer, wait_until_connected

pytestmark = pytest.mark.browser

ASKS_TEXT = '/call ask_user {"question": "Which name?", "answer_type": "text"}'


def test_open_page_of_a_settled_question_shows_its_redaction(visit: Visit):
    page = visit.begin(ASKS_TEXT)
    path = f"/questions/{find_card(page, TEXT).get_attribute('data-question')}"
    find_card(page, TEXT).get_by_label("Answer").fill("a leaked key")
    find_card(page, TEXT).get_by_role("button", name="Answer").click()
    expect(find_composer(page)).to_be_visible()
    ada = visit.open(path, who=visit.home.invite(f"Ada {secrets.token_hex(3)}", "auditor"))
    wait_until_connected(ada)
    note = ada.get_by_label("Note")
    ada.get_by_role("button", name="Start review").click()
    note.fill("half written")
    wait_until_connected(ada)
    edit_path = ada.get_by_role("link", name="Redact the answer").get_attribute("href") or ""
    expect(ada.locator("main")).to_contain_text("a leaked key")
    confirm_path = edit_path.replace("/edit", "/confirm")
    fields = {"scope": "conversation", "strings": "a leaked key", "reason": "a secret"}
    assert visit.home.owner.post(confirm_path, edit_path, **fields).status == 200
    expect(ada.locator(".card.settled")).to_contain_text("redacted by Owner")
    expect(ada.locator("main")).not_to_contain_text("a leaked key")
    expect(note).to_have_value("half written")
