from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime.rendering import diff, syntax_highlighting
from tests.web.reading import parse_page

NAMES = sorted({*syntax_highlighting.LANGUAGES, "diff", "no such language", ""})
PIECES = st.sampled_from(
    [*"\"'`({[<>=:;$#@\\/-+* \n\t", "def f", "<!--", "/*", "'''", "1e5", "é", "<script>", "&amp;"]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)


@given(TEXTS, st.sampled_from(NAMES))
def test_code_keeps_its_text(text: str, name: str):
    page = parse_page(syntax_highlighting.highlight_code(text, name))
    assert page.text == text
    assert {tag.tag for tag in page} <= {"span"}
    assert {attribute for tag in page for attribute in tag} <= {"class"}


@pytest.mark.parametrize("name", sorted(set(syntax_highlighting.LANGUAGES.values())))
def test_highlight_code_supports_all_listed_languages(name: str):
    assert syntax_highlighting.highlight_code("x", name)


def test_the_parts_of_code_are_marked():
    page = parse_page(
        syntax_highlighting.highlight_code("def f(a):  # c\n    return 'x' + 1", "python")
    )
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
    assert syntax_highlighting.highlight_code(text, name) == text


def test_highlight_code_leaves_the_rest_plain_at_its_time_limit(monkeypatch: pytest.MonkeyPatch):
    text = "x = 1\n" * 5000
    monkeypatch.setattr(syntax_highlighting, "monotonic", lambda: 0.0)
    assert syntax_highlighting.highlight_code(text, "python").count("<span") == 5000
    clock = iter([0, 0.1, 0.2, 1, 1, 1, 1, 1])
    monkeypatch.setattr(syntax_highlighting, "monotonic", lambda: next(clock))
    html = syntax_highlighting.highlight_code(text, "python")
    assert 1000 < html.count("<span") < 3000
    assert parse_page(html).text == text


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
