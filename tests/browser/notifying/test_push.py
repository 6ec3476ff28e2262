"""Web Push in a real browser: the service worker's notifications, and answers by their buttons.

Chromium delivers messages to the service worker by the DevTools protocol. It has no desktop to
show notifications on, so a press of a button is an event that the test dispatches in the worker.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, Worker, expect

from jpweb.web.views.notifications import MAX_TAGS
from tests.browser.pages import BOOLEAN, SELECT, Visit, answer_question, find_card, path_of
from tests.machine.ports import wait_until
from tests.runtime.notifications.push_service import PushService

pytestmark = pytest.mark.browser
#: The headless shell of ``make test`` shows no notification; full Chromium does.
needs_full_chromium = pytest.mark.proof

REGISTER = """async () => {
  await navigator.serviceWorker.register("/service-worker.js");
  await navigator.serviceWorker.ready;
}"""
#: What the browser shows: a list, the actions by their titles.
READ_SHOWN = """async () => (await self.registration.getNotifications()).map(shown => ({
  title: shown.title, body: shown.body, tag: shown.tag,
  actions: shown.actions.map(action => action.title) }))"""
#: Count the notifications that have been displayed, and keep which were silent.
COUNT_SHOWN = """() => {
  const { registration } = self, show = registration.showNotification.bind(registration);
  self.shownCount = 0;
  self.silentTags = [];
  registration.showNotification = async (title, options) => {
    await show(title, options);
    if (options.silent) self.silentTags.push(options.tag);
    self.shownCount += 1;
  };
}"""
#: Keep a notification at hand, to press it also once it is closed.
HOLD = """async tag => { [self.held] = await self.registration.getNotifications({ tag }); }"""
#: A press of a button; ``""`` is one of the notification itself. Returns the page that was opened.
PRESS = """async ([tag, action]) => {
  const notification = self.held || (await self.registration.getNotifications({ tag }))[0];
  const event = new NotificationEvent("notificationclick", { notification, action });
  let work, opened = "";
  Object.defineProperty(event, "waitUntil", { value: promise => { work = promise; } });
  const { openWindow } = self.clients;
  self.clients.openWindow = async url => { opened = url; };
  self.dispatchEvent(event);
  await work;
  self.clients.openWindow = openWindow;
  return opened;
}"""


@dataclass
class PushBrowser:
    """A browser with the service worker; ``page`` is in view, or else hidden."""

    page: Page
    worker: Worker
    origin: str
    registration_id: str

    def deliver(self, message: dict[str, Any]) -> None:
        session = self.page.context.new_cdp_session(self.page)
        session.send("ServiceWorker.enable")
        session.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": self.origin,
                "registrationId": self.registration_id,
                "data": json.dumps(message),
            },
        )

    @property
    def shown(self) -> list[dict[str, Any]]:
        notifications: list[dict[str, Any]] = self.worker.evaluate(READ_SHOWN)
        return notifications

    def wait_for(self, count: int) -> None:
        """Wait until so many notifications are shown, and ask for them only afterwards.

        Chromium forgets a notification that it is asked for between its record and its display.
        """
        shown_count = partial(self.worker.evaluate, "self.shownCount")
        wait_until(lambda: shown_count() >= count, f"{count} notifications are displayed")
        wait_until(lambda: len(self.shown) == count, f"{count} notifications are shown")

    def hold(self, tag: str) -> None:
        self.worker.evaluate(HOLD, tag)

    def press(self, tag: str, action: str = "") -> str:
        opened: str = self.worker.evaluate(PRESS, [tag, action])
        return opened


def open_browser(visit: Visit, path: str = "/help") -> PushBrowser:
    """Open a browser that permits notifications, and hide its page from the worker."""
    page = visit.open(path)
    page.context.add_init_script("")  # so that no other test gets the browser's context
    page.context.grant_permissions(["notifications"], origin=visit.server.url)
    origin = visit.server.url
    registrations: list[dict[str, Any]] = []
    session = page.context.new_cdp_session(page)
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(
            registration
            for registration in event["registrations"]
            if not registration["isDeleted"] and registration["scopeURL"].startswith(origin)
        ),
    )
    session.send("ServiceWorker.enable")
    page.evaluate(REGISTER)
    wait_until(lambda: bool(page.context.service_workers and registrations), "the worker runs")
    worker = page.context.service_workers[0]
    worker.evaluate("self.clients.matchAll = async () => []")
    worker.evaluate(COUNT_SHOWN)
    return PushBrowser(page, worker, origin, registrations[-1]["registrationId"])


def fetch_message(page: Page, inquiry_id: int) -> dict[str, Any]:
    """Return what a page is sent for the buttons of a notification."""
    message: dict[str, Any] = page.evaluate(
        """async path => (await fetch(path, { method: "POST", headers: {
          "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content } })).json()""",
        f"/questions/{inquiry_id}/notification",
    )
    return message | {"title": "Assistant asks in Demo", "body": "Go on?"}


def read_key(turn_page: Page, kind: str) -> int:
    """Return the key of the one open question."""
    return int((find_card(turn_page, kind).get_attribute("id") or "").rpartition("-")[2])


@needs_full_chromium
def test_a_button_of_a_notification_answers_and_the_record_says_so(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    browser.deliver(fetch_message(browser.page, key))
    browser.wait_for(1)
    assert browser.shown == [
        {
            "title": "Assistant asks in Demo",
            "body": "Go on?",
            "tag": f"question-{key}",
            "actions": ["Yes", "No"],
        }
    ]
    assert browser.press(f"question-{key}", "answer-0") == ""
    find_card(turn_page, SELECT)
    assert browser.shown == []
    turn_page.goto(f"{visit.server.url}{path_of(turn_page)}")
    expect(turn_page.locator("[data-channel]")).to_have_text("by a notification's button")


@needs_full_chromium
def test_a_late_button_opens_the_page_that_says_who_was_first(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    message = fetch_message(browser.page, key)
    browser.deliver(message)
    browser.wait_for(1)
    browser.hold(f"question-{key}")  # the page has it closed once the question is answered
    answer_question(turn_page, BOOLEAN, "No")
    assert browser.press(f"question-{key}", "answer-0") == f"{visit.server.url}/questions/{key}"


@needs_full_chromium
def test_a_press_on_the_text_opens_the_question(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    browser.deliver(fetch_message(browser.page, key))
    browser.wait_for(1)
    assert browser.press(f"question-{key}") == f"{visit.server.url}/questions/{key}"
    expect(find_card(turn_page, BOOLEAN)).to_be_visible()


@needs_full_chromium
def test_a_button_of_a_signed_out_browser_opens_the_question(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    browser.deliver(fetch_message(browser.page, key))
    browser.wait_for(1)
    browser.page.context.clear_cookies()
    assert browser.press(f"question-{key}", "answer-0") == f"{visit.server.url}/questions/{key}"


@needs_full_chromium
def test_a_notification_closes_once_its_question_is_settled(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    browser.deliver(fetch_message(browser.page, key))
    browser.wait_for(1)
    answer_question(turn_page, BOOLEAN, "Yes")
    browser.wait_for(0)


@needs_full_chromium
def test_a_notification_closes_once_its_question_is_snoozed(visit: Visit):
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    browser.deliver(fetch_message(browser.page, key))
    browser.wait_for(1)
    card = find_card(turn_page, BOOLEAN)
    card.get_by_role("link", name="Snooze").click()
    card.get_by_role("button", name="10 minutes").click()
    browser.wait_for(0)


@needs_full_chromium
def test_push_notification_of_a_visible_card_is_closed_at_once(visit: Visit):
    """A browser may end a subscription whose messages show nothing, as Safari does."""
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser = open_browser(visit)
    message = fetch_message(browser.page, key)
    browser.worker.evaluate("self.clients.matchAll = async () => [{ visibilityState: 'visible' }]")
    browser.deliver(message)
    wait_until(lambda: browser.worker.evaluate("self.shownCount") == 1, "the question is displayed")
    browser.deliver({"title": "Test", "body": "Shown.", "tag": "test", "url": "/notifications"})
    browser.wait_for(1)
    assert [notification["tag"] for notification in browser.shown] == ["test"]
    assert browser.worker.evaluate("self.shownCount") == 2
    assert browser.worker.evaluate("self.silentTags") == [f"question-{key}"]


#: Close what is settled of many notifications; the server says that all but one still wait.
#: Returns how many tags each request named, and which notifications were closed.
CLOSE_OF_MANY = """async count => {
  const closed = [], requests = [];
  self.registration.getNotifications = async () => Array.from({ length: count }, (_, index) => ({
    tag: `mention-${index}`, close: () => closed.push(`mention-${index}`) }));
  self.fetch = async url => {
    const tags = new URL(url).searchParams.getAll("tag");
    requests.push(tags.length);
    const waiting = tags.filter(tag => tag !== "mention-110");
    return { status: 200, json: async () => ({ waiting }) };
  };
  await closeSettled();
  return [requests, closed];
}"""


def check_closing_in_batches(browser: PushBrowser) -> None:
    requests, closed = browser.worker.evaluate(CLOSE_OF_MANY, 120)
    assert closed == ["mention-110"]
    assert sum(requests) == 120
    assert max(requests) <= MAX_TAGS


#: Show a message of a question while a notification of it is shown; returns the options.
SHOW_OVER_EARLIER = """async ([message, age]) => {
  let options = null;
  self.registration.getNotifications = async () => [
    { tag: message.tag, data: age === null ? null : { shownAt: Date.now() - age } } ];
  self.registration.showNotification = async (_title, shown) => { options = shown; };
  await show(message);
  return { renotify: options.renotify, silent: options.silent, tag: options.tag };
}"""


#: Fields of a message, the age of the earlier notification, and whether the question has a sound.
SOUNDS: tuple[tuple[dict[str, Any], int | None, bool], ...] = (
    ({"returned": True}, 600_000, True),
    ({"returned": True}, None, True),  # shown by a service worker of an earlier version
    ({"returned": True}, 2_000, False),  # a page has shown the return
    ({}, 600_000, False),
)


def test_worker_sounds_for_a_returned_question_and_closes_many_in_batches(visit: Visit):
    browser = open_browser(visit)
    for fields, age, has_sound in SOUNDS:
        message = {"title": "T", "body": "B", "tag": "question-7", "url": "/questions/7", **fields}
        options = browser.worker.evaluate(SHOW_OVER_EARLIER, [message, age])
        expected_options = {"renotify": has_sound, "silent": False, "tag": "question-7"}
        assert options == expected_options, (fields, age)
    check_closing_in_batches(browser)


@needs_full_chromium
def test_notification_has_no_buttons_for_too_many_options(visit: Visit):
    browser = open_browser(visit)
    buttons = [{"title": name, "value": name} for name in "abc"]
    browser.deliver({"title": "T", "body": "B", "tag": "test", "url": "/", "buttons": buttons})
    browser.wait_for(1)
    assert browser.shown[0]["actions"] == []


@needs_full_chromium
def test_a_hidden_page_shows_its_question_with_buttons(visit: Visit):
    browser = open_browser(visit, "/audit")
    page = browser.page
    page.evaluate("""() => {
      localStorage.setItem("tell", "on");
      Object.defineProperty(document, "hidden", { get: () => true });
    }""")
    expect(page.locator("#question-count")).to_have_attribute("data-count", "0")
    turn_page = visit.begin()
    key = read_key(turn_page, BOOLEAN)
    browser.wait_for(1)
    assert browser.shown[0] == {
        "title": "Assistant",
        "body": "Shall I show you how questions work?",
        "tag": f"question-{key}",
        "actions": ["Yes", "No"],
    }
    browser.press(f"question-{key}", "answer-1")
    expect(turn_page.locator(f"#question-{key}[data-outcome=open]")).to_have_count(0)


#: A browser's push service that gives an address at once.
SUBSCRIBING = """
  const keys = { p256dh: "KEY", auth: "BTBZMqHH6r4Tts7J_aSIgg" };
  const decode = text => Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")), char => char.charCodeAt(0)).buffer;
  PushManager.prototype.getSubscription = async () => null;
  PushManager.prototype.subscribe = async options => {
    if (!options.userVisibleOnly || options.applicationServerKey.length !== 65) throw new Error();
    return { endpoint: "https://push.example.org/a", getKey: name => decode(keys[name]) };
  };
  Object.defineProperty(Notification, "permission", {
    get: () => sessionStorage.getItem("permission") || "default" });
  Notification.requestPermission = async () => "granted";
"""


def test_a_browser_is_turned_on_removed_and_explained_if_it_blocks(visit: Visit):
    page = visit.open("/notifications")
    script = SUBSCRIBING.replace("KEY", PushService().make_subscription()["public_key"])
    page.context.add_init_script(f"(() => {{ {script} }})()")
    page.reload()
    page.get_by_role("button", name="Turn on in this browser").click()
    expect(page.get_by_role("status").first).to_contain_text("This browser now gets notifications")
    listed = page.locator("[data-browser]")
    expect(listed).to_contain_text("(this browser)")
    listed.get_by_role("button", name=re.compile("^Remove")).click()
    expect(page.locator("[data-browser]")).to_have_count(0)
    page.evaluate("sessionStorage.setItem('permission', 'denied')")
    page.reload()
    expect(page.locator("#push-problem")).to_contain_text("blocked in this browser's settings")
    expect(page.get_by_role("button", name="Turn on in this browser")).to_have_count(0)


#: A push service that a firewall keeps from the browser, which is never told so.
UNREACHABLE = """
  PushManager.prototype.getSubscription = async () => null;
  PushManager.prototype.subscribe = () => new Promise(() => {});
  Object.defineProperty(Notification, "permission", { get: () => "granted" });
  Notification.requestPermission = async () => "granted";
"""


def test_a_push_service_that_never_replies_is_reported(visit: Visit):
    page = visit.open("/notifications")
    page.context.add_init_script(f"(() => {{ {UNREACHABLE} }})()")
    page.clock.install()
    page.reload()
    button = page.get_by_role("button", name="Turn on in this browser")
    button.press("Enter")
    problem = page.locator("#push-problem")
    expect(problem).to_have_text("Connecting to the browser's push service…")
    page.clock.fast_forward(20_000)
    expect(problem).to_contain_text("The browser's push service can't be reached.")
    expect(button).to_be_enabled()
    expect(button).to_be_focused()
