"""JP's files and an open page: what jp does to a workspace, and what is written into one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, TurnStart
from tests.browser.conftest import DEMO
from tests.browser.pages import (
    Home,
    Visit,
    answer_all,
    find_composer,
    find_inquiries,
    last_words,
    path_of,
    serve_home,
    stay_on_page,
    wait_until_connected,
)
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.machine.browsing import Pages
from tests.machine.ports import wait_until
from tests.machine.serving import ROOT, Server

pytestmark = pytest.mark.browser

SOON = 30_000
REAL = ROOT.parent / "shared" / "workspace"
#: JP's numbers of the conversations, none of which two tests share.
_NUMBERS = count(17_690_000_000)


@dataclass(frozen=True)
class Garden:
    """A workspace with a silo, and a jp in its terminal that works on one conversation."""

    folder: Path
    #: The pattern of the conversation's folders.
    pattern: str = "[0-9]*"

    @property
    def root(self) -> Path:
        return self.folder / "garden"

    @property
    def silo(self) -> Path:
        return self.folder / "jp" / "workspace" / "garden-abcde"

    @property
    def homes(self) -> list[Path]:
        return [self.silo / "conversations", self.root / ".jp" / "conversations"]

    def make_server(self) -> Server:
        """Make the workspace, and a server that follows it and is not started yet."""
        for home in self.homes:
            home.mkdir(parents=True)
        (self.root / ".jp" / ".id").write_text("abcde\n")
        settings = {"JPWEB_SCRIPT_PACE_SECONDS": "0", "JP_USER_DATA_DIR": str(self.folder / "jp")}
        return Server(self.folder / "data", workspace=self.root, settings=settings)

    def hold(self, source: Path, number: int, title: str) -> Garden:
        """Copy a conversation into the workspace alone, as a repository has it after a clone.

        Returns the garden whose jp works on the copy.
        """
        copy_folder = self.homes[1] / f"{number}-copy"
        # A mirror reads a folder once its name is there, so its files come first.
        aside = shutil.copytree(source, self.folder / copy_folder.name)
        metadata = json.loads((source / "metadata.json").read_text()) | {"title": title}
        (aside / "metadata.json").write_text(json.dumps(metadata))
        aside.rename(copy_folder)
        return replace(self, pattern=copy_folder.name)

    @property
    def copies(self) -> list[Path]:
        """The folders of the one conversation."""
        return [folder for home in self.homes for folder in home.glob(self.pattern)]

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


@pytest.fixture(scope="module")
def served_garden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Garden, Home]]:
    """Serve a garden in which each test follows a conversation of its own."""
    garden = Garden(tmp_path_factory.mktemp("served"))
    with serve_home(garden.make_server()) as home:
        yield garden, home


@pytest.fixture
def title() -> str:
    """Return a title that no other conversation has."""
    return f"Release {next(_NUMBERS)}"


@pytest.fixture
def garden(served_garden: tuple[Garden, Home], title: str) -> Garden:
    """Put a copy of one of the demo's conversations into the served garden."""
    source = next((DEMO / "conversations").glob("*-release-*"))
    return served_garden[0].hold(source, next(_NUMBERS), title)


@pytest.fixture
def release(
    garden: Garden,  # it is there before the page
    served_garden: tuple[Garden, Home],
    title: str,
    open_page: Pages,
) -> Page:
    """Return the page of a conversation that is followed."""
    return follow(Visit(served_garden[1], open_page), title)


def follow(visit: Visit, title: str) -> Page:
    """Open a conversation once it is mirrored."""
    listed = "/conversations"
    wait_until(lambda: title in visit.home.owner.get(listed).text, f"{title} is listed")
    page = visit.open(visit.find(title))
    wait_until_connected(page)
    return page


# A file that grows is followed in live/test_follow, a call that changes in test_following
# (tests/web/transcript); test_silo (tests/store/jp_files) has both homes.
@pytest.mark.proof
def test_events_appended_by_jp_appear_on_the_open_page(garden: Garden, release: Page):
    kinds = (make_call("c9"), make_inquiry("c9.q.1", "Shall I dig here?"))
    before = find_inquiries(release).count()
    with stay_on_page(release):
        garden.jp("append", TurnStart(), ChatRequest("And the pond?"), *kinds)
        expect(release.locator("article.person").last).to_contain_text("pond?", timeout=SOON)
        expect(find_inquiries(release)).to_have_count(before + 1)
        expect(find_inquiries(release).last).to_have_attribute("data-outcome", "open")
        garden.jp(
            "append",
            make_answer("c9.q.1"),
            make_result("c9"),
            ChatResponse("message", "It is dug."),
        )
        expect(last_words(release)).to_contain_text("It is dug.", timeout=SOON)
        expect(find_inquiries(release)).to_have_count(before + 1)
        expect(find_inquiries(release).last).to_have_attribute("data-outcome", "answered")


