from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime.rendering import (
    code_fences,
    diff,
    json_values,
    markdown,
    payloads,
    syntax_highlighting,
)
from tests.machine.sizes import mark_proof
from tests.web.reading import parse_page


def highlight(text: str, name: str) -> str:
    return syntax_highlighting.highlight_code(
        text, name, deadline=syntax_highlighting.make_deadline()
    )


NAMES = sorted({*syntax_highlighting.LANGUAGES, "diff", "no such language", ""})
PIECES = st.sampled_from(
    [*"\"'`({[<>=:;$#@\\/-+* \n\t", "def f", "<!--", "/*", "'''", "1e5", "é", "<script>", "&amp;"]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)


@given(TEXTS, st.sampled_from(NAMES))
def test_code_keeps_its_text(text: str, name: str):
    page = parse_page(highlight(text, name))
    assert page.text == text
    assert {tag.tag for tag in page} <= {"span"}
    assert {attribute for tag in page for attribute in tag} <= {"class"}


@pytest.mark.parametrize("name", sorted(set(syntax_highlighting.LANGUAGES.values())))
def test_highlight_code_supports_all_listed_languages(name: str):
    assert highlight("x", name)


def test_the_parts_of_code_are_marked():
    page = parse_page(highlight("def f(a):  # c\n    return 'x' + 1", "python"))
    marks = {(tag["class"], tag.text) for tag in page}
    assert {("k", "def"), ("f", "f"), ("c", "# c"), ("s", "'x'"), ("n", "1")} <= marks


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def f(): pass", "no-such"),
        ("def f(): pass\n" * 5000, "python"),
        ("def f(): pass" + " " * 1000, "python"),
    ],
    ids=["unknown", "long", "long line"],
)
def test_text_that_is_slow_to_highlight_stays_plain(text: str, name: str):
    assert highlight(text, name) == text


def make_clock(*seconds: float) -> Callable[[], float]:
    """Return a clock that stays at the last of its times."""
    times = chain(seconds, repeat(seconds[-1]))
    return lambda: next(times)


def test_highlight_code_leaves_the_rest_plain_at_its_deadline(monkeypatch: pytest.MonkeyPatch):
    text = "x = 1\n" * 5000
    assert highlight(text, "python").count("<span") == 5000
    monkeypatch.setattr(syntax_highlighting, "thread_time", make_clock(0, 0.1, 0.2, 1))
    html = highlight(text, "python")
    assert 1000 < html.count("<span") < 3000
    assert parse_page(html).text == text


BLOCK = "x = 1\n"
FENCE = f"```python\n{BLOCK}```\n\n"


@pytest.mark.parametrize(
    "render",
    [
        lambda: markdown.render_markdown(FENCE * 20, max_chars=1000),
        lambda: code_fences.highlight_fences(FENCE * 20),
        lambda: (
            json_values.render_fields(
                {"path": "a.py", **{f"f{n}": BLOCK for n in range(20)}}, 10_000, colors=True
            ).html
        ),
    ],
    ids=["message", "result", "arguments"],
)
def test_all_blocks_of_one_text_share_one_deadline(
    monkeypatch: pytest.MonkeyPatch, render: Callable[[], str]
):
    whole_html = render()
    monkeypatch.setattr(syntax_highlighting, "thread_time", make_clock(0, *[0.1] * 5, 1))
    html = render()
    assert (whole_html.count('"n">1<'), html.count('"n">1<')) == (20, 5)
    assert parse_page(html).text == parse_page(whole_html).text


@pytest.mark.parametrize("style", ["markdown", *mark_proof("plain")])
def test_many_slow_blocks_in_a_part_take_bounded_time(style: payloads.DisplayStyle):
    text = ("```terraform\n" + "-a" * 499 + "\n```\n\n") * 190
    start = time.thread_time()  # of the processor: other processes do not count
    assert payloads.Payload("content", "Content", text, style).render_part(1)
    assert time.thread_time() - start < 4  # it took 16


@given(st.text(st.sampled_from("+-@ \\,0123\nadiff<&")))
def test_a_diff_keeps_its_text(text: str):
    assert parse_page(diff.render_diff(text)).text == text


def test_render_diff_marks_lines_by_their_hunk_position():
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n--- old\n+++ new\n same\n--- a/y\n"
    marks = [(tag["class"], tag.text) for tag in parse_page(diff.render_diff(text))]
    assert marks == [
        ("file", "--- a/x"),
        ("file", "+++ b/x"),
        ("hunk", "@@ -1,2 +1,2 @@ f"),
        ("removed", "--- old"),
        ("added", "+++ new"),
        ("file", "--- a/y"),
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n", True),
        ("Changed:\n\n--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b", True),
        ("--- a heading\n+++ and more", False),
        ("- one\n- two", False),
    ],
)
def test_a_diff_is_known_from_its_beginning(text: str, is_one: bool):
    assert diff.is_diff(text) is is_one
