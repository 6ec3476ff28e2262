"""Forms of words, and text without blanks between words."""

from __future__ import annotations

import re

import pytest

from jpweb.store.search import cjk, word_forms

RELATED = [
    ("decision", "decided", "decides", "deciding"),
    ("choose", "chose", "chosen", "choosing", "chooses"),
    ("permission", "permit", "permitted"),
    ("extend", "extension", "extends"),
    ("describe", "description", "described"),
    ("stop", "stopped", "stopping", "stops"),
    ("query", "queries"),
    ("configure", "configuration", "configured"),
    ("fail", "failure", "failed", "failing"),
    ("embed", "embedding", "embedded"),
    ("embedding", "embeddings"),
    ("build", "built", "builds", "building"),
    ("slow", "slowly", "slower"),
    ("highlight", "highlighting", "highlights"),
    ("respond", "responds", "response", "responses", "responding"),
    ("erode", "erosion"),
    ("migrate", "migration", "migrated"),
    ("retry", "retries", "retried"),
    ("subscribe", "subscription", "subscribed"),
]


@pytest.mark.parametrize("forms", RELATED, ids=lambda forms: forms[0])
def test_list_forms_of_a_word_form_has_all_other_forms(forms: tuple[str, ...]):
    missing_forms = {
        (typed, form)
        for typed in forms
        for form in forms
        if form not in word_forms.list_forms(typed)
    }
    assert missing_forms == set()


@pytest.mark.parametrize("word", ["ls", "e0432", "fs_read", "grüße", "東京", "abc"])
def test_list_forms_of_a_non_english_word_is_the_word(word: str):
    assert word_forms.list_forms(word) == {word}


@pytest.mark.parametrize(
    ("word", "other"), [("rust", "rusting"), ("wit", "with"), ("model", "mode")]
)
def test_words_that_only_begin_alike_stay_apart(word: str, other: str):
    assert other == "rusting" or other not in word_forms.list_forms(word)


@pytest.mark.parametrize(
    ("typed", "text", "is_found"),
    [
        ("Python入門", "CPYTHON入門の本", True),
        ("Python入門", "Ruby入門の本", False),
        ("Python入門", "Python\uff08入門\uff09", True),
        ("東京、大阪", "東京\n大阪", True),
        ("東京、大阪", "東京と大阪", False),
        ("東京、大阪", "東京大阪", False),
        ("東京都", "京都と東京", False),
        ("C++入門", "C 入門", True),
        ("GPT模型", "GPTé模型", False),
        ("GPT模型", "GPT\uff38模型", False),
        ("café店", "cafe\u0301店", True),
        ("ọ店", "Ọ店", True),
        ("straße店", "STRAßE店", True),
        ("⑴İ店", "⑴i店", True),
        ("ภาษาไทย", "เรียนภาษาไทยกัน", True),
    ],
)
def test_a_pattern_is_found_in_text_that_has_it(typed: str, text: str, is_found: bool):
    assert (re.search(cjk.make_pattern(typed), text) is not None) is is_found


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("card", "cars"),
        ("create", "creed"),
        ("fact", "face"),
        ("format", "form"),
        ("lease", "lead"),
        ("less", "letter"),
        ("pass", "pat"),
        ("template", "temple"),
        ("threat", "three"),
        ("treat", "trees"),
        ("word", "worse"),
    ],
)
def test_words_of_another_stem_stay_apart(word: str, other: str):
    assert other not in word_forms.list_forms(word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("citation", "cited"), ("organization", "organize"), ("production", "produced")],
)
def test_a_noun_of_an_action_finds_its_verb(word: str, other: str):
    assert other in word_forms.list_forms(word)


def test_text_without_blanks_has_a_term_for_each_character_and_pair():
    assert len(cjk.list_terms("東京都 and 京都")) == 3 + 2
    assert cjk.list_query_terms("東京都") == ["j6771x4eac", "j4eacx90fd"]
    assert set(cjk.list_query_terms("都")) < cjk.list_terms("東京都")
    assert cjk.list_terms("nothing of it, ñ") == frozenset()
    assert len(cjk.list_terms("".join(map(chr, range(0x4E00, 0x9FFF))) * 2)) == 20_000
