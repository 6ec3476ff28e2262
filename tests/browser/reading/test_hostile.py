"""Documents that try to run, in a real browser: everything is unfolded, and nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import hostile
from tests.browser.pages import Visit, path_of, wait_until_connected
from tests.machine.fixtures import Live
from tests.machine.serving import Server
from tests.store import making

pytestmark = pytest.mark.browser

SOON = 60_000
TITLE = "Twenty hostile documents"

FOLDS = "#transcript details:not([open])"
#: Loads what is earlier and later, unfolds what is folded, brings into view what is fetched then.
UNFOLD = """(folds) => {
  for (const fold of document.querySelectorAll(folds)) fold.open = true;
  const way = document.querySelector(".load-more a");
  if (way) {
    if (!document.querySelector(".load-more.htmx-request, .load-more .htmx-request")) way.click();
    return false;
  }
  const next = document.querySelector("#transcript [data-payload][hx-trigger]");
  if (next) next.scrollIntoView();
  return !next;
}"""
MISLED = """() => {
  window.hits = [];
  window.hit = (what) => window.hits.push(what);
  document.addEventListener("securitypolicyviolation",
    (event) => window.hits.push(event.violatedDirective));
}"""


def unfold(page: Page) -> None:
    wait_until_connected(page)
    page.wait_for_function(UNFOLD, arg=FOLDS, polling=50, timeout=SOON)
    expect(page.locator(FOLDS)).to_have_count(0)


@pytest.fixture
def conversation(
    tmp_path: Path, live: Live, visiting: Callable[[Server], Visit]
) -> Callable[[Page | None], tuple[Visit, Page]]:
    """Return a way to open the conversation that holds every hostile document."""
    making.write_folder(
        tmp_path / "home", "17000000000-hostile", hostile.make_conversation(), title=TITLE
    )
    visit = visiting(live(workspace=tmp_path / "home"))

    def open_conversation(page: Page | None = None) -> tuple[Visit, Page]:
        page = page or visit.open("/conversations")
        page.add_init_script(f"({MISLED})()")
        page.goto(f"{visit.server.url}/conversations")
        page.get_by_role("link", name=TITLE).click()
        expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
        return visit, page

    return open_conversation


def test_hostile_documents_run_nothing_when_expanded(
    conversation: Callable[[], tuple[Visit, Page]],
):
    visit, page = conversation()
    dialogs: list[str] = []
    urls: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.on("request", lambda request: urls.append(request.url))
    address, all_pages = path_of(page), page.context.pages
    page.evaluate("window.unbroken = true")
    unfold(page)
    # What is unfolded stands in the address, so that alone may change.
    assert page.evaluate("window.unbroken") is True
    assert path_of(page) == address
    own_prefixes = ("data:", visit.server.url, visit.server.url.replace("http", "ws"))
    assert [url for url in urls if not url.startswith(own_prefixes)] == []
    assert len([url for url in urls if "/events/" in url]) > 10
    assert dialogs == []
    assert page.evaluate("window.hits") == []
    assert page.context.pages == all_pages
