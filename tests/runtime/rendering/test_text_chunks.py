from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime import rendering
from jpweb.runtime.rendering import code_fences, text_chunks
from tests.web.reading import parse_page

LINES = st.sampled_from(
    ["text\n", "```\n", "```py\n", "~~~~ x\n", "~~~\n", "\n", "`a` b\n", "long" * 9]
)
TEXTS = st.lists(LINES, max_size=40).map("".join)


@given(TEXTS, st.integers(1, 60))
def test_parts_are_short_and_together_the_text(text: str, max_chars: int):
    parts = list(text_chunks.split_text(text, max_chars))
    assert "".join(parts) == text
    assert all(0 < len(part) <= max_chars for part in parts)


@given(TEXTS, st.integers(8, 60))
def test_split_markdown_closes_fences_in_each_part(text: str, max_chars: int):
    for part in code_fences.split_markdown(text, max_chars):
        inside = None
        for line in part.split("\n"):
            inside = code_fences.find_next_fence(line, inside)
        assert inside is None


def test_split_markdown_continues_a_code_fence_in_the_next_part():
    text = "Look:\n\n```python\n" + "x = 1\n" * 20 + "```\n\n*The end.*"
    first, *_, last = code_fences.split_markdown(text, 60)
    for part in (first, last):
        tags = {tag.tag for tag in parse_page(rendering.render_markdown(part))}
        assert "code" in tags
    assert "x = 1" in [
        line
        for t in parse_page(rendering.render_markdown(last))
        if t.tag == "code"
        for line in t.text.split("\n")
    ]
    assert [t.text for t in parse_page(rendering.render_markdown(last)) if t.tag == "em"] == [
        "The end."
    ]


@given(TEXTS)
def test_fences_in_a_plain_text_keep_it_as_it_is(text: str):
    assert parse_page(code_fences.highlight_fences(text)).text == text


def test_code_in_the_fences_of_a_plain_text_is_colored():
    page = parse_page(code_fences.highlight_fences("Changed:\n```diff\n-a\n+b\n```\n<b>"))
    assert [(t["class"], t.text) for t in page] == [
        ("c", "```diff"),
        ("removed", "-a"),
        ("added", "+b"),
        ("c", "```"),
    ]
    assert page.text.endswith("<b>")
