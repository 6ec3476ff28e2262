"""Words, keys and tags: what the indexes are made of."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.store.search import filter_terms, passage_ids, tokenizer
from jpweb.store.search.passage_ids import PassageSlot
from jpweb.store.search.snippets import SNIPPET_CHARS, make_snippet

AT = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Call fs_read_file(a.md)", ["call", "fs_read_file", "a", "md"]),
        ("Größe ÉTÉ", ["große", "ete"]),
        ("e\u0301te\u0301", ["ete"]),
        ("well-known: 3.14", ["well", "known", "3", "14"]),
        ("— () —", []),
    ],
)
def test_letters_digits_and_underscores_make_words(text: str, expected: list[str]):
    assert tokenizer.split_words(text) == expected


def test_a_vector_holds_words_with_their_places_and_tags():
    assert tokenizer.make_tsvector("one two One", "w1 fcall") == "'one':1,3 'two':2 '#w1' '#fcall'"


@given(st.text())
def test_make_tsvector_escapes_any_text(text: str):
    for lexeme in (
        tokenizer.make_tsvector(text, "").split(" ") if tokenizer.split_words(text) else []
    ):
        assert re.fullmatch(r"'\w+':[\d,]+", lexeme)


def test_make_tsvector_stays_within_database_limits():
    wide = " ".join(chr(0x4E00 + n) * 40 for n in range(12_000))
    assert len(tokenizer.make_tsvector(wide, "").encode()) < 2**20
    long_vector = tokenizer.make_tsvector("again " * 20_000, "")
    assert long_vector.count(",") == 254
    vector = tokenizer.make_tsvector(" ".join(f"w{n}" for n in range(20_000)), "")
    assert vector.endswith("'w19999':16383")


@pytest.mark.parametrize(
    ("text", "phrases", "spans"),
    [
        ("a config, Config", [(("config",), False)], ["config", "Config"]),
        ("configure it", [(("config",), False)], []),
        ("configure it", [(("config",), True)], ["configure"]),
        ("one - two", [(("one", "two"), False)], ["one - two"]),
        ("Größe", [(("große",), False)], ["Größe"]),
        ("die Größe hier", [(("große", "hi"), True)], ["Größe hier"]),
        ("x", [((), False)], []),
        ("a_b a", [(("a",), False)], ["a"]),
    ],
)
def test_highlighter_marks_the_searched_phrases(
    text: str, phrases: list[tokenizer.FoldedPhrase], spans: list[str]
):
    assert [text[begin:end] for begin, end in tokenizer.make_highlighter(phrases)(text)] == spans


@pytest.mark.parametrize("letter", ["a", "é"])
def test_highlighter_marks_the_start_of_a_long_phrase(letter: str):
    text = " ".join([letter] * 50)
    (first, *_) = tokenizer.make_highlighter([(tuple(tokenizer.split_words(text)), True)])(text)
    assert first == (0, 2 * 20 - 1)


@given(st.text(max_size=600), st.integers(0, 599), st.integers(1, 40))
def test_snippet_is_short_and_highlights_the_match(text: str, begin: int, size: int):
    begin = min(begin, len(text))
    end = min(begin + size, len(text))
    pieces = make_snippet(text, [(begin, end)] if begin < end else [])
    assert sum(len(piece.text) for piece in pieces) <= 2 * SNIPPET_CHARS + 2
    assert all(piece.text for piece in pieces)
    if begin < end:
        assert any(piece.highlighted for piece in pieces)
    snippet = "".join(piece.text for piece in pieces)
    assert not re.search("[\x00-\x1f\u202a-\u202e\u2066-\u2069]", snippet)


def test_snippet_begins_at_a_word_with_an_ellipsis():
    text = "word " * 100 + "here " + "word " * 100
    at = text.index("here")
    (first, highlight, last) = make_snippet(text, [(at, at + 4)])
    assert first.text.startswith("…word ")
    assert (highlight.text, highlight.highlighted) == ("here", True)
    assert last.text.endswith("…")


def test_the_order_of_keys_is_that_of_time():
    moments = [AT + timedelta(milliseconds=n) for n in range(5)]
    passage_keys = passage_ids.allot_ids(
        [PassageSlot(at, 7, 3, 0) for at in moments], lambda _: set()
    )
    assert passage_keys == sorted(passage_keys)
    assert all(
        passage_ids.get_first_id_at(at) <= key < passage_ids.get_first_id_at(at) + 2**21
        for at, key in zip(moments, passage_keys, strict=True)
    )


@pytest.mark.parametrize("year", [1, 1969, 2026, 2200, 9999])
def test_allot_ids_gives_any_instant_a_key(year: int):
    (key,) = passage_ids.allot_ids(
        [PassageSlot(datetime(year, 1, 1, tzinfo=UTC), 1, 0, 0)], lambda _: set()
    )
    assert 0 <= key < 2**63


def test_entries_of_one_instant_keep_their_order_and_never_share_a_key():
    places = [PassageSlot(AT, 1, position, 0) for position in range(50)]
    passage_keys = passage_ids.allot_ids(places, lambda _: set())
    assert passage_keys == sorted(set(passage_keys))
    copies = passage_ids.allot_ids(
        [PassageSlot(AT, 2, position, 0) for position in range(50)],
        lambda ids: set(passage_keys) & set(ids),
    )
    assert len(set(copies)) == 50
    assert all(key < passage_ids.get_first_id_at(AT + timedelta(milliseconds=1)) for key in copies)
    assert not set(copies) & set(passage_keys)


def test_allot_ids_of_a_full_instant_uses_the_next():
    """Sixteen tries in the instant itself, then a later one."""
    (key,) = passage_ids.allot_ids(
        [PassageSlot(AT, 1, 0, 0)],
        lambda ids: {i for i in ids if i < passage_ids.get_first_id_at(AT) + 2**21},
    )
    assert passage_ids.get_first_id_at(AT + timedelta(milliseconds=1)) <= key


def test_filter_terms_are_letters_and_digits_for_any_value():
    tags = {
        filter_terms.make_workspace_term(7),
        filter_terms.make_category_term("call"),
        filter_terms.make_state_term("open"),
        *filter_terms.make_tool_terms("fs_read-file/x"),
        *filter_terms.make_person_terms("Ada \"Lovelace'"),
        *filter_terms.make_label_terms({"topic": "beds", "done": None, '"': ")"}),
    }  # fmt: skip
    assert all(re.fullmatch(r"[a-z][a-z0-9]*", tag) for tag in tags)


def test_tool_terms_have_all_prefixes_of_the_name():
    assert filter_terms.make_value_term("tool", "FS") in filter_terms.make_tool_terms(
        "fs_read_file"
    )
    assert filter_terms.make_value_term("tool", "fs_read") in filter_terms.make_tool_terms(
        "fs_read_file"
    )
    assert filter_terms.make_value_term("tool", "read") not in filter_terms.make_tool_terms(
        "fs_read_file"
    )
    assert filter_terms.make_tool_terms("") == set()
