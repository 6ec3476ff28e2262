"""Pages of a real Chromium that report what the browser complained about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.machine.sizes import choose_size

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
WIDE = (1280, 800)
PHONE = (390, 844)
#: Milliseconds that a page may take for what a test expects of it: the first turn of a server loads
#: a vendor's library. Under coverage, with full Chromium, each step takes several times as long.
EXPECT_MS = choose_size(20_000, 60_000)
_FIND_VIOLATIONS = """([part, options]) => axe.run(part || document, options).then(found =>
  found.violations.map(
  each => `${each.id}: ${each.help} ${JSON.stringify(each.nodes[0].target)}`))"""


@contextmanager
def run_chromium(path: Path) -> Iterator[Browser]:
    """Run a browser without a window."""
    expect.set_options(timeout=EXPECT_MS)
    with sync_playwright() as library:
        running_browser = library.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield running_browser
        running_browser.close()


@dataclass  # without slots: Playwright notes its handlers on the object
class Pages:
    """Opens pages, each in a context of its own, and keeps what the browser complains about.

    Complaints are console errors (breaches of the Content-Security-Policy among them) and
    exceptions that no script caught; at the end of the test there must be none.
    """

    browser: Browser
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    _forgiven: list[re.Pattern[str]] = field(default_factory=list)

    def __call__(
        self,
        url: str = "",
        *,
        javascript: bool = True,
        size: tuple[int, int] = WIDE,
        scheme: Literal["light", "dark"] = "light",
        sibling: Page | None = None,
    ) -> Page:
        """Open a page; with a ``sibling`` it shares that page's sign-in."""
        context = sibling.context if sibling else self._context(javascript, size, scheme)
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._complain(f"uncaught: {error}"))
        if url:
            page.goto(url)
        return page

    def forgive(self, pattern: str) -> None:
        """Expect complaints that match, such as a socket's while the server is down."""
        self._forgiven.append(re.compile(pattern))
        self.complaints[:] = [c for c in self.complaints if not re.search(pattern, c)]

    def close(self) -> None:
        """Close every context."""
        while self.contexts:
            self.contexts.pop().close()

    def _context(
        self, javascript: bool, size: tuple[int, int], scheme: Literal["light", "dark"]
    ) -> BrowserContext:
        context = self.browser.new_context(
            java_script_enabled=javascript,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(EXPECT_MS)
        self.contexts.append(context)
        return context

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(f"{message.text} ({message.location.get('url', '')})")

    def _complain(self, text: str) -> None:
        if not any(pattern.search(text) for pattern in self._forgiven):
            self.complaints.append(text)


def list_violations(page: Page, rule: str = "", part: str = "") -> list[str]:
    """Return the violations that axe finds on the page, one line each.

    ``rule`` is the one to check, else all are, ``part`` selects elements to check. Raises
    ``playwright.sync_api.Error`` where no element matches ``part``.
    """
    # Preloading fetches every style sheet again, for a rule that axe does not run by default.
    options = {"resultTypes": ["violations"], "preload": False}
    options |= {"runOnly": [rule]} if rule else {}
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    violations: list[str] = page.evaluate(_FIND_VIOLATIONS, [part, options])
    return violations
