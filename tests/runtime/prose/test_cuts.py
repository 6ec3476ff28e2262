from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime import prose
from jpweb.runtime.prose import cuts, fences
from tests.web.reading import read

LINES = st.sampled_from(
    ["text\n", "```\n", "```py\n", "~~~~ x\n", "~~~\n", "\n", "`a` b\n", "long" * 9]
)
TEXTS = st.lists(LINES, max_size=40).map("".join)


@given(TEXTS, st.integers(1, 60))
def test_parts_are_short_and_together_the_text(text: str, most: int):
    made = list(cuts.parts(text, most))
    assert "".join(made) == text
    assert all(0 < len(part) <= most for part in made)


@given(TEXTS, st.integers(8, 60))
def test_each_part_of_markdown_closes_what_it_opens(text: str, most: int):
    for part in fences.parts(text, most):
        inside = None
        for line in part.split("\n"):
            inside = fences.step(line, inside)
        assert inside is None


def test_code_that_is_cut_goes_on_as_code():
    text = "Look:\n\n```python\n" + "x = 1\n" * 20 + "```\n\n*The end.*"
    first, *_, last = fences.parts(text, 60)
    for part in (first, last):
        tags = {tag.tag for tag in read(prose.html(part))}
        assert "code" in tags
    assert "x = 1" in [
        line for t in read(prose.html(last)) if t.tag == "code" for line in t.text.split("\n")
    ]
    assert [t.text for t in read(prose.html(last)) if t.tag == "em"] == ["The end."]


@given(TEXTS)
def test_fences_in_a_plain_text_keep_it_as_it_is(text: str):
    assert read(fences.coloured(text)).text == text


def test_code_in_the_fences_of_a_plain_text_is_coloured():
    page = read(fences.coloured("Changed:\n```diff\n-a\n+b\n```\n<b>"))
    assert [(t["class"], t.text) for t in page] == [
        ("c", "```diff"),
        ("removed", "-a"),
        ("added", "+b"),
        ("c", "```"),
    ]
    assert page.text.endswith("<b>")
