from __future__ import annotations

from jpweb.agent.outcome import Question
from jpweb.stream.answers import Boolean, Secret
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion


def test_a_question_is_persisted_with_all_it_says_but_its_own_id():
    question = Question("q", "?", Boolean(), True, "Why.", True, AnswerReusePolicy.NONE)
    assert question.persisted() == InquiryQuestion(
        "?", Boolean(), True, "Why.", exclusive=True, persistence=AnswerReusePolicy.NONE
    )


def test_secrets_and_exclusive_questions_are_for_people_alone():
    assert Question("q", "?", Secret()).human_only
    assert Question("q", "?", Boolean(), exclusive=True).human_only
    assert not Question("q", "?", Boolean()).human_only
