"""Chinese, Japanese, Korean and Thai text, which has no blanks between words.

The index's words are whole runs of such text. So each passage also has its pairs of adjacent
characters as terms beside the filter terms, and a search asks for the pairs of what was typed.
"""

from __future__ import annotations

import re
from itertools import pairwise

_RUN = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
#: Terms of one passage.
_MAX_TERMS = 20_000
#: The letter with which the terms begin; no filter term does.
_PREFIX = "j"


def has_cjk(text: str) -> bool:
    """Tell whether a text has a character of these scripts."""
    return not text.isascii() and _RUN.search(text) is not None


def list_terms(text: str) -> frozenset[str]:
    """Return the terms of a passage: each character, and each pair of adjacent ones."""
    if text.isascii():
        return frozenset()
    terms: dict[str, None] = {}
    for match in _RUN.finditer(text):
        terms.update(dict.fromkeys(map(_make_term, match[0])))
        terms.update(dict.fromkeys(_make_term(*pair) for pair in pairwise(match[0])))
        if len(terms) >= _MAX_TERMS:
            break
    return frozenset(list(terms)[:_MAX_TERMS])


def is_term(term: str) -> bool:
    """Tell whether a term of a passage is one of these."""
    return term.startswith(_PREFIX)


def list_query_terms(text: str) -> list[str]:
    """Return the terms that a passage with this text has: pairs, or a character that is alone."""
    terms = []
    for match in _RUN.finditer(text):
        pairs = [_make_term(*pair) for pair in pairwise(match[0])]
        terms += pairs or [_make_term(match[0])]
    return list(dict.fromkeys(terms))


def _make_term(*letters: str) -> str:
    return _PREFIX + "x".join(f"{ord(letter):x}" for letter in letters)
