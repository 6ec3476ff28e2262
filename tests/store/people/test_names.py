from __future__ import annotations

import pytest

from jpweb.store.errors import InvalidName
from jpweb.store.people import names


@pytest.mark.parametrize(
    "name", ["Eve <b>", "Ольга", "田中 Tanaka", "Zoë", "José Ángel O'Neil", "x-1", " Ada "]
)
def test_check_name_of_one_script_a_word_returns_it(name: str):
    assert names.check_name(name) == name.strip()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Enter a name"),
        ("   ", "Enter a name"),
        ("a" * 151, "at most 150"),
        ("a\u202eb", "invisible character, U\\+202E"),
        ("a\u200bb", "U\\+200B"),
        ("a\x00b", "U\\+0000"),
        ("a\u2800", "U\\+2800"),
        ("a\u3164", "U\\+3164"),
        ("a\ufe0f", "U\\+FE0F"),
        ("a\u00a0b", "U\\+00A0"),
        ("a\nb", "U\\+000A"),
        ("\ud800", "U\\+D800"),
        ("\uff25ve", "another width"),
        ("a  b", "two spaces"),
        ("a\u0301\u0302\u0303\u0304", "several marks"),
        ("b\u043eb", "mixes look-alike letters"),
        ("\u03b1lpha", "mixes look-alike letters"),
    ],
)
def test_check_name_that_hides_or_imitates_is_refused(name: str, message: str):
    with pytest.raises(InvalidName, match=message):
        names.check_name(name)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Bob", "bob"),
        ("Ian", "lan"),
        ("coco", "\u0441\u043e\u0441\u043e"),
        ("ab", "a b"),
        ("ada", "\uff41da"),
        ("b0b", "bOb"),
        ("bob", "b\u043eb"),
        ("alice", "a\u200blice"),
    ],
)
def test_make_skeleton_of_lookalikes_is_the_same(first: str, second: str):
    assert names.find_lookalike(first, ["nobody", second]) == second


@pytest.mark.parametrize(("first", "second"), [("Ada", "Eda"), ("Muller", "Müller"), ("a1", "a2")])
def test_make_skeleton_of_other_names_differs(first: str, second: str):
    assert names.find_lookalike(first, [second]) is None
