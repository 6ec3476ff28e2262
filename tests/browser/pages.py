"""What a person does on the pages, in their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.machine.browsing import Pages
from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.machine.visiting import Visitor

BOOLEAN, SELECT, TEXT, SECRET = TYPES = ("boolean", "select", "text", "secret")
REPORT = "autumn, “Bäume”.md"
#: What a browser complains of while its server cannot be reached.
DOWN = (
    "WebSocket connection|ERR_CONNECTION_(REFUSED|RESET)|ERR_SOCKET_NOT_CONNECTED"
    "|ERR_EMPTY_RESPONSE|^.object Event."
)
#: The path of the form for a conversation, and words on a page while a turn is under way.
NEW, RUNNING = "/conversations/new", "Running · "
_LINK = re.compile(r"data-link>([^<]+)<")
_WORKSPACE = re.compile(r'href="/workspaces/(\d+)/people">People<[^>]+> of ([^<]+)<')


class Home:
    """An installation and the sign-ins of its people, who each use their link up once."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.owner = self.sign_in(server.link)
        self._workspaces: dict[str, str] = {}
        #: The paths of conversations that were found, by the beginnings of their titles.
        self.path_by_title: dict[str, str] = {}

    def sign_in(self, link: str) -> Visitor:
        """Use a link up."""
        visitor = Visitor(self.server.url)
        reply = visitor.sign_in(link)
        assert (reply.status, reply.url) == (200, f"{self.server.url}/")
        return visitor

    def invite(self, name: str, role: str, workspace: str = "Demo") -> Visitor:
        """Make somebody a member, and sign them in."""
        people = f"/workspaces/{self.workspaces()[workspace]}/people"
        number = re.search(
            rf'<option value="(\d+)">{role.capitalize()}<', self.owner.get(people).text
        )
        assert number, f"no role {role}"
        reply = self.owner.post_again(f"{people}/invite", people, name=name, role=number[1])
        link = _LINK.search(reply.text)
        assert link, f"no link for {name}"
        visitor = Visitor(self.server.url)
        assert visitor.post("/join", "/join", code=link[1], do="join").status == 200
        return visitor

    def workspaces(self) -> dict[str, str]:
        """Return the keys of the workspaces, which stay the same, by name."""
        if not self._workspaces:
            listed = _WORKSPACE.findall(self.owner.get("/settings").text)
            self._workspaces = {name: key for key, name in listed}
        return self._workspaces


@contextmanager
def serve_home(server: Server, seconds: float = 60) -> Iterator[Home]:
    """Run a server that many tests visit, and end it even where its start or a test raises.

    Raises AssertionError at the end if the server has logged an error.
    """
    try:
        yield Home(server.start(seconds))
    finally:
        server.close()
    assert " ERROR " not in server.log_text(), server.log_text()[-4000:]


@dataclass
class Visit:
    """One test's time at an installation."""

    home: Home
    pages: Pages
    begun_paths: list[str] = field(default_factory=list)

    @property
    def server(self) -> Server:
        return self.home.server

    def sign_in(self, *, who: Visitor | None = None, **look: Any) -> Page:
        """Open an empty page as a person who is signed in: the owner unless told otherwise."""
        page = self.pages(**look)
        cookies = [
            {"name": cookie.name, "value": cookie.value or "", "url": self.server.url}
            for cookie in (who or self.home.owner).cookies
        ]
        page.context.add_cookies(cookies)  # type: ignore[arg-type]  # a TypedDict of these keys
        return page

    def open(
        self, path: str = "/conversations", *, who: Visitor | None = None, **look: Any
    ) -> Page:
        """Open a page as a person who is signed in: the owner unless told otherwise."""
        page = self.sign_in(who=who, **look)
        page.goto(self.server.url + path)
        return page

    def find(self, title: str) -> str:
        """Return the path of the one listed conversation whose title begins so, which it keeps."""
        if title not in self.home.path_by_title:
            self.home.path_by_title[title] = self._find(title)
        return self.home.path_by_title[title]

    def _find(self, title: str) -> str:
        listed = self.home.owner.get(f"/conversations?{urlencode({'q': title})}").text
        match = re.search(rf'href="(/conversations/\d+)[^<]*>[^<]*(?:<(?!/a)[^<]*)*{title}', listed)
        assert match, f"{title} is not listed"
        return match[1]

    def begin(self, text: str = "Show me", *, workspace: str = "Demo", **look: Any) -> Page:
        """Start a conversation as a program does; returns its page."""
        return self.open(self.begin_unseen(text, workspace), **look)

    def begin_unseen(self, text: str, workspace: str = "Demo") -> str:
        """Start a conversation as a program does; returns its path."""
        path = self.home.owner.begin(self.home.workspaces()[workspace], text)
        self.begun_paths.append(path)
        return path

    def begin_on(self, page: Page, text: str, workspace: str = "Demo") -> None:
        """Start a conversation with the form on a page."""
        choose_workspace(page, workspace)
        page.get_by_label("First message").fill(text)
        page.get_by_role("button", name="Start").click()
        page.wait_for_url(re.compile(r"/conversations/\d+"))
        self.begun_paths.append(path_of(page))

    def leave(self) -> None:
        """Stop what was begun, so that nothing waits when the next test comes.

        The pages are closed first: what they would show of the end is no test's fact.
        """
        self.pages.close()
        for path in self.begun_paths:
            reply = self.home.owner.post_again(f"{path}/stop", NEW)
            if RUNNING in reply.text:
                wait_until(partial(self._has_ended, path), f"{path} ends")

    def _has_ended(self, path: str) -> bool:
        return RUNNING not in self.home.owner.get(path).text


