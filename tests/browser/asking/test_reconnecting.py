from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import evidence
from tests.browser.cable import Cable
from tests.browser.pages import (
    BOOLEAN,
    DOWN,
    SELECT,
    Visit,
    answer,
    card,
    cards,
    composer,
    connected,
    decline,
    inquiries,
    number_of,
    path_of,
    say,
    staying,
    waiting,
)
from tests.machine.fixtures import Live
from tests.machine.serving import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def alone(live: Live, visiting: Callable[[Server], Visit]) -> Visit:
    """Visit a server that this test may kill."""
    visit = visiting(live(JPWEB_SCRIPT_PACE="0"))
    visit.pages.forgive(DOWN)
    return visit


def notice(page: Page):
    return page.locator("#connection")


def test_a_page_comes_back_by_itself_and_shows_that_the_run_was_lost(alone: Visit):
    page = alone.begin("Killed")
    desk = alone.open("/questions")
    for each in (page, desk):
        connected(each)
        card(each, BOOLEAN)
    with staying(page), staying(desk):
        alone.server.kill()
        expect(notice(page)).to_be_visible()
        expect(notice(page)).to_contain_text("Not connected: what you see may be old.")
        alone.server.start()
        for each in (page, desk):
            expect(notice(each)).to_be_hidden(timeout=20_000)
            expect(cards(each)).to_have_count(0)
            settled = each.locator(".card.settled")
            expect(settled).to_have_attribute("data-reason", "lost")
            expect(waiting(each)).to_have_attribute("data-count", "0")
        expect(page.get_by_text("was lost: the server ended before it did")).to_be_visible()
        expect(inquiries(page)).to_have_attribute("data-reason", "lost")
        expect(composer(page)).to_be_visible()


def test_after_a_kill_the_questions_page_tells_what_became_of_the_run(alone: Visit):
    page = alone.begin("Killed")
    card(page, BOOLEAN)
    alone.server.kill()
    alone.server.start()
    desk = alone.open("/questions")
    lost = desk.get_by_role("region", name="Ended without anybody deciding").locator(".row")
    expect(lost).to_have_count(1)
    expect(lost).to_have_attribute("data-reason", "lost")
    expect(lost).to_contain_text("Shall I show you how questions work?")
    expect(lost).to_contain_text("The server ended before the turn did. Nothing was decided.")
    on_record = evidence.asked(evidence.journal(alone.server, number_of(page)))
    assert [each.outcome for each in on_record] == [{"outcome": "cancelled", "reason": "lost"}]
    lost.get_by_role("link", name="Shall I show you").click()
    assert path_of(desk) == path_of(page)
    expect(desk.locator(":target")).to_be_in_viewport()


def test_a_conversation_goes_on_after_its_run_was_lost(alone: Visit):
    page = alone.begin("Killed")
    card(page, BOOLEAN)
    alone.server.kill()
    alone.server.start()
    expect(composer(page)).to_be_visible(timeout=20_000)
    say(page, "Go on")
    answer(page, BOOLEAN, "Yes")
    expect(page.locator("#turn-1 [data-outcome=answered]").first).to_be_attached()
    ids = [each.id for each in evidence.asked(evidence.journal(alone.server, number_of(page)))]
    assert len(set(ids)) == len(ids)


def test_a_form_that_was_open_over_a_restart_is_told_the_truth(alone: Visit):
    plain = alone.begin("Killed", javascript=False)
    plain.reload()
    alone.pages.forgive("status of 409")
    card(plain, BOOLEAN).get_by_label("Yes", exact=True).check()
    alone.server.kill()
    alone.server.start()
    plain.get_by_role("button", name="Answer").click()
    expect(plain.get_by_role("alert")).to_contain_text("Your answer was not used.")
    expect(plain.locator(".card")).to_have_attribute("data-reason", "lost")


def test_what_was_missed_without_a_network_is_shown_once_it_is_back(visit: Visit):
    visit.pages.forgive(DOWN)
    page = visit.begin("Offline")
    card(page, BOOLEAN)
    cable = Cable(visit.server.port)
    far = visit.open()
    far.goto(cable.url + path_of(page))
    connected(far)
    card(far, BOOLEAN)
    with staying(far):
        cable.pull()
        expect(notice(far)).to_be_visible()
        decline(page, BOOLEAN)
        card(page, SELECT)
        assert cards(far, BOOLEAN).count() == 1
        cable.plug()
        card(far, SELECT)
        expect(notice(far)).to_be_hidden()
        expect(far.locator(".card.settled")).to_have_attribute("data-outcome", "cancelled")
        expect(inquiries(far)).to_have_count(2)
        expect(far.locator(".turn")).to_have_count(1)
        answer(far, SELECT, "not at all")
    cable.close()
