from __future__ import annotations

import pytest

from jpweb.agent.tool_calls import model_messages
from jpweb.stream.inquiry import CancellationReason


def test_the_short_texts_are_those_of_jp():
    assert model_messages.INPUT_CANCELLED == "Tool input cancelled by user."
    assert model_messages.INTERRUPTED == "Tool call was interrupted."
    assert model_messages.SKIPPED == "Tool skipped by user."
    assert model_messages.SKIPPED_REMEMBERED == "Tool skipped by user (remembered)."
    assert model_messages.WITHHELD == "Result delivery skipped by user."
    assert model_messages.WITHHELD_BY_CONFIGURATION == "Result delivery skipped by configuration."
    assert model_messages.describe_skip("") == "Tool skipped by user."
    assert model_messages.describe_skip("Too risky.") == "Tool skipped by user: Too risky."


def test_persons_message_follows_a_header_and_an_empty_line():
    header, empty, *lines = model_messages.describe_response("Two\nlines.").split("\n")
    assert "user" in header
    assert empty == ""
    assert lines == ["Two", "lines."]


def test_a_stopped_call_asks_the_model_to_find_out_why():
    assert "on purpose" in model_messages.STOPPED
    assert "find out" in model_messages.STOPPED


def test_a_tool_that_cannot_be_used_now_says_why_and_until_when():
    assert model_messages.describe_unavailable("vault", "Its server is down.") == (
        "The tool vault is not available: Its server is down. Do not call it again until it is "
        "offered."
    )


@pytest.mark.parametrize(
    "text",
    [
        model_messages.describe_bad_id("vault"),
        model_messages.describe_ambiguous_options("vault"),
        model_messages.describe_too_many("vault", 25),
        model_messages.describe_refusal("vault", "key", CancellationReason.INVALID_STATIC_ANSWER),
        model_messages.describe_refusal(
            "vault", "key", CancellationReason.ASSISTANT_ROUTING_DENIED
        ),
        model_messages.describe_refusal("vault", "key", CancellationReason.NO_PROMPT_BACKEND),
        model_messages.describe_unanswered("vault", "key", CancellationReason.EXPIRED),
        model_messages.describe_not_permitted("vault"),
        model_messages.describe_not_delivered("vault"),
    ],
)
def test_a_text_names_the_tool_and_forbids_a_retry(text):
    assert "vault" in text
    assert "do not retry" in text.lower()


def test_a_tool_that_is_not_there_is_not_to_be_called_again_until_it_is():
    assert model_messages.describe_unknown_tool("vault") == (
        "The tool vault is not available. Do not call it again until it is offered."
    )


def test_a_wrong_static_answer_names_the_setting():
    text = model_messages.describe_refusal("vault", "key", CancellationReason.INVALID_STATIC_ANSWER)
    assert "conversation.tools.vault.questions.key.answer" in text


def test_an_assistant_target_is_refused_in_the_words_of_rfd_083():
    assert model_messages.describe_refusal(
        "vault", "key", CancellationReason.ASSISTANT_ROUTING_DENIED
    ) == (
        "vault requires a human answer and cannot be routed to the assistant. Do not retry this "
        "tool call in this turn."
    )


def test_a_failed_backend_may_be_tried_again():
    text = model_messages.describe_backend_failure("vault", "key", "out of tokens")
    assert text == (
        "vault asked the question “key”, and a secondary assistant could not answer it: out of "
        "tokens. You may retry the tool call or end the turn."
    )


def test_describe_unanswered_names_question_and_reason():
    text = model_messages.describe_unanswered("vault", "key", CancellationReason.LOST)
    assert "“key”" in text
    assert "(lost)" in text


def test_time_that_ran_out_is_neither_a_yes_nor_a_no():
    assert model_messages.describe_unanswered("vault", "key", CancellationReason.EXPIRED) == (
        "No one answered the question “key” of vault in time. Nothing has been decided: no one "
        "agreed, no one refused, and the call did not go on. Do not act as if someone had agreed, "
        "and do not retry this tool call in this turn; continue without what it was to do, and say "
        "that the question is still open."
    )


@pytest.mark.parametrize("word", ["cancelled", "declined", "skipped", "by user", "stopped"])
def test_time_that_ran_out_has_no_word_in_common_with_a_decline(word):
    decline = (
        model_messages.INPUT_CANCELLED,
        model_messages.STOPPED,
        model_messages.SKIPPED,
        "declined",
    )
    assert any(word in text.lower() for text in decline)
    assert (
        word
        not in model_messages.describe_unanswered(
            "vault", "key", CancellationReason.EXPIRED
        ).lower()
    )


def test_declined_input_message_ends_with_the_persons_note():
    assert model_messages.describe_cancelled_input("") == "Tool input cancelled by user."
    assert (
        model_messages.describe_cancelled_input("Ask Ann.")
        == "Tool input cancelled by user: Ask Ann."
    )