def choose_workspace(page: Page, workspace: str) -> None:
    """Choose a workspace on the form for a new conversation; who plays there stands behind it."""
    field = page.get_by_label("Workspace")
    option = field.get_by_role("option", name=re.compile(rf"^{workspace}\b"))
    field.select_option(option.get_attribute("value"))


def path_of(page: Page) -> str:
    """Return the path of a page."""
    return re.sub(r"^\w+://[^/]+|[?#].*$", "", page.url)


def number_of(page: Page) -> int:
    """Return the key of the conversation on a page."""
    return int(path_of(page).rpartition("/")[2])


def find_cards(page: Page, kind: str = "") -> Locator:
    """Return the open cards, of an answer type."""
    return page.locator(f"#inbox {_card(kind)}")


def find_card(page: Page, kind: str) -> Locator:
    """Wait for the one open card of an answer type, on the desk or on a page of its own."""
    locator = page.locator(_card(kind))
    expect(locator).to_have_count(1)
    return locator


def _card(kind: str) -> str:
    return ".card[data-outcome=open]" + (f"[data-answer-type={kind}]" if kind else "")


def answer_question(page: Page, kind: str, value: str) -> None:
    """Answer the open question of an answer type, by mouse."""
    fill_card(find_card(page, kind), kind, value)
    expect(page.locator(_card(kind))).to_have_count(0)


def fill_card(card: Locator, kind: str, value: str) -> None:
    """Answer on a card: a press of the option's button, or a text that is sent."""
    if kind in (BOOLEAN, SELECT):
        find_option(card, value).click()
    else:
        card.locator("[name=answer]").fill(value)
        card.get_by_role("button", name="Answer").click()


def find_option(card: Locator, value: str) -> Locator:
    """Return the button of a card that sends an answer; the default's name says so."""
    return card.get_by_role("button", name=re.compile(f"^{re.escape(value)}( default)?$"))


def decline_question(page: Page, kind: str) -> None:
    """Decline the open question of an answer type, with the reason that its card holds."""
    press_decline(find_card(page, kind))
    expect(page.locator(_card(kind))).to_have_count(0)


def press_decline(card: Locator, name: str = "Decline") -> None:
    """Press the button that declines a question, or denies an approval."""
    open_decline(card)
    card.get_by_role("button", name=name, exact=True).click()


def open_decline(card: Locator) -> Locator:
    """Open the fold in which a card is declined, and return the field for the reason."""
    fold = card.locator("details.decline")
    if fold.get_attribute("open") is None:
        fold.locator("> summary").click()
    return fold.get_by_label("Reason (optional")


def answer_all(page: Page, secret: str) -> None:
    """Answer the four questions of the script, and wait for its end."""
    answer_question(page, BOOLEAN, "Yes")
    answer_question(page, SELECT, "without a backup")
    answer_question(page, TEXT, REPORT)
    answer_question(page, SECRET, secret)
    expect(find_composer(page)).to_be_visible()


def reload_until(page: Page, selector: str) -> None:
    """Reload a page without scripts until it has an element."""

    def has_come() -> bool:
        if page.locator(selector).count():
            return True
        page.reload()
        return False

    wait_until(has_come, f"{selector} has come")


def send_message(page: Page, text: str) -> None:
    """Say something in the conversation on the page."""
    find_composer(page).fill(text)
    page.get_by_role("button", name="Send").click()


def find_composer(page: Page) -> Locator:
    """Return the field in which a person goes on; it is there when nothing runs."""
    return page.get_by_label("Message", exact=True)


def find_run_status(page: Page, text: str) -> Locator:
    """Return what the page shows of the run's state; screen readers hear it besides."""
    return page.locator("#run-status").get_by_text(text)


def last_words(page: Page) -> Locator:
    """Return what the assistant said last."""
    return page.locator("article.assistant[data-variant=message]").last


def find_inquiries(page: Page) -> Locator:
    """Return the inquiries of the transcript, each in its tool call."""
    return page.locator("[data-kind=tool_call_request] [data-kind=inquiry_request]")


def find_waiting_count(page: Page) -> Locator:
    """Return the count in the navigation."""
    return page.locator("#question-count")


def give_time(page: Page, seconds: int = 60) -> Page:
    """Let answers of a page wait: five seconds outside of tests, a minute on a slow machine."""
    page.evaluate("seconds => { document.body.dataset.undoSeconds = seconds }", seconds)
    page.clock.install()
    return page


def wait_until_connected(page: Page) -> None:
    """Wait until the page has its socket."""
    state = "document.body?.['htmx-internal-data']?.webSocket?.socket?.readyState"
    wait_until(lambda: page.evaluate(state) == 1, "the page has its socket")


@contextmanager
def stay_on_page(page: Page) -> Iterator[None]:
    """Check that the page neither reloads nor goes elsewhere; its folds may be in its address."""
    urls: list[str] = []
    path = path_of(page)

    def note(_frame: Any) -> None:
        if path_of(page) != path:
            urls.append(page.url)

    page.on("framenavigated", note)
    page.evaluate("window.unbroken = true")
    yield
    assert page.evaluate("window.unbroken") is True
    assert urls == []
    page.remove_listener("framenavigated", note)
