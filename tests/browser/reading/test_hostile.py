"""Documents that try to run, in a real browser: everything is unfolded, and nothing happens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.library import HOSTILE_TITLE
from tests.browser.pages import Visit, path_of, wait_until_connected
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.browser

SOON = 60_000
FOLDS = "#transcript details:not([open])"
#: Loads what is earlier and later, unfolds what is folded, and has all fetched at once that is
#: fetched when it comes into view: one after the other, each costs a layout of the whole page.
UNFOLD = """(folds) => {
  for (const fold of document.querySelectorAll(folds)) fold.open = true;
  const way = document.querySelector(".load-more a");
  if (way) {
    if (!document.querySelector(".load-more.htmx-request, .load-more .htmx-request")) way.click();
    return false;
  }
  const payloads = document.querySelectorAll("#transcript [data-payload][hx-trigger]");
  for (const payload of payloads) htmx.trigger(payload, "intersect");
  return !payloads.length;
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


def test_hostile_documents_run_nothing_when_expanded(shelf: Visit):
    page = shelf.sign_in()
    page.add_init_script(f"({MISLED})()")
    page.goto(shelf.server.url + shelf.find(HOSTILE_TITLE))
    expect(page.get_by_role("heading", name=HOSTILE_TITLE)).to_be_visible()
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
    own_prefixes = ("data:", shelf.server.url, shelf.server.url.replace("http", "ws"))
    assert [url for url in urls if not url.startswith(own_prefixes)] == []
    assert len([url for url in urls if "/events/" in url]) > choose_size(2, 10)
    assert dialogs == []
    assert page.evaluate("window.hits") == []
    assert page.context.pages == all_pages
