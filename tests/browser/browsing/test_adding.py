"""A workspace is added on the page, which tells how far reading it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from jpweb.stream.events import ChatResponse
from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit, serve_home, stay_on_page
from tests.builders import stream
from tests.load import synthetic
from tests.machine.browsing import Pages
from tests.machine.serving import Server
from tests.store.making import write_folder

pytestmark = pytest.mark.browser

#: Events of a conversation that takes some seconds to read, and the short ones before it.
LENGTH, SHORT_COUNT = 24_000, 3
#: Milliseconds in which the watcher has found and read the workspace on a slow machine.
PATIENCE_MS = 180_000


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
            expect(files).to_contain_text("Reading conversations: 0 of 4")
            check_accessibility(page)
            expect(files).to_contain_text("3 of 4", timeout=PATIENCE_MS)
            expect(files.get_by_role("progressbar")).to_have_attribute("value", "3")
            expect(files.get_by_role("status")).to_contain_text(
                "Reading finished: 4 conversations.", timeout=PATIENCE_MS
            )
        files.get_by_role("link", name="Show them").click()
        expect(page.locator(".row")).to_have_count(SHORT_COUNT + 1)
        expect(page.locator(".row").first).to_contain_text(f"{LENGTH} events")
        open_page.close()
