from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.providers.adapter.surrogates import (
    join_surrogates,
    join_value_surrogates,
    split_trailing_half,
)

#: Surrogates included, which Hypothesis leaves out where it is not told otherwise.
TEXTS = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])))
HALF, OTHER = "\ud83d", "\ude00"


@given(TEXTS)
def test_a_whole_text_can_be_written_and_is_as_long_as_it_was_or_shorter(text):
    result = join_surrogates(text)
    assert result.encode().decode() == result
    assert len(result) <= len(text)


@given(st.text())
def test_a_text_without_halves_stays_as_it_is(text):
    assert join_surrogates(text) == text
    assert split_trailing_half(text) == (text, "")


@given(st.lists(TEXTS))
def test_pieces_whose_halves_wait_come_to_the_same_as_the_text_at_once(pieces):
    half, parts = "", []
    for piece in pieces:
        text, half = split_trailing_half(half + piece)
        parts.append(join_surrogates(text))
    assert "".join(parts) + join_surrogates(half) == join_surrogates("".join(pieces))


def test_halves_are_joined_and_those_alone_replaced():
    assert join_surrogates(f"a{HALF}{OTHER}b") == "a\N{GRINNING FACE}b"
    assert join_surrogates(f"{HALF}a{OTHER}{OTHER}") == "\ufffda\ufffd\ufffd"


def test_a_value_is_made_whole_in_all_its_texts():
    value = {f"{HALF}": [f"{HALF}{OTHER}", 1, None, {"a": OTHER}]}
    assert join_value_surrogates(value) == {
        "\ufffd": ["\N{GRINNING FACE}", 1, None, {"a": "\ufffd"}]
    }
