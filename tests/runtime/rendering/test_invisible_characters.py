from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime.rendering.invisible_characters import reveal_invisible

ODD = (
    "ab \n\t\r\x00\x1b\x7f\x85\u202e\u2066\u200b\u200d\ufe0f\u0301\u0489\ud800\U0001f3f4\U000e0067"
)
TEXTS = st.text(st.sampled_from(ODD) | st.characters(), max_size=80)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, “text” — ñ 日本 العربية", "plain, “text” — ñ 日本 العربية"),
        ("a\u202etxt.exe\u202c", "a⟨U+202E⟩txt.exe⟨U+202C⟩"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("a\x00b\x1b[", "a␀b␛["),
        ("\x7f\x85", "␡⟨U+0085⟩"),
        ("half \ud800", "half ⟨U+D800⟩"),
        ("a\r\nb\rc\n", "a\nb␍c\n"),
        ("e\u0301", "e\u0301"),
        ("z" + "\u0301" * 9, "z" + "\u0301" * 4 + "⟨and 5 more marks⟩"),
        ("a" + "\u200b" * 5, "a⟨5 invisible characters⟩"),
        ("/srv/a\u200bb", "/srv/a⟨U+200B⟩b"),
        ("rm\u00ad\u200d-r", "rm⟨U+00AD⟩⟨U+200D⟩-r"),
        ("👩\u200d🚀 ❤\ufe0f", "👩\u200d🚀 ❤\ufe0f"),
        ("1\ufe0f\u20e3 می\u200cشود C\u200e ", "1\ufe0f\u20e3 می\u200cشود C\u200e "),
        ("\U000e0048\U000e0069", "⟨hidden: Hi⟩"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e007f"),
    ],
)
def test_reveal_invisible_shows_hidden_and_bidirectional_characters(text: str, expected: str):
    assert reveal_invisible(text) == expected


@given(TEXTS)
def test_reveal_invisible_returns_encodable_text_without_overrides(text: str):
    result = reveal_invisible(text)
    result.encode()
    assert not [c for c in result if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not [c for c in result if unicodedata.bidirectional(c) in ("LRO", "RLO", "LRI", "RLI")]
    assert reveal_invisible(result) == result
