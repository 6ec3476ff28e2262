"""Snippets of Markdown: its marks are left out, and the matches stay."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.store.search import markdown_marks
from jpweb.store.search.snippets import make_snippet


def format_snippet(text: str, word: str = "") -> str:
    """Return the snippet of a text around a word, its match in guillemets."""
    begin = text.index(word) if word else 0
    pieces = make_snippet(text, [(begin, begin + len(word))] if word else [])
    return "".join(f"«{piece.text}»" if piece.highlighted else piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("text", "word", "snippet"),
    [
        ("## Plan\n\n**Read** `the_file.rs`", "file", "Plan Read the_«file».rs"),
        ('see [the *guide*](https://e.org/a_(b) "t")!', "guide", "see the «guide»!"),
        ("see [docs](https://e.org/guide) x", "guide", "see [docs](https://e.org/«guide») x"),
        ("![alt](x.png) <https://e.org>", "", "alt https://e.org"),
        ("one **two** three", "one **two", "«one two» three"),
        ("```python\nx = 1\n```\n> said ~~so~~", "", "x = 1 said so"),
        ("```python\nx = 1\n```", "python", "«python» x = 1"),
        ("| a | b |\n|---|:--|\n| 1 | 2 |", "", "| a | b | | 1 | 2 |"),
        (r"\*x\* a * b * c 2**3 C# #12", "", "*x* a * b * c 2**3 C# #12"),
        ("src/**/*.rs *.py handlers[0](event)", "", "src/**/*.rs *.py handlers[0](event)"),
        ("- one\n- **two", "", "- one - two"),
        ("***", "***", "«***»"),
    ],
)
def test_make_snippet_of_markdown_is_its_plain_text(text: str, word: str, snippet: str):
    assert format_snippet(text, word) == snippet


@pytest.mark.parametrize("filler", ["", "long words " * 30])
def test_make_snippet_within_a_link_omits_its_address(filler: str):
    text = f"{filler}[before the needle in a link](https://e.org/{'x' * 200}) after"
    snippet = format_snippet(text, "needle")
    assert snippet.endswith("the «needle» in a link after")
    assert "[" not in snippet


@given(st.lists(st.sampled_from(["**", "`", "#", "[", "](", ")", "a", " ", "\n", "~~", "<", ">"])))
def test_find_marks_of_any_text_hides_no_letter_outside_addresses(parts: list[str]):
    text = "".join(parts)
    ranges = markdown_marks.find_marks(text, 0, len(text), [])
    assert all(start < stop for start, stop in ranges)
    assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(ranges))
    addresses = {address.span() for address in re.finditer(r"\]\([^()\n ]*\)", text)}
    languages = {language.span() for language in re.finditer(r"(?<=```)a+$", text, re.MULTILINE)}
    for start, stop in ranges:
        covering = [span for span in addresses | languages if span[0] <= start <= stop <= span[1]]
        assert covering or "a" not in text[start:stop]


@pytest.mark.parametrize("hostile", ["[", "*", "`", "> ", "[a](", "*a", "<http://", "![](", "*a[`"])
def test_find_marks_of_repeated_marks_stays_within_the_part(hostile: str):
    text = hostile * 100_000
    ranges = markdown_marks.find_marks(text, 5_000, 5_480, [])
    assert all(5_000 <= start < stop <= 5_480 for start, stop in ranges)
