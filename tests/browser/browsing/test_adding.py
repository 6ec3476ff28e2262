"""A workspace is added on the page, which tells how far reading it is."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Locator, Page, Route, expect

from jpweb.store.choices import FilesState
from jpweb.store.jp_files.pass_progress import FilesReport
from jpweb.store.models import Workspace
from jpweb.stream.events import ChatResponse
from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit, serve_home, stay_on_page
from tests.builders import stream
from tests.load import synthetic
from tests.machine.browsing import Pages
from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.store.making import write_folder

pytestmark = pytest.mark.browser

#: Events of a conversation that takes some seconds to read, and the short ones before it.
LENGTH, SHORT_COUNT = 24_000, 3
#: Seconds in which the watcher has found and read the workspace on a slow machine, and milliseconds
#: after which a page asks how far it is.
PATIENCE_SECONDS, POLL_MS = 180, 2_000


def wait_for_text(page: Page, files: Locator, text: str) -> None:
    """Wait until the page says so by itself; its clock runs ahead."""

    def is_shown() -> bool:
        page.clock.run_for(POLL_MS)
        return text in files.inner_text()

    wait_until(is_shown, text, PATIENCE_SECONDS)


@pytest.mark.proof  # reads 24,000 events; test_addition (tests/web) has each state
def test_a_workspace_added_on_the_page_is_read_before_ones_eyes(tmp_path: Path, open_page: Pages):
    root = synthetic.write_workspace(tmp_path / "orchard", LENGTH)
    for number in range(SHORT_COUNT):
        write_folder(root, f"1700000000{number}-short", stream(ChatResponse("message", "One")))
    settings = {"JP_USER_DATA_DIR": str(tmp_path / "none"), "JPWEB_WORKSPACE_ROOTS": str(tmp_path)}
    with serve_home(Server(tmp_path / "data", settings=settings)) as home:
        page = Visit(home, open_page).open("/settings")
        page.get_by_role("link", name="Add a workspace").click()
        page.get_by_label("Folder").fill(str(root))
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Add", exact=True).click()
        files = page.get_by_role("row", name="orchard").locator(".files")
        with stay_on_page(page):
            expect(files).to_contain_text(re.compile("Reading conversations: [0-3] of 4"))
            expect(files.get_by_role("progressbar")).to_have_attribute("max", "4")
            page.clock.install()
            wait_for_text(page, files, "3 of 4")
            check_accessibility(page)
            wait_for_text(page, files, "Reading finished: 4 conversations.")
            expect(files.get_by_role("status")).to_be_visible()
        files.get_by_role("link", name="Show them").click()
        expect(page.locator(".row")).to_have_count(SHORT_COUNT + 1)
        expect(page.locator(".row").first).to_contain_text(f"{LENGTH} events")
        open_page.close()


def render_files(workspace_id: int, done_count: int) -> str:
    """Return the state of files that are read while an earlier pass has left a note."""
    report = FilesReport(FilesState.READING, done_count, 9, notes=("A note.",), unreadable_count=1)
    workspace = Workspace(pk=workspace_id, name="Demo")
    context = {"workspace": workspace, "files": report, "is_owner": True}
    return render_to_string("settings/_files.html", context)


def test_notes_stay_open_and_focused_while_files_are_read(visit: Visit):
    key = int(visit.home.workspaces()["Demo"])
    page = visit.open("/settings")
    counter = count(2)

    def reply(route: Route) -> None:
        route.fulfill(content_type="text/html", body=render_files(key, next(counter)))

    page.route(re.compile(rf"/workspaces/{key}/files"), reply)
    files = page.locator(f"#files-{key}")
    page.clock.install()
    files.evaluate(
        "(files, html) => htmx.swap(files, html, { swapStyle: 'outerHTML' })", render_files(key, 1)
    )
    summary = files.get_by_text("1 note")
    summary.click()
    page.clock.run_for(POLL_MS)
    expect(files).to_contain_text("2 of 9")
    expect(files.get_by_text("A note.")).to_be_visible()
    expect(summary).to_be_focused()
    check_accessibility(page, f"#files-{key}")
    link = files.get_by_role("link")
    link.focus()
    page.clock.run_for(POLL_MS)
    expect(files).to_contain_text("3 of 9")
    expect(link).to_be_focused()
