"""The sample workspace as somebody serves it, and a model that says what a test tells it to."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import Home, Visit
from tests.machine.browsing import Pages
from tests.machine.ports import wait_until
from tests.machine.serving import ROOT, Server
from tests.machine.vendors import Script, Standin

SAMPLE = ROOT / "tests" / "samples" / "workshop"
NAME = SAMPLE.name
#: The key is in the server's environment; whatever jpweb shows or keeps must not hold it.
KEY = "sk-ant-a-key-that-nobody-sees"
ENVIRONMENT = {"ANTHROPIC_API_KEY": KEY, "JPWEB_LOG_LEVEL": "DEBUG"}
#: A tool beside the sample's, configured in the overrides: it says what it is told, once it may.
ECHO = """
[conversation.tools.echo]
source = "local"
command = "sh tools/echo.sh {{tool.arguments.words}}"
summary = "Say something."
run = "ask"

[conversation.tools.echo.parameters.words]
type = "string"
required = true
"""
#: While a file of this name is in the workspace, its tools do not end.
HOLD = "hold"
#: The tool of the sample's MCP server.
MCP_TOOL = "book_table"
_ECHO = f"while [ -e {HOLD} ]; do sleep 0.02; done\nprintf '%s' \"$1\"\n"
_HELD = f'import time\n\nwhile Path("{HOLD}").exists():\n    time.sleep(0.02)\nproof ='
_THING = re.compile(r'name="item" value="([^"]+)"')
_SEEN = re.compile(r'name="overrides_hash" value="([^"]*)"')


@dataclass
class Shop:
    """A served copy of the sample workspace."""

    root: Path
    model: Standin
    server: Server
    _home: list[Home] = field(default_factory=list)

    @property
    def home(self) -> Home:
        if not self._home:
            self._home.append(Home(self.server))
        return self._home[0]

    @property
    def page(self) -> str:
        """The path of its page of tools."""
        return f"/workspaces/{self.home.workspaces()[NAME]}/tools"

    @property
    def overrides(self) -> str:
        """What an owner types to have the stand-in play, failures being told at once."""
        return (
            'assistant.model.id = "anthropic/claude-sonnet-4-6"\n'
            "assistant.request.max_retries = 0\n"
            f'providers.llm.anthropic.base_url = "{self.model.base_url}"\n'
        )

    @property
    def hold(self) -> Path:
        """The file that keeps tools from ending while it is there."""
        return self.root / HOLD

    def open_up(self) -> None:
        """Do what an owner does on the page of tools before anything runs; add one tool.

        The tool of the MCP server is off in the end: that server starts with each turn that offers
        its tool, and takes 1 s of processor.
        """
        owner, page = self.home.owner, self.page
        self.switch(MCP_TOOL, is_on=True)
        self._save_overrides(self.overrides + ECHO)
        for thing in _THING.findall(owner.get(page).text):
            owner.post_again(f"{page}/trust", page, item=thing)
        assert owner.get(page).text.count('data-offered="no"') == 0, "something is not offered"
        self.switch(MCP_TOOL, is_on=False)

    def undo_trust(self) -> None:
        """Withdraw what ``open_up`` has trusted, and remove the overrides; the tools are on."""
        owner, page = self.home.owner, self.page
        for thing in _THING.findall(owner.get(page).text):
            owner.post_again(f"{page}/withdraw", page, item=thing)
        self._save_overrides("")
        self.switch(MCP_TOOL, is_on=True)

    def _save_overrides(self, text: str) -> None:
        owner, page = self.home.owner, self.page
        match = _SEEN.search(owner.get(page).text)
        assert match, "no form for overrides"
        owner.post_again(f"{page}/overrides", page, overrides=text, overrides_hash=match[1])

    def switch(self, tool: str, *, is_on: bool) -> None:
        """Switch a tool on or off."""
        state = "on" if is_on else "off"
        self.home.owner.post_again(f"{self.page}/switch", self.page, tool=tool, to=state)

    def set_replies(self, *replies: Script) -> None:
        """Tell the model what to say next, and forget what it was asked."""
        self.model.replies[:] = replies
        self.model.requests.clear()
        self.model.request_event.clear()
        self.model.hangup_event.clear()


@dataclass
class Stay(Visit):
    """A visit to a workshop."""

    shop: Shop = field(kw_only=True)

    @property
    def model(self) -> Standin:
        return self.shop.model

    def ask(self, text: str, *replies: Script, page: Page | None = None) -> Page:
        """Begin a conversation in the workshop, in which the model says these."""
        self.shop.set_replies(*replies)
        if page is None:
            return self.begin(text, workspace=NAME)
        page.goto(f"{self.server.url}/conversations/new")
        self.begin_on(page, text, workspace=NAME)
        return page

    def leave(self) -> None:
        """Let go of tools that are held, and stop what was begun."""
        self.shop.hold.unlink(missing_ok=True)
        super().leave()

    def wait_for_requests(self, count: int) -> None:
        """Wait until the model was asked so often."""
        wait_until(partial(self._at_least, count), f"the model was asked {count} times")

    def _at_least(self, count: int) -> bool:
        return len(self.model.requests) >= count


def copy_sample(folder: Path) -> Path:
    """Copy the sample; its MCP server runs with the Python of the tests, and tools can be held."""
    root = folder / NAME
    shutil.copytree(SAMPLE, root, ignore=shutil.ignore_patterns("__pycache__"))
    _change(root / ".jp" / "config.toml", "../../../.venv/bin/python", sys.executable)
    tools = root / "tools"
    (tools / "echo.sh").write_text(_ECHO)
    _change(tools / "deploy.py", "proof =", _HELD)
    _change(tools / "wild.sh", "sleep 600", "sleep 3")  # so that nothing outlives the tests
    return root


def _change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def visit_workshop(shop: Shop, pages: Pages) -> Stay:
    """Visit a workshop."""
    return Stay(shop.home, pages, shop=shop)


def find_call(page: Page, tool: str) -> Locator:
    """Return the one call of a tool in the transcript."""
    locator = page.locator(f"[data-kind=tool_call_request][data-tool={tool}]")
    expect(locator).to_have_count(1)
    return locator


def find_question(page: Page, words: str) -> Locator:
    """Wait for the open card that asks in these words."""
    locator = page.locator(".card[data-question]").filter(has_text=words)
    expect(locator).to_have_count(1)
    return locator


def find_prompt(page: Page, kind: str) -> Locator:
    """Wait for the one open card of a kind of prompt."""
    locator = page.locator(f".card[data-outcome=open][data-approval-kind={kind}]")
    expect(locator).to_have_count(1)
    return locator
