from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Error, Page

from tests.machine.browsing import PHONE, ContextPool, Pages, list_violations
from tests.machine.ports import free_port, wait_until

pytestmark = pytest.mark.browser

SHEET_URL = f"http://127.0.0.1:{free_port()}/sheet"
STRICT = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">"


@pytest.mark.parametrize(
    ("html", "complaint"),
    [
        ("<script>console.error('hm')</script>", "hm"),
        ("<script>throw new Error('oh')</script>", "uncaught: oh"),
        (STRICT + "<script>1</script>", "Content Security Policy"),
    ],
)
def test_open_page_collects_console_complaints(open_page: Pages, html: str, complaint: str):
    page = open_page()
    page.set_content(html)
    wait_until(lambda: page.content() and open_page.complaints, "the browser complains")
    assert complaint in "".join(open_page.complaints)
    open_page.forgive(complaint)
    assert open_page.complaints == []


def test_a_page_has_the_size_scheme_and_scripts_asked_for(open_page: Pages):
    page = open_page(size=PHONE, scheme="dark")
    dark = "[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    assert page.evaluate(dark) == [390, True]
    still = open_page(javascript=False)
    still.set_content("<title>plain</title><script>document.title = 'scripted'</script>")
    assert still.title() == "plain"


def test_list_violations_names_the_broken_rule(open_page: Pages):
    page = open_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><input></main>")
    assert [line.split(":")[0] for line in list_violations(page)] == ["label"]


def test_list_violations_of_a_part_ignores_the_rest(open_page: Pages):
    page = open_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><input><p>p</p></main>")
    assert list_violations(page, part="p") == []
    assert [line.split(":")[0] for line in list_violations(page, part="main")] == ["label"]


def test_list_violations_finds_one_text_of_low_contrast_among_others(open_page: Pages):
    page = open_page()
    dark_part = "<div style='background: #333'><p>words</p></div>"
    page.set_content(
        f"<html lang=en><title>t</title><main><h1>h</h1>{'<p>words</p>' * 5}{dark_part}</main>"
    )
    for part in ("", "div"):
        violations = list_violations(page, part=part)
        assert [line.split(":")[0] for line in violations] == ["color-contrast"]


def open_sheet(pages: Pages, **look: Any) -> Page:
    """Open an empty page of an address, which no server has."""
    page = pages(**look)
    page.route(SHEET_URL, lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto(SHEET_URL)
    return page


def test_a_context_that_is_used_again_is_empty(context_pool: ContextPool):
    pages = Pages(context_pool)
    page = open_sheet(pages)
    used_context = page.context
    page.evaluate("localStorage.setItem('folds', 'open'); sessionStorage.setItem('at', '7')")
    used_context.add_cookies([{"name": "session", "value": "1", "url": SHEET_URL}])
    used_context.set_offline(True)
    used_context.grant_permissions(["notifications"])
    pages.close()
    page = open_sheet(pages)
    assert page.context is used_context
    stored_values = "[localStorage.length, sessionStorage.at ?? null, navigator.onLine]"
    assert page.evaluate(stored_values) == [0, None, True]
    assert page.context.pages == [page]
    # Full Chromium would ask, the headless shell refuses.
    assert page.evaluate("Notification.permission") in {"default", "denied"}
    assert page.context.cookies() == []
    pages.close()


def test_a_page_is_passed_on_as_a_new_one_would_be(context_pool: ContextPool):
    pages = Pages(context_pool)
    page = open_sheet(pages, size=PHONE, scheme="dark")
    page.emulate_media(media="print")
    pages.close()
    next_pages = Pages(context_pool)
    assert next_pages() is page
    look = """[innerWidth, matchMedia('print').matches,
      matchMedia('(prefers-color-scheme: dark)').matches, location.href]"""
    assert page.evaluate(look) == [1280, False, False, "about:blank"]
    page.evaluate("console.error('hm')")
    wait_until(lambda: page.content() and next_pages.complaints, "the browser complains")
    assert pages.complaints == []
    with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
        page.goto(SHEET_URL)
    next_pages.close()


def test_a_page_is_passed_on_without_the_handlers_of_a_test(context_pool: ContextPool):
    pages = Pages(context_pool)
    page = open_sheet(pages)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.reload()
    assert urls == [SHEET_URL]
    pages.close()
    assert open_sheet(pages) is page
    assert urls == [SHEET_URL]
    pages.close()


@pytest.mark.parametrize("way", ["held key", "end"])
def test_a_page_that_a_test_has_changed_for_good_is_not_passed_on(
    context_pool: ContextPool, way: str
):
    pages = Pages(context_pool)
    page = open_sheet(pages)
    context = page.context
    if way == "held key":
        page.keyboard.down("Shift")
    else:
        page.close()
    pages.close()
    next_page = open_sheet(pages)
    assert next_page.context is context
    assert next_page is not page
    pages.close()


@pytest.mark.parametrize("add", ["add_init_script", "clock"])
def test_a_context_to_which_a_test_added_scripts_is_closed(context_pool: ContextPool, add: str):
    pages = Pages(context_pool)
    context = pages().context
    context.clock.install() if add == "clock" else context.add_init_script("window.mine = 1")
    pages.close()
    assert pages().context is not context
    pages.close()
