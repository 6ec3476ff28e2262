from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jpweb.runtime.rendering import long_texts, render_markdown
from jpweb.stream.markdown import escaping
from jpweb.stream.markdown.escaping import Block, LongText
from tests.web.reading import parse_page

TEXTS = st.text(st.sampled_from("\r\n`a >~"), max_size=40)
#: The limit is that of the module for all examples, so the fixture is set once.
settings_of_module = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escaping, "MAX_BLOCK_CHARS", 4)


@pytest.mark.usefixtures("_low_limit")
@settings_of_module
@given(TEXTS, st.booleans())
@example("aaa\r\nb", False)
@example("aaa\r", False)
@example("abc\nd\n\n", False)
@example("a``````b", True)
def test_pieces_of_a_long_text_make_the_whole(text: str, is_fenced: bool):
    long_text = LongText(text, is_fenced, "json")
    assert "".join(long_texts.cut_markdown(long_text)) == str(long_text)


def test_text_up_to_the_limit_is_one_block_and_a_longer_one_is_not():
    text = "a" * escaping.MAX_BLOCK_CHARS
    assert escaping.write_quote(text) == escaping.quote_text(text)
    assert escaping.write_fence(text, "json") == escaping.fence_text(text, "json")
    assert escaping.write_quote(text + "a") == LongText(text + "a", is_fenced=False)
    assert escaping.write_fence(text + "a") == LongText(text + "a", is_fenced=True)


def test_blocks_up_to_the_limit_are_one_section():
    blocks = ["### Assistant", "> [a]: https://a.example", "> [a]"]
    assert list(long_texts.cut_sections(blocks)) == ["\n\n".join(blocks)]


@pytest.mark.parametrize("is_fenced", [True, False], ids=["a fence", "a quote"])
def test_sections_of_a_long_text_are_bounded_and_read_the_same(is_fenced: bool):
    lines = [f"line {n}" for n in range(20_000)]
    blocks: list[Block] = ["### Assistant", LongText("\n".join(lines), is_fenced), "Answer: 1"]
    sections = list(long_texts.cut_sections(blocks))
    assert len(sections) > 5
    assert max(map(len, sections)) < 2 * escaping.MAX_BLOCK_CHARS
    page = parse_page("".join(render_markdown(text, keep_line_ends=True) for text in sections))
    assert page.text.split() == ["Assistant", *" ".join(lines).split(), "Answer:", "1"]
    assert (page.crossed, page.unclosed) == ([], [])


def test_code_in_a_long_quote_stays_code_after_a_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(escaping, "MAX_BLOCK_CHARS", 14)
    text = LongText("```rust\n*a*\n*b*\n*c*\n```\n*d*", is_fenced=False)
    page = parse_page("".join(render_markdown(part) for part in long_texts.cut_sections([text])))
    assert "".join(tag.text for tag in page if tag.tag == "code").split() == ["*a*", "*b*", "*c*"]
    assert [tag.text for tag in page if tag.tag == "em"] == ["d"]