@pytest.mark.proof  # tests/web/transcript/test_following sends it
def test_a_file_that_jp_rewrote_is_on_the_open_page_as_it_is_now(
    garden: Garden, release: Page, open_page: Pages
):
    open_page.forgive(r"404 \(Not Found\).*\?at=")  # it asks for its place, which may be gone
    with stay_on_page(release):
        garden.jp(
            "rewrite", TurnStart(), ChatRequest("Anew"), ChatResponse("message", "As you say.")
        )
        expect(last_words(release)).to_contain_text("As you say.", timeout=SOON)
        expect(release.locator("article.message")).to_have_count(2)
        expect(release.locator("[data-count=events]")).to_have_text("3")


@pytest.mark.proof  # tests/web/transcript/test_consumers has the mark of a page
def test_a_conversation_that_jp_removed_stays_and_is_marked(
    garden: Garden, release: Page, title: str
):
    articles = release.locator("article.message")
    before = articles.all_inner_texts()
    with stay_on_page(release):
        garden.jp("remove")
        expect(release.locator("#metadata")).to_contain_text("Deleted in jp", timeout=SOON)
    assert articles.count() == len(before) > 0
    release.locator(".page-header .back:not([data-neighbour])").click()
    row = release.locator(".row", has_text=title)
    expect(row).to_contain_text("Deleted in jp; kept here")


@pytest.mark.proof  # the demo's is followed in make test
@pytest.mark.skipif(not (REAL / ".jp").is_dir(), reason="the workspace of JP itself is not here")
def test_a_real_workspace_is_followed(
    served_garden: tuple[Garden, Home], title: str, open_page: Pages
):
    streams = REAL.glob(".jp/conversations/[0-9]*/events.json")
    smallest = min(streams, key=lambda file: file.stat().st_size).parent
    garden = served_garden[0].hold(smallest, next(_NUMBERS), title)
    page = follow(Visit(served_garden[1], open_page), title)
    with stay_on_page(page):
        garden.jp("append", TurnStart(), ChatResponse("message", "One word more."))
        expect(last_words(page)).to_contain_text("One word more.", timeout=SOON)


def checked(file: Path) -> Any:
    words = [sys.executable, "manage.py", "check_stream", str(file), "--json"]
    environment = os.environ | {
        "JPWEB_DATA": str(file.parents[4] / "unused"),
        "JPWEB_SECRET_KEY": "unused",
    }
    result = subprocess.run(
        words, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(result.stdout)


@pytest.mark.proof  # tests/runtime/scenarios/test_written_conversations has it
def test_jp_continues_a_conversation_that_was_started_here(tmp_path: Path, open_page: Pages):
    garden = Garden(tmp_path)
    with serve_home(garden.make_server()) as home:
        _check_conversation_begun_here(garden, Visit(home, open_page))
        open_page.close()


def _check_conversation_begun_here(garden: Garden, visit: Visit) -> None:
    page = visit.open()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="People of garden").click()
    page.get_by_label("Save web conversations to the workspace").select_option("current")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Save web conversations to")).to_be_visible()
    assert garden.copies == [], "nothing is written before a conversation is run"
    page.goto(f"{visit.server.url}/conversations/new")
    visit.begin_on(page, "Dig a pond", "garden")
    answer_all(page, "hunter2-canary")
    wait_until(lambda: len(garden.copies) == len(garden.homes), "both homes have it")
    wait_until(lambda: not garden.lock.exists(), "the run lets go")
    exported = visit.home.owner.get(f"{path_of(page)}/export/jp").text
    for copy in garden.copies:
        assert (copy / "events.json").read_text() == exported
    report = checked(garden.copies[0] / "events.json")
    assert (report["faithful"], report["repair"], report["turns"]) == (True, [], 1)
    assert report["inquiries"] == {"answered": 3, "redacted": 1}
    with stay_on_page(page):
        garden.jp(
            "append", TurnStart(), ChatRequest("Deeper"), ChatResponse("message", "Deeper it is.")
        )
        expect(last_words(page)).to_contain_text("Deeper it is.", timeout=SOON)
        expect(find_composer(page)).to_be_visible()
    assert "differs" not in visit.home.owner.get(path_of(page)).text
