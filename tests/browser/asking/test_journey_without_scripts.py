from __future__ import annotations

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
    find_composer,
    find_inquiries,
    last_words,
    number_of,
    press_decline,
    reload_until,
    send_message,
)

pytestmark = pytest.mark.browser


def reload_until_asked(page: Page, kind: str) -> None:
    """Reload until the question of an answer type is there."""
    reload_until(page, f".card[data-answer-type={kind}]")


def reply(page: Page, kind: str, value: str) -> None:
    reload_until_asked(page, kind)
    if kind in (BOOLEAN, SELECT):
        page.get_by_role("button", name=value, exact=True).click()
    else:
        page.locator("[name=answer]").fill(value)
        page.get_by_role("button", name="Answer").click()


def test_journey_without_scripts_works_with_plain_forms(visit: Visit):
    page = visit.begin("Plain", javascript=False)
    reply(page, BOOLEAN, "Yes")
    expect(page.locator(":target")).to_have_attribute("data-kind", "inquiry_request")
    reload_until_asked(page, SELECT)
    press_decline(page.locator(".card[data-outcome=open]"))
    reply(page, TEXT, REPORT)
    reply(page, SECRET, "open sesame")
    reload_until(page, "#text")
    assert find_composer(page).count() == 1
    expect(last_words(page)).to_contain_text("one of three: declined")
    expect(last_words(page)).to_contain_text(f'free text: "{REPORT}" (string)')
    send_message(page, "Again")
    reload_until_asked(page, BOOLEAN)
    outcomes = [inquiry.get_attribute("data-outcome") for inquiry in find_inquiries(page).all()]
    assert outcomes == ["answered", "cancelled", "answered", "redacted", "open"]
    on_record = evidence.pair_inquiries(evidence.read_journal(visit.server, number_of(page)))
    assert [record.outcome.get("outcome", "open") for record in on_record] == outcomes


@pytest.mark.proof  # the journey waits for one too
def test_a_page_without_scripts_refreshes_itself_until_a_question_comes(visit: Visit):
    page = visit.open("/questions", javascript=False)
    expect(page.locator("noscript meta[http-equiv=refresh]")).to_have_count(1)
    visit.begin()
    page.goto(f"{visit.server.url}/questions")
    reload_until_asked(page, BOOLEAN)
    expect(page.locator("meta[http-equiv=refresh]")).to_have_count(0)


@pytest.mark.proof  # tests/web/test_questions has it
def test_an_empty_secret_is_refused_with_a_message(visit: Visit):
    visit.pages.forgive("status of 422")
    page = visit.begin(javascript=False)
    for kind in (BOOLEAN, SELECT, TEXT):
        reload_until_asked(page, kind)
        press_decline(page.locator(".card[data-outcome=open]"))
    reload_until_asked(page, SECRET)
    page.locator("[name=answer]").evaluate("field => field.required = false")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_have_text("Enter the secret, or decline.")
    reply(page, SECRET, "open sesame")
    reload_until(page, "#text")
    expect(find_inquiries(page).last).to_have_attribute("data-outcome", "redacted")
