"""A conversation of jp's that grows while pages show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.pages import Visit
from tests.browser.reading.windows import long_one
from tests.load import synthetic
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.serving import Server

Visiting = Callable[[Server], Visit]
LENGTH = 300
IDS = "[...document.querySelectorAll('[id]')].map(each => each.id)"


class Growing:
    """A conversation of jp's that grows, on a server of its own."""

    def __init__(self, live: Live, visiting: Visiting, folder: Path, length: int = LENGTH) -> None:
        root = synthetic.workspace(folder / "growing", length)
        (self._file,) = root.glob(".jp/conversations/*/events.json")
        self.visit = visiting(live(workspace=root))
        self.path = long_one(self.visit)

    def grow(self, length: int) -> None:
        """Let it hold so many of its events."""
        self.hold(synthetic.everything(length))

    def known(self, length: int) -> None:
        """Wait until whoever opens it finds so many events."""
        grown = f'data-length="{length}"'
        wait_until(lambda: grown in self.visit.home.owner.get(self.path).text, "it is known")

    def hold(self, data: bytes) -> None:
        """Let it hold something else."""
        self._file.write_bytes(data)


def events(page: Page, count: int) -> None:
    """Wait until a page says that there are so many events."""
    expect(page.locator("#counts")).to_have_attribute("data-length", str(count), timeout=20_000)
