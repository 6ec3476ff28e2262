"""JP's files and an open page: what jp does to a workspace, and what is written into one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, TurnStart
from tests.browser.conftest import DEMO
from tests.browser.pages import (
    Visit,
    answer_all,
    composer,
    connected,
    inquiries,
    last_words,
    path_of,
    staying,
)
from tests.builders import answered, asked, called, returned, stream
from tests.machine.browsing import Pages
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.serving import ROOT, Server

pytestmark = pytest.mark.browser

SOON = 30_000
CONVERSATION = re.compile(r"/conversations/\d+$")
REAL = ROOT.parent / "shared" / "workspace"
RELEASE = "Release 1.4 of the orchard planner"


class Garden:
    """A workspace with a silo, a server that follows it, and a jp in its terminal."""

    def __init__(self, folder: Path, live: Live) -> None:
        self.root = folder / "garden"
        self.silo = folder / "jp" / "workspace" / "garden-abcde"
        self.homes = [self.silo / "conversations", self.root / ".jp" / "conversations"]
        for home in self.homes:
            home.mkdir(parents=True)
        (self.root / ".jp" / ".id").write_text("abcde\n")
        self._live = live
        self._data = folder / "jp"

    def serve(self) -> Server:
        own = str(self._data)
        return self._live(workspace=self.root, JPWEB_SCRIPT_PACE="0", JP_USER_DATA_DIR=own)

    def hold(self, source: Path) -> None:
        """Copy a conversation into the workspace alone, as a repository has it after a clone."""
        shutil.copytree(source, self.homes[1] / source.name)

    @property
    def copies(self) -> list[Path]:
        """The folders of the one conversation."""
        return [folder for home in self.homes for folder in home.glob("[0-9]*")]

    @property
    def lock(self) -> Path:
        (ds,) = {folder.name.partition("-")[0] for folder in self.copies}
        return self.silo / "locks" / f"jp-c{ds}.lock"

    def jp(self, action: str, *kinds: EventKind) -> None:
        """Let another process do something to the conversation."""
        wait_until(lambda: not self.lock.exists(), "nobody holds the conversation")
        words = [sys.executable, "-m", "tests.browser.query", action, str(self.lock)]
        words += [str(copy) for copy in self.copies]
        elements = "[" + ",".join(element.raw for element in stream(*kinds)) + "]"
        subprocess.run(words, input=elements, text=True, check=True, cwd=ROOT)


@pytest.fixture
def garden(tmp_path: Path, live: Live) -> Garden:
    return Garden(tmp_path, live)


@pytest.fixture
def release(garden: Garden, visiting: Callable[[Server], Visit]) -> Page:
    """Return the page of a conversation that is followed."""
    garden.hold(next((DEMO / "conversations").glob("*-release-*")))
    visit = visiting(garden.serve())
    page = visit.open()
    page.locator(".row", has_text="garden").get_by_role("link", name=RELEASE).click()
    page.wait_for_url(CONVERSATION)
    connected(page)
    return page


def test_what_jp_appends_is_on_the_open_page(garden: Garden, release: Page):
    asking = (called("c9"), asked("c9.q.1", "Shall I dig here?"))
    before = inquiries(release).count()
    with staying(release):
        garden.jp("append", TurnStart(), ChatRequest("And the pond?"), *asking)
        expect(release.locator("article.person").last).to_contain_text("pond?", timeout=SOON)
        expect(inquiries(release)).to_have_count(before + 1)
        expect(inquiries(release).last).to_have_attribute("data-outcome", "open")
        garden.jp(
            "append", answered("c9.q.1"), returned("c9"), ChatResponse("message", "It is dug.")
        )
        expect(last_words(release)).to_contain_text("It is dug.", timeout=SOON)
        expect(inquiries(release)).to_have_count(before + 1)
        expect(inquiries(release).last).to_have_attribute("data-outcome", "answered")


def test_a_file_that_jp_rewrote_is_on_the_open_page_as_it_is_now(
    garden: Garden, release: Page, open_page: Pages
):
    open_page.forgive(r"404 \(Not Found\).*\?at=")  # it asks for its place, which may be gone
    with staying(release):
        garden.jp(
            "rewrite", TurnStart(), ChatRequest("Anew"), ChatResponse("message", "As you say.")
        )
        expect(last_words(release)).to_contain_text("As you say.", timeout=SOON)
        expect(release.locator("article.said")).to_have_count(2)
        expect(release.locator("[data-count=events]")).to_have_text("3")


def test_a_conversation_that_jp_removed_stays_and_is_marked(garden: Garden, release: Page):
    said = release.locator("article.said")
    before = said.all_inner_texts()
    with staying(release):
        garden.jp("remove")
        expect(release.locator("#facts")).to_contain_text("removed by jp, kept", timeout=SOON)
    assert said.count() == len(before) > 0
    release.get_by_role("link", name="← Conversations").click()
    row = release.locator(".row", has_text="garden")
    expect(row).to_contain_text("removed by jp, kept here")


@pytest.mark.skipif(not (REAL / ".jp").is_dir(), reason="the workspace of JP itself is not here")
def test_a_real_workspace_is_followed(garden: Garden, visiting: Callable[[Server], Visit]):
    streams = REAL.glob(".jp/conversations/[0-9]*/events.json")
    garden.hold(min(streams, key=lambda file: file.stat().st_size).parent)
    page = visiting(garden.serve()).open()
    page.locator(".row", has_text="garden").locator(".row-link").click()
    page.wait_for_url(CONVERSATION)
    connected(page)
    with staying(page):
        garden.jp("append", TurnStart(), ChatResponse("message", "One word more."))
        expect(last_words(page)).to_contain_text("One word more.", timeout=SOON)


def checked(file: Path) -> Any:
    words = [sys.executable, "manage.py", "check_stream", str(file), "--json"]
    own = os.environ | {"JPWEB_DATA": str(file.parents[4] / "unused"), "JPWEB_SECRET_KEY": "unused"}
    done = subprocess.run(words, cwd=ROOT, env=own, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_a_conversation_begun_here_is_in_the_workspace_and_jp_goes_on_with_it(
    garden: Garden, visiting: Callable[[Server], Visit]
):
    visit = visiting(garden.serve())
    page = visit.open()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="People of garden").click()
    page.get_by_label("Write conversations run here").select_option("current")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Writing into")).to_be_visible()
    assert garden.copies == [], "nothing is written before a conversation is run"
    page.goto(f"{visit.server.url}/conversations/new")
    visit.begin_on(page, "Dig a pond", "garden")
    answer_all(page, "hunter2-canary")
    wait_until(lambda: len(garden.copies) == len(garden.homes), "both homes have it")
    wait_until(lambda: not garden.lock.exists(), "the run lets go")
    exported = visit.home.owner.get(f"{path_of(page)}/export/jp").text
    for copy in garden.copies:
        found = checked(copy / "events.json")
        assert (found["faithful"], found["repair"], found["turns"]) == (True, [], 1)
        assert found["inquiries"] == {"answered": 3, "redacted": 1}
        assert (copy / "events.json").read_text() == exported
    with staying(page):
        garden.jp(
            "append", TurnStart(), ChatRequest("Deeper"), ChatResponse("message", "Deeper it is.")
        )
        expect(last_words(page)).to_contain_text("Deeper it is.", timeout=SOON)
        expect(composer(page)).to_be_visible()
    assert "differs" not in visit.home.owner.get(path_of(page)).text
