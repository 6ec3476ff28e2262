"""Chinese, Japanese, Korean and Thai text, which has no blanks between words.

The index's words are whole runs of such text, also of other letters beside it. So each passage
also has its pairs of adjacent characters as terms beside the filter terms, and a search asks for
the pairs of what was typed. Pairs neither have an order nor hold other letters: the rows that they
find are compared with a regular expression of the whole text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

from jpweb.store.search import tokenizer

_CHARACTERS = (
    "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_CHARACTERS}]+")
_INDEXED = re.compile(f"[{_CHARACTERS}]{{1,2}}")
#: A run, or a word of other letters beside it.
_PIECE = re.compile(rf"[{_CHARACTERS}]+|(?:(?![{_CHARACTERS}])\w)+")
#: Letters are listed, since PostgreSQL's \w is ASCII alone in the locale C.
_SEPARATOR = f"[^\\w{_CHARACTERS}\u00c0-\u02af\u0370-\u1fff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]"
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


def is_indexed(text: str) -> bool:
    """Tell whether one term of the index is the whole text: a character or a pair."""
    return _INDEXED.fullmatch(text) is not None


def make_pattern(text: str) -> str:
    """Return the regular expression of a text, for Python and PostgreSQL.

    Letters match in either case, with or without accents. Words are divided by blanks and
    punctuation as in any phrase; between two scripts these may be missing, or be there though
    they were not typed: people write GPT模型 and GPT 模型.
    """
    pieces = _PIECE.findall(text)
    pattern = _spell_piece(pieces[0])
    for earlier_piece, piece in pairwise(pieces):
        is_same_script = has_cjk(earlier_piece) == has_cjk(piece)
        pattern += _SEPARATOR + ("+" if is_same_script else "*") + _spell_piece(piece)
    return pattern


def _spell_piece(piece: str) -> str:
    return piece if has_cjk(piece) else "".join(map(_spell_letter, piece))


def _spell_letter(letter: str) -> str:
    """Return the set of a letter in either case, and of those that differ by an accent."""
    cases = [case for case in (letter, letter.lower(), letter.upper()) if len(case) == 1]
    accented_letters = _SPELLINGS.get(tokenizer.fold_text(letter), "")
    spellings = "".join(dict.fromkeys([*cases, *accented_letters]))
    return f"[{spellings}]" if len(spellings) > 1 else letter


def _list_spellings() -> dict[str, str]:
    letters: defaultdict[str, str] = defaultdict(str)
    for letter in filter(str.isalpha, map(chr, range(0x100))):
        letters[tokenizer.fold_text(letter)] += letter
    return dict(letters)


#: Letters of Latin-1 by the one without case and accent. Python takes a millisecond to compile a
#: set of more letters than these.
_SPELLINGS = _list_spellings()


def _make_term(*letters: str) -> str:
    return _PREFIX + "x".join(f"{ord(letter):x}" for letter in letters)
