"""Pages of a real Chromium that report what the browser complained about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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

from tests.machine.sizes import IS_PROOF, choose_size

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
#: What a test does with a page that cannot be undone, or that its next test would not expect.
LASTING_METHODS = (
    "add_init_script",
    "add_locator_handler",
    "expose_binding",
    "expose_function",
    "route_web_socket",
    "set_default_timeout",
)
WIDE = (1280, 800)
PHONE = (390, 844)
#: Milliseconds that a page may take for what a test expects of it: the first turn of a server loads
#: a vendor's library. Under coverage, with full Chromium, each step takes several times as long.
EXPECT_MS = choose_size(20_000, 60_000)
_FIND_VIOLATIONS = """([part, options]) => axe.run(part || document, options).then(found =>
  found.violations.map(
  each => `${each.id}: ${each.help} ${JSON.stringify(each.nodes[0].target)}`))"""
#: Has axe look at the contrast of some texts alone: the first two of those with the same colors,
#: font and backgrounds below them. A page of sixty items then takes 0.6 s instead of 1.6 s.
_MARK_DISTINCT_COLORS = """(part) => {
  const attribute = "data-distinct-color";
  const backdrops = new Map([[null, ""]]);
  const describe = (element) => {
    if (!backdrops.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, position].join();
      backdrops.set(element, `${describe(element.parentElement)}/${own}`);
    }
    return backdrops.get(element);
  };
  const counts = new Map();
  for (const element of document.querySelectorAll(`[${attribute}]`)) {
    element.removeAttribute(attribute);
  }
  const whole = `:is(${part || "body"})`;
  for (const element of document.querySelectorAll(`${whole}, ${whole} *`)) {
    const hasText = element.matches("input, select, textarea") ||
      [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.checkVisibility() || element.matches(":disabled")) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const key = [color, fontSize, fontWeight, textShadow, describe(element)].join("|");
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (counts.get(key) <= 2) element.setAttribute(attribute, "");
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: `[${attribute}]` }] });
}"""
Scheme: TypeAlias = Literal["light", "dark"]


class Look(NamedTuple):
    """What the pages of a context are shown with."""

    javascript: bool
    size: tuple[int, int]
    scheme: Scheme


class ContextPool:
    """The contexts of one browser: a test gets one that earlier tests used, emptied.

    It still has the static files in its cache. A new context fetched 36 of them for its first page,
    which took 0.13 s of the server's processor time and 0.1 s of the browser's. It also has a page,
    which the test gets: a new one takes 0.12 s more, as no file is in its process's memory, and 0.1
    more where it starts a process.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        #: By whether they run scripts; a page takes on any other look.
        self._idle_contexts: dict[bool, list[BrowserContext]] = defaultdict(list)
        self._looks: dict[BrowserContext, Look] = {}
        self._reusable_contexts: set[BrowserContext] = set()
        self._idle_pages: dict[BrowserContext, Page] = {}
        self._reusable_pages: set[Page] = set()
        self._listeners: dict[Page, Callable[[str], None]] = {}
        #: The events of a page that a test listens to, with its handlers.
        self._handlers: dict[Page, list[tuple[Any, Any]]] = defaultdict(list)

    def borrow(self, look: Look) -> BrowserContext:
        """Return a context without cookies, stored values, and pages of a test."""
        if not self._idle_contexts[look.javascript]:
            return self.make(look)
        context = self._idle_contexts[look.javascript].pop()
        self._looks[context] = look
        return context

    def make(self, look: Look) -> BrowserContext:
        """Return a new context, whose cache is empty too."""
        context = self.browser.new_context(
            java_script_enabled=look.javascript,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(EXPECT_MS)
        self._looks[context] = look
        self._reusable_contexts.add(context)
        keep_no_longer = partial(self._reusable_contexts.discard, context)
        for method_name in ("add_init_script", "route"):
            _call_before(context, method_name, keep_no_longer)
        _call_before(context.clock, "install", keep_no_longer)
        _call_before(
            context,
            "new_cdp_session",
            lambda: self._reusable_pages.difference_update(context.pages),
        )
        return context

    def open_page(self, context: BrowserContext, listen: Callable[[str], None]) -> Page:
        """Return an empty page of a borrowed context, whose complaints a test listens to."""
        page = self._idle_pages.pop(context, None) or self._make_page(context)
        self._listeners[page] = listen
        look = self._looks[context]
        page.set_viewport_size({"width": look.size[0], "height": look.size[1]})
        page.emulate_media(
            color_scheme=look.scheme, media="null", forced_colors="null", reduced_motion="null"
        )
        return page

    def give_back(self, context: BrowserContext) -> None:
        """Empty a context for the next test, or close it where a test added scripts to it."""
        look = self._looks.pop(context)
        for page in context.pages:
            self._listeners.pop(page, None)
            for event, handler in self._handlers.pop(page, []):
                page.remove_listener(event, handler)
        if context not in self._reusable_contexts:
            self._reusable_pages.difference_update(context.pages)
            context.close()
            return
        context.set_offline(False)
        reusable_pages = [page for page in context.pages if page in self._reusable_pages]
        idle_page = next(filter(_clear_storage, reusable_pages), None)
        idle_page = idle_page or _open_idle_page(self._make_page(context))
        for page in context.pages:
            if page != idle_page:
                self._reusable_pages.discard(page)
                _clear_storage(page)
                page.close()
        idle_page.unroute_all(behavior="ignoreErrors")
        idle_page.goto("about:blank")
        idle_page.mouse.move(0, 0)
        self._idle_pages[context] = idle_page
        context.clear_cookies()
        context.clear_permissions()
        self._idle_contexts[look.javascript].append(context)

    def _make_page(self, context: BrowserContext) -> Page:
        page = context.new_page()

        def complain(text: str) -> None:
            if page in self._listeners:
                self._listeners[page](text)

        def report_console(message: ConsoleMessage) -> None:
            if message.type == "error":
                complain(f"{message.text} ({message.location.get('url', '')})")

        page.on("console", report_console)
        page.on("pageerror", lambda error: complain(f"uncaught: {error}"))
        for method_name in LASTING_METHODS:
            _call_before(page, method_name, partial(self._reusable_pages.discard, page))
        for method_name in ("on", "once"):
            _note_handlers(page, method_name, self._handlers)
        for input_device in (page.keyboard, page.mouse):
            _call_before(input_device, "down", partial(self._reusable_pages.discard, page))
        self._reusable_pages.add(page)
        return page


def _call_before(owner: object, method_name: str, act: Callable[[], object]) -> None:
    """Have ``act`` called before each call of this method."""
    method: Callable[..., Any] = getattr(owner, method_name)

    def call(*args: Any, **options: Any) -> Any:
        act()
        return method(*args, **options)

    setattr(owner, method_name, call)


def _note_handlers(
    page: Page, method_name: str, handlers: dict[Page, list[tuple[Any, Any]]]
) -> None:
    """Have each handler of an event of a page noted, so that it can be removed."""
    method: Callable[..., Any] = getattr(page, method_name)

    def listen(event: Any, handler: Any) -> None:
        handlers[page].append((event, handler))
        method(event, handler)

    setattr(page, method_name, listen)


def _open_idle_page(page: Page) -> Page:
    """Open a page of the servers' site, so that theirs find its process."""
    page.route(_IDLE_URL, lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto(_IDLE_URL)
    page.unroute(_IDLE_URL)  # while there are routes, each request is asked about, and none cached
    return page


def _clear_storage(page: Page) -> bool:
    """Empty what a page has stored; tells whether its process lives."""
    try:
        page.evaluate("{ localStorage.clear(); sessionStorage.clear(); }")
    except Error:  # a page of no origin, or one whose process has ended, has no storage
        return False
    return True


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
        page = self.pool.open_page(context, self._complain)
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

    def _complain(self, text: str) -> None:
        if not any(pattern.search(text) for pattern in self._forgiven):
            self.complaints.append(text)


def list_violations(page: Page, rule: str = "", part: str = "") -> list[str]:
    """Return the violations that axe finds on the page, one line each.

    ``rule`` is the one to check, else all are; ``part`` selects elements to check. Raises
    ``playwright.sync_api.Error`` where no element matches ``part``.
    """
    # Preloading fetches every style sheet again, for a rule that axe does not run by default.
    options = {"resultTypes": ["violations"], "preload": False}
    options |= {"runOnly": [rule]} if rule else {}
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    if not IS_PROOF:
        page.evaluate(_MARK_DISTINCT_COLORS, part)
    violations: list[str] = page.evaluate(_FIND_VIOLATIONS, [part, options])
    return violations
