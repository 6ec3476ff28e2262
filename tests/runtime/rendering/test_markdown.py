from __future__ import annotations

import time

import pytest

from jpweb.runtime import rendering
from jpweb.runtime.rendering import markdown
from tests.web.reading import parse_page

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](http://evil.example/pixel)",
    "<a href='javascript:alert(1)' onclick=alert(1)>x</a>",
    "```diff\n+</code></pre><script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    '[x](https://ok.example "\\" onmouseover=alert(1)")',
    "<style>*{display:none}</style>",
    '<http://a.example/"onmouseover=alert(1)>',
    "\x00<script>",
]


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.parametrize("line_ends", [True, False])
def test_hostile_markdown_is_text(text: str, line_ends: bool):
    page = parse_page(rendering.render_markdown(text, keep_line_ends=line_ends))
    assert {tag.tag for tag in page} & {"script", "style", "img", "iframe", "svg"} == set()
    for tag in page:
        assert not [name for name in tag if name.startswith("on") or name == "style"]
        assert not tag.get("href", "").startswith("//")
        assert tag.get("href", "https:").partition(":")[0] in ("http", "https", "mailto", "")
    assert (page.crossed, page.unclosed) == ([], [])


def test_markdown_is_shown_as_people_know_it():
    page = parse_page(
        rendering.render_markdown("# T\n\n**b** `c` ~~d~~\n\n- [x] done\n\n|a|b|\n|-|-|\n|1|2|\n")
    )
    assert {"h1", "strong", "code", "del", "li", "input", "table", "td"} <= {t.tag for t in page}


def test_markdown_links_send_no_referrer():
    (link,) = [
        tag
        for tag in parse_page(rendering.render_markdown("https://example.com"))
        if tag.tag == "a"
    ]
    assert link["rel"] == "noopener noreferrer nofollow"


def test_line_ends_are_kept_where_wanted():
    assert "<br" in rendering.render_markdown("a\nb", keep_line_ends=True)
    assert "<br" not in rendering.render_markdown("a\nb")


def test_the_lines_of_a_diff_are_marked():
    page = parse_page(rendering.render_markdown("```diff\n@@ -1 +1 @@\n-old <b>\n+new\n same\n```"))
    marks = [(tag["class"], tag.text) for tag in page if tag.tag == "span"]
    assert marks == [("hunk", "@@ -1 +1 @@"), ("removed", "-old <b>"), ("added", "+new")]


def test_document_html_locates_files_and_keeps_other_links():
    text = (
        "# A\n\n## B & c\n\n![p](pictures/p.png) [q](q.md#r) [s](#b--c) [t](https://t.example/u#v)"
    )
    page = parse_page(markdown.render_document(text, lambda file: f"/at/{file}"))
    assert [tag["href"] for tag in page if tag.tag == "a"] == [
        "/at/q.md#doc-r", "#doc-b--c", "https://t.example/u#v"
    ]  # fmt: skip
    assert [tag["src"] for tag in page if tag.tag == "img"] == ["/at/pictures/p.png"]
    assert page.find_one(id="doc-b--c").text == "B & c"


@pytest.mark.parametrize("text", ATTACKS)
def test_document_html_shows_raw_html_as_text(text: str):
    page = parse_page(markdown.render_document(text, lambda file: f"/at/{file}"))
    assert {tag.tag for tag in page} & {"script", "style", "iframe", "svg"} == set()
    for tag in page:
        assert not [name for name in tag if name.startswith("on") or name == "style"]
        assert "javascript" not in tag.get("href", "").lower()
    assert (page.crossed, page.unclosed) == ([], [])


@pytest.mark.parametrize("text", ["", " \n "])
def test_render_markdown_of_blank_text_is_empty(text: str):
    assert rendering.render_markdown(text) == ""


@pytest.mark.parametrize(
    "text", [">" * 12_000, "[a]" * 4_000, "*_" * 6_000, "- " * 6_000, "[^1]:" * 2_000]
)
def test_text_made_to_take_long_does_not(text: str):
    start = time.thread_time()  # of the processor: other processes do not count
    html = rendering.render_markdown(text)
    assert time.thread_time() - start < 2
    assert len(html) < 40 * len(text) + 1000
