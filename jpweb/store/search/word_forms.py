"""Forms of English words, so that ``decision`` also finds ``decided`` and ``decides``.

The index holds words as they are written; a query asks for all forms of a word at once. Forms that
are no words cost a lookup and match nothing. Exact phrases, prefixes and words with digits have no
other forms.
"""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

#: Letters of the shortest word that has forms.
_MIN_LETTERS = 4
_WORD = re.compile(r"[a-z]+")
_SUFFIXES = (
    "", "s", "e", "es", "ed", "er", "ers", "ing", "ings", "or", "ors", "ion", "ions", "ation",
    "ations", "ate", "ates", "ated", "ating", "ment", "ments", "al", "ally", "ly", "able", "ive",
    "y", "ies", "ied", "ier", "ance", "ence", "ness", "ity", "ize", "izes", "ized", "ure", "ures",
)  # fmt: skip
_SUFFIXES_OF_DOUBLED = ("ed", "er", "ers", "ing", "ings")
#: Ends that the stemmer leaves: slow(er), fail(ur), slow(li), prun(e).
_STEMMED_ENDS = ("er", "ur", "li", "e")
#: Ends of stems that the same word has in other forms: decis(ion), decid(e).
_STEM_ENDS = (
    ("ss", "t"), ("t", "ss"), ("ns", "nd"), ("nd", "ns"), ("s", "d"), ("d", "s"), ("pt", "b"),
    ("b", "pt"), ("i", "y"), ("ct", "c"), ("at", ""), ("izat", "iz"),
)  # fmt: skip
_IRREGULAR = (
    "become became", "begin began begun", "break broke broken", "bring brought",
    "build built", "choose chose chosen", "come came", "draw drew drawn", "drive drove driven",
    "fall fell fallen", "feel felt", "find found", "forget forgot forgotten",
    "freeze froze frozen", "give gave given", "grow grew grown", "hang hung", "have had",
    "hide hid hidden", "hold held", "keep kept", "know knew known", "lead led", "leave left",
    "lose lost", "make made", "mean meant", "meet met", "rise rose risen", "send sent",
    "shake shook shaken", "show shown", "speak spoke spoken", "spend spent", "split splits",
    "stand stood", "steal stole stolen", "stick stuck", "take took taken", "teach taught",
    "tell told", "think thought", "throw threw thrown", "understand understood", "wake woke",
    "write wrote written", "index indices indexes", "query queries", "child children",
)  # fmt: skip
_IRREGULAR_FORMS = {
    form: frozenset(forms) for forms in map(str.split, _IRREGULAR) for form in forms
}
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=2_000)
def list_forms(word: str) -> frozenset[str]:
    """Return the forms of a folded word, itself among them."""
    if len(word) < _MIN_LETTERS or not _WORD.fullmatch(word):
        return frozenset([word])
    related = _find_irregular(word)
    return frozenset([word]).union(related, *map(_list_inflections, related))


def _find_irregular(word: str) -> frozenset[str]:
    for spelling in (
        word,
        word.removesuffix("s"),
        word.removesuffix("ing"),
        word.removesuffix("ing") + "e",
    ):
        if spelling in _IRREGULAR_FORMS:
            return _IRREGULAR_FORMS[spelling] | {word}
    return frozenset([word])


def _list_inflections(word: str) -> set[str]:
    stem = _stemmer.stemWord(word)
    shorter = [stem.removesuffix(end) for end in _STEMMED_ENDS if stem.endswith(end)]
    return set().union(
        *(_inflect(base) for base in [stem, word, *shorter] if len(base) >= _MIN_LETTERS - 1)
    )


def _inflect(stem: str) -> set[str]:
    stems = {stem}
    for end, other_end in _STEM_ENDS:
        if stem.endswith(end) and len(stem) - len(end) + len(other_end) >= _MIN_LETTERS - 1:
            stems.add(stem.removesuffix(end) + other_end)
    forms = {base + suffix for base in stems for suffix in _SUFFIXES}
    doubled = {base + base[-1] for base in stems if base[-1] not in "aeiouwxy"}  # stop, stopped
    return forms | {base + suffix for base in doubled for suffix in _SUFFIXES_OF_DOUBLED}
