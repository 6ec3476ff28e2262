from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.outcome import HIDDEN, Question, SecretAnswer, without
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
