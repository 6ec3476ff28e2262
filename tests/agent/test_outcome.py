from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.outcome import HIDDEN, Question, SecretAnswer, after_cut, without
from jpweb.stream.answers import Boolean, Secret
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion

#: None of its letters are in what takes a secret's place.
letters = st.text("xyz0 ", max_size=8)


@given(st.lists(letters.map(SecretAnswer)), st.lists(letters).map("".join))
def test_no_secret_is_left_in_a_text(secrets, text):
    left = without(secrets, text)
    assert not any(secret.value in left for secret in secrets if len(secret.value) >= 4)


@given(st.text())
def test_without_secrets_a_text_stays_as_it_is(text):
    assert without([], text) == text


def test_the_longer_of_two_secrets_goes_first():
    secrets = [SecretAnswer("pass"), SecretAnswer("password")]
    assert without(secrets, "password, pass") == f"{HIDDEN}, {HIDDEN}"


def test_what_is_short_may_be_an_ordinary_word_and_stays():
    assert without([SecretAnswer("the"), SecretAnswer("")], "the end") == "the end"
    assert without([SecretAnswer("over")], "the over") == f"the {HIDDEN}"


ODD = "p&ss <w\"ö'r\\d>/%"


REPEATED: dict[str, Callable[[str], str]] = {
    "json": json.dumps,
    "json as it is": lambda secret: json.dumps(secret, ensure_ascii=False),
    "python": repr,
    "html": html.escape,
    "html between tags": lambda secret: html.escape(secret, quote=False),
    "html by others": lambda secret: html.escape(secret).replace("&#x27;", "&#39;"),
    "path": quote,
    "form": quote_plus,
    "query": lambda secret: quote(secret, safe=""),
    "query by others": lambda secret: re.sub("%..", lambda hex_: hex_[0].lower(), quote(secret)),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of a line": lambda secret: base64.b64encode(f"{secret}\n".encode()).decode(),
    "base64 of urls": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("way", REPEATED)
@pytest.mark.parametrize("secret", ["p&ss <w\"ö'r\\d>/%", "correct horse battery staple", "ÿþ>?~"])
def test_a_secret_is_taken_out_as_programs_commonly_repeat_it(secret, way):
    left = without([SecretAnswer(secret)], f"it is {REPEATED[way](secret)}!")
    assert left.replace('"', "").replace("'", "").replace("=", "") == f"it is {HIDDEN}!"


@given(st.text(min_size=5, alphabet="abcde"), st.integers(1, 10), st.text("xyz"))
def test_of_a_secret_that_was_cut_in_two_no_rest_is_left(secret, cut, after):
    rest = secret[cut:]
    left = after_cut([SecretAnswer(secret)], f"{rest}{after}")
    assert left == (f"{HIDDEN}{after}" if rest else after)


def test_a_text_that_lies_within_a_secret_is_hidden_as_a_whole():
    assert after_cut([SecretAnswer("correct horse")], "rect hor") == HIDDEN
    assert after_cut([SecretAnswer("correct horse")], "") == ""


def test_a_secret_answer_does_not_show_its_value():
    assert "hunter2" not in repr(SecretAnswer("hunter2"))


def test_a_question_is_persisted_with_all_it_says_but_its_own_id():
    question = Question("q", "?", Boolean(), True, "Why.", True, AnswerReusePolicy.NONE)
    assert question.persisted() == InquiryQuestion(
        "?", Boolean(), True, "Why.", exclusive=True, persistence=AnswerReusePolicy.NONE
    )


def test_secrets_and_exclusive_questions_are_for_people_alone():
    assert Question("q", "?", Secret()).human_only
    assert Question("q", "?", Boolean(), exclusive=True).human_only
    assert not Question("q", "?", Boolean()).human_only
