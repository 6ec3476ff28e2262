"""Forms of English words, so that ``decision`` also finds ``decided`` and ``decides``.

The index holds words as they are written; a query asks for all forms of a word at once. Forms that
are no words cost a lookup and match nothing. Exact phrases, prefixes and words with digits have no
other forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import snowballstemmer

#: Letters of the shortest word that has forms.
_MIN_LETTERS = 4
_WORD = re.compile(r"[a-z]+")
_SUFFIXES = (
    "", "s", "e", "es", "ed", "er", "ers", "ing", "or", "ion", "ions", "ation", "ment", "al", "ly",
    "able", "ive",
)  # fmt: skip
#: Suffixes of stems that are guessed from another form.
_SUFFIXES_OF_OTHERS = ("", "e", "es", "ed", "ing", "ion", "ions", "s", "ly", "er", "ure")
_SUFFIXES_OF_DOUBLED = ("ed", "er", "ing")
#: Ends that the stemmer leaves: slow(er), fail(ur), slow(li), prun(e).
_STEMMED_ENDS = ("er", "ur", "li", "e")
#: Ends of stems that verbs and their nouns have: decid(e), decis(ion).
_STEM_ENDS = (
    ("ss", "t"), ("t", "ss"), ("ns", "nd"), ("nd", "ns"), ("s", "d"), ("d", "s"), ("pt", "b"),
    ("b", "pt"),
)  # fmt: skip
#: Ends of stems of nouns, and those of their verbs: reduct(ion), citat(ion).
_NOUN_STEM_ENDS = (*_STEM_ENDS, ("ct", "c"), ("at", ""), ("izat", "iz"))
_NOUN_ENDS = ("ion", "ions")
#: Letters of the shortest stem with another end that is tried with each suffix, unless the word is
#: such a noun. Shorter ones are words of their own: word, worse; lease, lead.
_MIN_STEM_LETTERS = 5
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
    related_words = _find_irregular(word)
    return frozenset([word]).union(related_words, *map(_list_inflections, related_words))


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
    base_words = [stem.removesuffix(end) for end in _STEMMED_ENDS if stem.endswith(end)]
    base_words += [stem.removesuffix("i") + "y"] if stem.endswith("i") else []
    changed_stems = _change_ends(stem, _STEM_ENDS)
    if word.endswith(_NOUN_ENDS):
        base_words += _change_ends(stem, _NOUN_STEM_ENDS)
    else:
        base_words += [base for base in changed_stems if len(base) >= _MIN_STEM_LETTERS]
    stems = {base for base in (stem, word, *base_words) if len(base) >= _MIN_LETTERS - 1}
    # As in stop, stopped.
    doubled_words = {base + base[-1] for base in stems if base[-1] not in "aeiouwxy"}
    return (
        {stem + suffix for suffix in _SUFFIXES}
        | {base + suffix for base in stems for suffix in _SUFFIXES_OF_OTHERS}
        | {base + suffix for base in doubled_words for suffix in _SUFFIXES_OF_DOUBLED}
        | {base + suffix for base in changed_stems for suffix in _NOUN_ENDS}
    )


def _change_ends(stem: str, ends: Sequence[tuple[str, str]]) -> list[str]:
    changed_words = (
        stem.removesuffix(end) + new_end for end, new_end in ends if stem.endswith(end)
    )
    return [base for base in changed_words if len(base) >= _MIN_LETTERS - 1]
