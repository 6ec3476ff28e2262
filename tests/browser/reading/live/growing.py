"""A conversation of jp's that grows while pages show it."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path

from playwright.sync_api import Page, expect

from jpweb.stream import timestamps
from tests.browser.pages import Visit
from tests.load import synthetic
from tests.machine.ports import wait_until

LENGTH = 300
IDS = "[...document.querySelectorAll('[id]')].map(each => each.id)"
#: JP's numbers of the conversations, none of which two tests share.
_NUMBERS = count(17_680_000_000)


class Growing:
    """A conversation of jp's that grows, in the workspace that a visited server follows."""

    def __init__(self, visit: Visit, scratch: Path, length: int) -> None:
        self.visit = visit
        self._title = f"Growing {next(_NUMBERS)}"
        assert visit.server.workspace is not None
        folder = visit.server.workspace / ".jp" / "conversations" / self._title.split()[1]
        self._file = folder / "events.json"
        self._write_folder(scratch / folder.name, length).rename(folder)
        wait_until(self._find_path, f"{self._title} is mirrored")
        self.path = self._find_path()

    def _write_folder(self, folder: Path, length: int) -> Path:
        folder.mkdir()
        (folder / "events.json").write_bytes(synthetic.make_events_file(length))
        self._write_metadata(folder, self._title)
        return folder

    def _write_metadata(self, folder: Path, title: str) -> None:
        last_activity = timestamps.format_timestamp(synthetic.BEGIN)
        metadata = {"title": title, "last_activated_at": last_activity}
        (folder / "metadata.json").write_text(json.dumps(metadata))

    def _find_path(self) -> str:
        """Return the path of its page, which is empty while it is not listed."""
        listed = self.visit.home.owner.get(f"/conversations?q={self._title.split()[1]}").text
        match = re.search(rf'href="(/conversations/\d+)"[^>]*>\s*{self._title}<', listed)
        return match[1] if match else ""

    def grow(self, length: int) -> None:
        """Let it hold so many of its events."""
        self.hold(synthetic.make_events_file(length))

    def wait_until_known(self, length: int) -> None:
        """Wait until whoever opens it finds so many events."""
        attribute = f'data-entry-count="{length}"'
        wait_until(lambda: attribute in self.visit.home.owner.get(self.path).text, "it is known")

    def rename(self, title: str) -> None:
        self._write_metadata(self._file.parent, title)

    def hold(self, data: bytes) -> None:
        """Let it hold something else."""
        self._file.write_bytes(data)


def wait_for_events(page: Page, count: int) -> None:
    """Wait until a page says that there are so many events."""
    expect(page.locator("#counts")).to_have_attribute(
        "data-entry-count", str(count), timeout=20_000
    )
