"""A suspected secret, from the open page that masks it to its dismissal."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import Visit

pytestmark = pytest.mark.browser
SECRET = "AKIABROWSERBROWSER7F"


def test_open_page_masks_a_secret_until_an_owner_dismisses_it(visit: Visit):
    page = visit.begin(f"Log in with {SECRET}, please.")
    conversation = page.url
    expect(page.locator("#transcript")).to_contain_text("[masked AWS Access Key, ")
    expect(page.locator("#outline")).to_contain_text("[masked AWS Access Key, ")
    expect(page.locator("body")).not_to_contain_text(SECRET)
    page.goto(f"{visit.server.url}/audit/secrets")
    check_under_proof(page)
    page.get_by_role("link", name="AWS Access Key").first.click()
    check_under_proof(page)
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("mark")).to_have_text(SECRET)
    check_accessibility(page, "main")
    page.get_by_label("Not a secret, because").fill("An example")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".notice").first).to_contain_text("The text is shown again.")
    page.goto(conversation)
    expect(page.locator("#transcript")).to_contain_text(SECRET)
