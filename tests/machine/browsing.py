"""Pages of a real Chromium that report what the browser complained about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
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
    "--renderer-process-limit=1",  # for each context
)
#: What an idle context shows, so that its process lives on; no server is asked for it.
_IDLE_URL = "http://127.0.0.1/idle"
WIDE = (1280, 800)
PHONE = (390, 844)
#: Milliseconds that a page may take for what a test expects of it: the first turn of a server loads
#: a vendor's library. Under coverage, with full Chromium, each step takes several times as long.
EXPECT_MS = choose_size(20_000, 60_000)
_FIND_VIOLATIONS = """([part, options]) => axe.run(part || document, options).then(found =>
  found.violations.map(
  each => `${each.id}: ${each.help} ${JSON.stringify(each.nodes[0].target)}`))"""
Scheme: TypeAlias = Literal["light", "dark"]


class Look(NamedTuple):
    """What a browser context is made with."""

    javascript: bool
    size: tuple[int, int]
    scheme: Scheme


class ContextPool:
    """The contexts of one browser: a test gets one that earlier tests used, emptied.

    It still has the static files in its cache. A new context fetched 36 of them for its first page,
    which took 0.13 s of the server's processor time and 0.1 s of the browser's. It also has a page
    of its own, which keeps its process: a page that starts two processes, one of which is empty,
    takes 0.5 s of processor time instead of 0.4.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._idle_contexts: dict[Look, list[BrowserContext]] = defaultdict(list)
        self._looks: dict[BrowserContext, Look] = {}
        self._idle_pages: dict[BrowserContext, Page] = {}

    def borrow(self, look: Look) -> BrowserContext:
        """Return a context of this look without cookies, stored values, and pages of a test."""
        if self._idle_contexts[look]:
            return self._idle_contexts[look].pop()
        return self.make(look)

    def make(self, look: Look) -> BrowserContext:
        """Return a new context, whose cache is empty too."""
        context = self.browser.new_context(
            java_script_enabled=look.javascript,
            viewport={"width": look.size[0], "height": look.size[1]},
            color_scheme=look.scheme,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(EXPECT_MS)
        self._looks[context] = look
        self._discard_after(context, context, "add_init_script")
        self._discard_after(context, context.clock, "install")
        return context

    def give_back(self, context: BrowserContext) -> None:
        """Empty a context for the next test, or close it where a test added scripts to it."""
        look = self._looks.get(context)
        if look is None:
            self._idle_pages.pop(context, None)
            context.close()
            return
        context.set_offline(False)
        test_pages = [page for page in context.pages if page != self._idle_pages.get(context)]
        if context not in self._idle_pages:
            self._idle_pages[context] = _open_idle_page(context)
        for page in test_pages:
            _clear_storage(page)
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        self._idle_contexts[look].append(context)

    def _discard_after(self, context: BrowserContext, owner: object, method_name: str) -> None:
        """Have a context closed once this method, which cannot be undone, was called."""
        method: Callable[..., Any] = getattr(owner, method_name)

        def call(*args: Any, **options: Any) -> Any:
            self._looks.pop(context, None)
            return method(*args, **options)

        setattr(owner, method_name, call)


def _open_idle_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.route(_IDLE_URL, lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto(_IDLE_URL)
    return page


def _clear_storage(page: Page) -> None:
    try:
        page.evaluate("localStorage.clear()")
    except Error:  # a page of no origin, or one whose process has ended, has no storage
        return


@contextmanager
def run_chromium(path: Path) -> Iterator[ContextPool]:
    """Run a browser without a window."""
    expect.set_options(timeout=EXPECT_MS)
    with sync_playwright() as library:
        running_browser = library.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield ContextPool(running_browser)
        running_browser.close()


@dataclass  # without slots: Playwright notes its handlers on the object
class Pages:
    """Opens pages, each in a context of its own, and keeps what the browser complains about.

    Complaints are console errors (breaches of the Content-Security-Policy among them) and
    exceptions that no script caught; at the end of the test there must be none.
    """

    pool: ContextPool
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    _forgiven: list[re.Pattern[str]] = field(default_factory=list)

    def __call__(
        self,
        url: str = "",
        *,
        javascript: bool = True,
        size: tuple[int, int] = WIDE,
        scheme: Scheme = "light",
        sibling: Page | None = None,
        cached: bool = True,
    ) -> Page:
        """Open a page; with a ``sibling`` it shares that page's sign-in.

        The browser may have the static files in its cache, unless ``cached`` says otherwise.
        """
        context = sibling.context if sibling else self._context(javascript, size, scheme, cached)
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
        """Close every page."""
        while self.contexts:
            self.pool.give_back(self.contexts.pop())

    def _context(
        self, javascript: bool, size: tuple[int, int], scheme: Scheme, cached: bool
    ) -> BrowserContext:
        look = Look(javascript, size, scheme)
        context = self.pool.borrow(look) if cached else self.pool.make(look)
        self.contexts.append(context)
        return context

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(f"{message.text} ({message.location.get('url', '')})")

    def _complain(self, text: str) -> None:
        if not any(pattern.search(text) for pattern in self._forgiven):
            self.complaints.append(text)


def list_violations(
    page: Page, rule: str = "", part: str = "", left_out_rule: str = ""
) -> list[str]:
    """Return the violations that axe finds on the page, one line each.

    ``rule`` is the one to check, else all are but ``left_out_rule``; ``part`` selects elements to
    check. Raises ``playwright.sync_api.Error`` where no element matches ``part``.
    """
    # Preloading fetches every style sheet again, for a rule that axe does not run by default.
    options = {"resultTypes": ["violations"], "preload": False}
    options |= {"runOnly": [rule]} if rule else {}
    options |= {"rules": {left_out_rule: {"enabled": False}}} if left_out_rule else {}
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    violations: list[str] = page.evaluate(_FIND_VIOLATIONS, [part, options])
    return violations
