"""Pages whose sockets the server has refused: they say why, and come back without a rush."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect

from jpweb.web.websocket.protocol import MAX_CARDS
from jpweb.web.websocket.socket_limits import MAX_SOCKETS
from tests.browser.pages import Visit, wait_until_connected
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

FLOOD = """() => {
  const { socket } = document.body["htmx-internal-data"].webSocket;
  for (let n = 0; n < 300; n++) socket.send('{"receipts": []}');
}"""
#: Shows so many open cards, which no server knows, and has the page connect again.
FILL = """(count) => {
  for (let n = 0; n < count; n++) {
    document.getElementById("inbox").insertAdjacentHTML("beforeend",
      `<article class="card" data-outcome="open" data-question="${10 ** 9 + n}">
        <p class="question-title">Go on?</p></article>`);
  }
  htmx.config.wsReconnectDelay = () => 0;
  document.body["htmx-internal-data"].webSocket.socket.close();
}"""
#: Notes when the page opens sockets, and when it is cut off, by its own clock.
COUNT = """() => {
  window.made = [];
  window.cut = [];
  document.addEventListener("htmx:wsClose", () => cut.push(Date.now()));
  const make = htmx.createWebSocket;
  htmx.createWebSocket = (url) => { window.made.push(Date.now()); return make(url); };
}"""


def note(page: Page) -> Locator:
    return page.locator("#connection")


def wait_until_answered(page: Page) -> None:
    """Open the page again, and wait until the server has answered what it says of itself."""
    frames: list[object] = []

    def note_frames(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.extend([frame]))

    page.on("websocket", note_frames)
    page.reload()
    wait_until(lambda: page.evaluate("1") and frames, "the server has answered the page")


def test_a_page_that_asked_too_often_says_so_and_comes_back_later(visit: Visit):
    page = visit.open("/questions")
    wait_until_connected(page)
    page.clock.install()
    page.evaluate(COUNT)
    for least in (10, 20):
        page.evaluate(FLOOD)
        expect(note(page)).to_be_visible()
        expect(note(page)).to_contain_text("Too many requests from your open pages")
        expect(note(page)).to_contain_text("Reconnecting in")
        page.clock.run_for(least * 1500 + 1000)
        expect(note(page)).to_be_hidden()
    open_times, cut_times = page.evaluate("[made, cut]")
    assert len(open_times) == len(cut_times) == 2, "it comes once each time"
    pauses = [
        round((open_time - cut_time) / 1000)
        for open_time, cut_time in zip(open_times, cut_times, strict=True)
    ]
    assert pauses[0] >= 10, "it waits"
    assert pauses[1] >= 20, "and longer the second time"


def test_page_beyond_the_socket_limit_pauses_until_it_is_used_again(visit: Visit):
    person = visit.home.invite("Tabea", "responder")
    page = visit.open("/questions", who=person)
    wait_until_answered(page)
    page.evaluate(COUNT)
    with ExitStack() as stack:
        sockets = [stack.enter_context(person.socket()) for _ in range(MAX_SOCKETS - 1)]
        # Whatever the page said while they opened, they speak after it.
        for socket in sockets:
            socket.send('{"receipts": []}')
        stack.enter_context(person.socket())
        expect(note(page)).to_be_visible()
        expect(note(page)).to_contain_text(f"You have more than {MAX_SOCKETS} pages open.")
        assert page.evaluate("made.length") == 0, "it rests"
        page.keyboard.press("Shift")
        expect(note(page)).to_be_hidden()
        assert page.evaluate("made.length") == 1


#: Asks for fifty states of the page; returns how many its socket has sent.
SEND_STATES = """async () => {
  const { sendPageState } = await import(document.querySelector("script[type=module]").src
    .replace("jpweb.js", "js/socket.js"));
  const { socket } = document.body["htmx-internal-data"].webSocket;
  window.sent = 0;
  const send = socket.send.bind(socket);
  socket.send = (text) => { window.sent += 1; send(text); };
  for (let n = 0; n < 50; n++) sendPageState();
  return window.sent;
}"""


def test_page_sends_few_states_and_reconnects_to_name_too_many_cards(visit: Visit):
    visit.pages.forgive("oobErrorNoTarget")  # the server has removed what it does not know
    page = visit.open("/questions")
    wait_until_connected(page)
    page.clock.install()
    assert page.evaluate(SEND_STATES) <= 1
    page.clock.run_for(1000)
    assert 1 <= page.evaluate("sent") <= 2
    page.clock.resume()

    page.evaluate(FILL, MAX_CARDS + 1)  # it closes without a code
    expect(note(page)).to_contain_text(f"more than {MAX_CARDS} waiting questions")
    expect(note(page)).to_be_visible()
    page.locator(".site-header .menu summary").click()
    page.locator(".site-header .menu-body a").first.click(
        trial=True
    )  # fails where something covers it
