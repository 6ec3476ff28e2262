from __future__ import annotations

from jpweb.agent.tool_outcome import Question
from jpweb.stream.answer_type import Boolean, Secret
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion


def test_a_question_is_persisted_with_all_it_says_but_its_own_id():
    question = Question("q", "?", Boolean(), True, "Why.", True, AnswerReusePolicy.NONE)
    assert question.to_inquiry_question() == InquiryQuestion(
        "?", Boolean(), True, "Why.", exclusive=True, persistence=AnswerReusePolicy.NONE
    )


def test_secrets_and_exclusive_questions_are_for_people_alone():
    assert Question("q", "?", Secret()).is_human_only
    assert Question("q", "?", Boolean(), exclusive=True).is_human_only
    assert not Question("q", "?", Boolean()).is_human_only
