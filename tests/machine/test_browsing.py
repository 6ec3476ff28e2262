from __future__ import annotations

import pytest

from tests.machine.browsing import PHONE, ContextPool, Pages, list_violations
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

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
    assert list_violations(page, left_out_rule="label") == []


def test_list_violations_of_a_part_ignores_the_rest(open_page: Pages):
    page = open_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><input><p>p</p></main>")
    assert list_violations(page, part="p") == []
    assert [line.split(":")[0] for line in list_violations(page, part="main")] == ["label"]


def test_a_context_that_is_used_again_is_empty(context_pool: ContextPool, live: Live):
    url = live().url
    pages = Pages(context_pool)
    page = pages(f"{url}/sign-in")
    used_context = page.context
    page.evaluate("localStorage.setItem('folds', 'open'); sessionStorage.setItem('at', '7')")
    used_context.set_offline(True)
    used_context.grant_permissions(["notifications"])
    pages.close()
    page = pages(f"{url}/sign-in")
    assert page.context is used_context
    stored_values = "[localStorage.length, sessionStorage.at ?? null, history.length]"
    assert page.evaluate(stored_values) == [0, None, 2]
    assert sum(each.url.startswith(url) for each in page.context.pages) == 1
    # Full Chromium would ask, the headless shell refuses.
    assert page.evaluate("Notification.permission") in {"default", "denied"}
    names = {str(cookie.get("name")) for cookie in page.context.cookies()}
    assert names <= {"jpweb_csrf"}  # which this visit has set
    pages.close()


@pytest.mark.parametrize("add", ["add_init_script", "clock"])
def test_a_context_to_which_a_test_added_scripts_is_closed(context_pool: ContextPool, add: str):
    pages = Pages(context_pool)
    context = pages().context
    context.clock.install() if add == "clock" else context.add_init_script("window.mine = 1")
    pages.close()
    assert pages().context is not context
    pages.close()
