from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import evidence
from tests.browser.cable import Cable
from tests.browser.pages import (
    BOOLEAN,
    DOWN,
    SECRET,
    SELECT,
    TEXT,
    Home,
    Visit,
    answer,
    card,
    cards,
    connected,
    decline,
    inquiries,
    number_of,
    path_of,
    serve_home,
    staying,
    waiting,
)
from tests.machine.browsing import Pages
from tests.machine.ports import accepts
from tests.machine.serving import Server

pytestmark = pytest.mark.browser

#: Make a page try to connect again after 0.3 s, each time.
RECONNECT_SOON = "htmx.config.wsReconnectDelay = () => 300"


@pytest.fixture(scope="module")
def mortal_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo until a test kills the server, and again thereafter."""
    data = tmp_path_factory.mktemp("mortal") / "data"
    with serve_home(Server(data, settings={"JPWEB_SCRIPT_PACE": "0"})) as home:
        yield home


@pytest.fixture
def alone(mortal_home: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit a server that this test may kill."""
    visit = Visit(mortal_home, open_page)
    visit.pages.forgive(DOWN)
    yield visit
    if not accepts(visit.server.port):
        visit.server.start()
    visit.leave()


@pytest.fixture
def cable(home: Home) -> Iterator[Cable]:
    """Return a cable to the shared server."""
    cable = Cable(home.server.port)
    yield cable
    cable.close()


def notice(page: Page):
    return page.locator("#connection")


@pytest.mark.chaos
def test_after_a_kill_the_pages_come_back_by_themselves_and_the_question_still_waits(alone: Visit):
    page = alone.begin("Killed")
    desk = alone.open("/questions")
    for each in (page, desk):
        connected(each)
        card(each, BOOLEAN)
    with staying(page), staying(desk):
        alone.server.kill()
        expect(notice(page)).to_be_visible()
        expect(notice(page)).to_contain_text("Connection lost. Reconnecting")
        alone.server.start()
        for each in (page, desk):
            expect(notice(each)).to_be_hidden(timeout=20_000)
            expect(cards(each)).to_have_count(1)
            expect(waiting(each)).to_have_attribute("data-count", "1")
        expect(page.get_by_text("Resumed after a server restart")).to_be_visible()
        answer(page, BOOLEAN, "Yes")
        card(page, SELECT)
    asked = evidence.asked(evidence.journal(alone.server, number_of(page)))
    assert [each.outcome for each in asked] == [{"outcome": "answered", "answer": True}, {}]
    # The call had asked, and waited: nothing of it was cut off.
    expect(page.get_by_text("The server stopped during this call")).to_have_count(0)


def test_that_there_is_no_connection_is_said_however_soon_the_page_tries_again(
    visit: Visit, cable: Cable
):
    visit.pages.forgive(DOWN)
    page = visit.open()
    page.goto(cable.url)
    connected(page)
    page.evaluate(RECONNECT_SOON)
    cable.pull()
    expect(notice(page)).to_be_visible()


@pytest.mark.chaos
@pytest.mark.parametrize("how", [pytest.param("kill", marks=pytest.mark.proof), "stop"])
def test_a_text_that_is_being_typed_outlives_the_server(alone: Visit, how: str):
    page = alone.begin("Killed")
    answer(page, BOOLEAN, "Yes")
    answer(page, SELECT, "not at all")
    field = card(page, TEXT).get_by_label("Answer")
    field.fill("half a na")
    page.evaluate(RECONNECT_SOON)
    with staying(page):
        getattr(alone.server, how)()
        expect(notice(page)).to_be_visible()
        alone.server.start()
        expect(notice(page)).to_be_hidden(timeout=20_000)
        expect(field).to_have_value("half a na")
        field.fill("half a name")
        card(page, TEXT).get_by_role("button", name="Answer").click()
        card(page, SECRET)


@pytest.mark.proof  # sign-ins outlive servers in the others too
def test_a_form_that_was_open_over_a_restart_is_taken(alone: Visit):
    plain = alone.begin("Killed", javascript=False)
    plain.reload()
    card(plain, BOOLEAN).get_by_label("Yes", exact=True).check()
    alone.server.kill()
    alone.server.start()
    plain.get_by_role("button", name="Answer").click()
    expect(plain.locator("[data-outcome=answered]").first).to_be_attached()


def test_what_was_missed_without_a_network_is_shown_once_it_is_back(visit: Visit, cable: Cable):
    visit.pages.forgive(DOWN)
    page = visit.begin("Offline")
    card(page, BOOLEAN)
    far = visit.open()
    far.goto(cable.url + path_of(page))
    connected(far)
    card(far, BOOLEAN)
    far.evaluate(RECONNECT_SOON)
    with staying(far):
        cable.pull()
        expect(notice(far)).to_be_visible()
        decline(page, BOOLEAN)
        card(page, SELECT)
        assert cards(far, BOOLEAN).count() == 1
        cable.plug()
        expect(notice(far)).to_be_hidden(timeout=20_000)
        card(far, SELECT)
        expect(far.locator(".card.settled")).to_have_attribute("data-outcome", "cancelled")
        expect(inquiries(far)).to_have_count(2)
        expect(far.locator(".turn-head")).to_have_count(1)
        answer(far, SELECT, "not at all")
