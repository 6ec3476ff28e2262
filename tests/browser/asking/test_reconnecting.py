from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

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
    answer_question,
    decline_question,
    find_card,
    find_cards,
    find_inquiries,
    find_waiting_count,
    number_of,
    path_of,
    serve_home,
    stay_on_page,
    wait_until_connected,
)
from tests.browser.wires import PageWire
from tests.machine.browsing import Pages
from tests.machine.ports import is_accepting, wait_until
from tests.machine.serving import Server

pytestmark = pytest.mark.browser

#: Make a page try to connect again after 0.3 s, each time.
RECONNECT_SOON = "htmx.config.wsReconnectDelay = () => 300"
#: Count how often the text of the notice is set, and how often the page failed to connect.
COUNT_NOTICES = """() => {
  window.noticeCount = window.closeCount = 0;
  const observer = new MutationObserver((records) => { window.noticeCount += records.length; });
  observer.observe(document.getElementById("connection"), { childList: true });
  document.addEventListener("htmx:wsClose", () => { window.closeCount += 1; });
}"""


@pytest.fixture(scope="module")
def mortal_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo until a test kills the server, and again thereafter."""
    data = tmp_path_factory.mktemp("mortal") / "data"
    with serve_home(Server(data, settings={"JPWEB_SCRIPT_PACE_SECONDS": "0"})) as home:
        yield home


@pytest.fixture
def mortal_visit(mortal_home: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit a server that this test may kill."""
    visit = Visit(mortal_home, open_page)
    visit.pages.forgive(DOWN)
    yield visit
    if not is_accepting(visit.server.port):
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


def read_fence(server: Server, conversation: int) -> int:
    """Return the fence of a running run, which rises with each process that acquires the run.

    It is 0 while none has it.
    """
    path = f"file:{server.data / 'jpweb.sqlite3'}?mode=ro"
    query = "SELECT fence FROM store_run WHERE state = 'running' AND conversation_id = ?"
    with closing(sqlite3.connect(path, uri=True)) as database:
        return sum(row[0] for row in database.execute(query, [conversation]))


@pytest.mark.chaos
def test_pages_reconnect_after_a_kill_and_the_question_still_waits(
    mortal_visit: Visit,
):
    page = mortal_visit.begin("Killed")
    inbox_page = mortal_visit.open("/questions")
    for tab in (page, inbox_page):
        wait_until_connected(tab)
        find_card(tab, BOOLEAN)
    server, conversation = mortal_visit.server, number_of(page)
    fence = read_fence(server, conversation)
    with stay_on_page(page), stay_on_page(inbox_page):
        mortal_visit.server.kill()
        expect(notice(page)).to_be_visible()
        expect(notice(page)).to_contain_text("Connection lost. Reconnecting")
        mortal_visit.server.start()
        for tab in (page, inbox_page):
            expect(notice(tab)).to_be_hidden(timeout=20_000)
            expect(find_cards(tab)).to_have_count(1)
            expect(find_waiting_count(tab)).to_have_attribute("data-count", "1")
        expect(page.get_by_text("Resumed after an interruption")).to_be_visible()
        # Of an answer that comes before, nobody knows whether it had reached the call.
        wait_until(lambda: read_fence(server, conversation) > fence, "the run is taken over")
        answer_question(page, BOOLEAN, "Yes")
        find_card(page, SELECT)
    records = evidence.pair_inquiries(evidence.read_journal(server, conversation))
    assert [record.outcome for record in records] == [{"outcome": "answered", "answer": True}, {}]
    # The call had asked, and waited: nothing of it was cut off.
    expect(page.get_by_text("This call was interrupted")).to_have_count(0)


def test_lost_connection_is_shown_and_announced_once_in_an_outage(visit: Visit, cable: Cable):
    visit.pages.forgive(DOWN)
    page = visit.sign_in()
    page.goto(cable.url)
    wait_until_connected(page)
    page.evaluate(RECONNECT_SOON)
    page.evaluate(COUNT_NOTICES)
    cable.pull()
    expect(notice(page)).to_be_visible()
    page.wait_for_function("window.closeCount >= 4")
    assert page.evaluate("window.noticeCount") == 0, "its text is the same"


@pytest.mark.proof  # a line that is cut, in make test
@pytest.mark.parametrize(
    "code",
    [
        pytest.param(1001, id="going away"),
        pytest.param(1005, id="no code"),
        pytest.param(4999, id="unknown code"),
    ],
)
def test_page_reconnects_after_a_close_that_is_not_final(visit: Visit, code: int):
    page = visit.sign_in()
    wire = PageWire(page)
    page.goto(f"{visit.server.url}/questions")
    wait_until(lambda: page.title() and len(wire.page_messages) == 1, "the page is connected")
    page.evaluate(RECONNECT_SOON)
    wire.close(code)
    wait_until(lambda: page.title() and len(wire.page_messages) == 2, "the page is connected again")
    wait_until_connected(page)
    expect(notice(page)).to_be_hidden()


@pytest.mark.chaos
@pytest.mark.parametrize("action", [pytest.param("kill", marks=pytest.mark.proof), "stop"])
def test_a_text_that_is_being_typed_outlives_the_server(mortal_visit: Visit, action: str):
    page = mortal_visit.begin("Killed")
    answer_question(page, BOOLEAN, "Yes")
    answer_question(page, SELECT, "not at all")
    field = find_card(page, TEXT).get_by_label("Answer")
    field.fill("half a na")
    page.evaluate(RECONNECT_SOON)
    with stay_on_page(page):
        getattr(mortal_visit.server, action)()
        expect(notice(page)).to_be_visible()
        mortal_visit.server.start()
        expect(notice(page)).to_be_hidden(timeout=20_000)
        expect(field).to_have_value("half a na")
        field.fill("half a name")
        find_card(page, TEXT).get_by_role("button", name="Answer").click()
        find_card(page, SECRET)


@pytest.mark.proof  # sign-ins outlive servers in the others too
def test_a_form_that_was_open_over_a_restart_is_taken(mortal_visit: Visit):
    plain = mortal_visit.begin("Killed", javascript=False)
    plain.reload()
    find_card(plain, BOOLEAN)
    mortal_visit.server.kill()
    mortal_visit.server.start()
    plain.get_by_role("button", name="Yes", exact=True).click()
    expect(plain.locator("[data-outcome=answered]").first).to_be_attached()


def test_reconnected_page_shows_updates_missed_offline(visit: Visit, cable: Cable):
    visit.pages.forgive(DOWN)
    page = visit.begin("Offline")
    find_card(page, BOOLEAN)
    cable_page = visit.sign_in()
    cable_page.goto(cable.url + path_of(page))
    wait_until_connected(cable_page)
    find_card(cable_page, BOOLEAN)
    expect(cable_page.locator("#time-strip:empty")).to_have_count(0)
    cable_page.evaluate(RECONNECT_SOON)
    with stay_on_page(cable_page):
        cable.pull()
        expect(notice(cable_page)).to_be_visible()
        decline_question(page, BOOLEAN)
        find_card(page, SELECT)
        assert find_cards(cable_page, BOOLEAN).count() == 1
        cable.plug()
        expect(notice(cable_page)).to_be_hidden(timeout=20_000)
        find_card(cable_page, SELECT)
        expect(cable_page.locator(".card.settled")).to_have_attribute("data-outcome", "cancelled")
        expect(find_inquiries(cable_page)).to_have_count(2)
        expect(cable_page.locator(".turn-head")).to_have_count(1)
        answer_question(cable_page, SELECT, "not at all")
