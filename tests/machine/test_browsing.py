from __future__ import annotations

import pytest

from tests.machine.browsing import PHONE, Pages, list_violations
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
def test_what_the_browser_complains_about_is_kept(open_page: Pages, html: str, complaint: str):
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


def test_axe_names_what_is_wrong(open_page: Pages):
    page = open_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><input></main>")
    assert [line.split(":")[0] for line in list_violations(page)] == ["label"]


def test_inaccessible_with_a_part_leaves_the_rest_out(open_page: Pages):
    page = open_page()
    page.set_content("<html lang=en><title>t</title><main><h1>h</h1><input><p>p</p></main>")
    assert list_violations(page, part="p") == []
    assert [line.split(":")[0] for line in list_violations(page, part="main")] == ["label"]
