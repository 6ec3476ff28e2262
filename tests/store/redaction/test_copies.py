"""Redaction of all content: the content goes from every copy, and words of its form stay."""

from __future__ import annotations

import pytest

from jpweb.store.annotations import threads
from jpweb.store.choices import RunState
from jpweb.store.models import Conversation, Person, Run, Turn, Workspace
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.stream.answer_type import Option, Select, Text
from jpweb.stream.events import ChatRequest, ToolCallRequest
from jpweb.stream.inquiry import Answered, InquiryQuestion, InquiryRequest, InquirySource
from tests.builders import make_answer
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.redaction.canary import CANARY, anchor_at, decide, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
MARKER = "[redacted by Ada: a leaked key]"


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (1, "The list of every path is here."),
        (2, "The text is of another type: boolean."),
    ],
    ids=["call", "question"],
)
def test_words_of_an_events_form_stay_in_comments(
    conversation: Conversation, ada: Person, position: int, words: str
):
    comment = threads.add_comment(conversation, anchor_at(conversation, 0), ada, words)
    preview = redact(conversation, ada, anchor_at(conversation, position))
    assert "comments" not in preview.copies
    text, nonce = comment.text, comment.nonce
    comment.refresh_from_db()
    assert (comment.text, comment.nonce) == (text, nonce)


def test_types_of_a_schema_stay_in_comments(workspace: Workspace, ada: Person):
    schema = {"type": "object", "properties": {"pin": {"type": "string", "title": CANARY}}}
    conversation = making.mirrored_conversation(workspace, ChatRequest("Which?", schema))
    words = "An object with a string of these properties:"
    comment = threads.add_comment(
        conversation, anchor_at(conversation, 0), ada, f"{words} {CANARY}"
    )
    redact(conversation, ada, anchor_at(conversation, 0))
    comment.refresh_from_db()
    assert comment.text == f"{words} {MARKER}"
    assert not has_secret(dump_tables(), CANARY)


def test_reason_may_have_words_of_an_events_form(conversation: Conversation, ada: Person):
    request = RedactionRequest(anchor_at(conversation, 2), "the text is of the wrong type")
    assert application.redact(conversation, request, ada).events


@pytest.mark.parametrize(
    "question",
    [
        InquiryQuestion(CANARY, Text()),
        InquiryQuestion("Which?", Text(), default=CANARY),
        InquiryQuestion("Which?", Text(), context=CANARY),
        InquiryQuestion("Which?", Select((Option(CANARY), Option(2)))),
        InquiryQuestion("Which?", Select((Option(1, CANARY),))),
        InquiryQuestion("Which?", Select((Option({"pin": [CANARY]}),))),
        InquiryQuestion("Which?", Select((Option({CANARY: 1}),))),
    ],
    ids=["text", "default", "context", "option", "description", "in-option", "key-of-option"],
)
def test_redaction_removes_parts_of_a_question_from_copies(
    workspace: Workspace, ada: Person, question: InquiryQuestion
):
    asked = InquiryRequest("c.q.1", InquirySource.for_tool("vault"), question)
    conversation = making.mirrored_conversation(workspace, asked, make_answer("c.q.1", "yes"))
    comment = threads.add_comment(
        conversation, anchor_at(conversation, 0), ada, f"It says {CANARY} here."
    )
    redact(conversation, ada, anchor_at(conversation, 0))
    comment.refresh_from_db()
    assert comment.text == f"It says {MARKER} here."
    assert not has_secret(dump_tables(), CANARY)


def test_redaction_removes_argument_keys_of_a_call_from_copies(workspace: Workspace, ada: Person):
    arguments = {"edits": [{CANARY: 1}, {"hunterpass": 2}]}
    conversation = making.mirrored_conversation(workspace, ToolCallRequest("c", "vault", arguments))
    comment = threads.add_comment(
        conversation, anchor_at(conversation, 0), ada, f"It says {CANARY} here."
    )
    approval = decide(conversation, arguments={"edits": [{CANARY: 1}, {"hunterpass": "edits"}]})
    redact(conversation, ada, anchor_at(conversation, 0))
    comment.refresh_from_db()
    assert comment.text == f"It says {MARKER} here."
    approval.refresh_from_db()
    edits = [{MARKER: 1}, {MARKER: "edits"}]
    assert approval.decision == {"allow": True, "arguments": {MARKER: edits}}
    tables = dump_tables()
    assert [secret for secret in (CANARY, "hunterpass") if secret in tables] == []


@pytest.mark.parametrize("strings", [(), ("allow",)], ids=["whole", "strings"])
def test_keys_of_a_decision_itself_stay(
    workspace: Workspace, ada: Person, strings: tuple[str, ...]
):
    conversation = making.mirrored_conversation(workspace, ChatRequest("allow"))
    approval = decide(conversation, reason="I allow it.")
    redact(conversation, ada, anchor_at(conversation, 0), *strings)
    approval.refresh_from_db()
    assert approval.decision == {"allow": True, "reason": f"I {MARKER} it."}


@pytest.mark.parametrize("strings", [(), (CANARY,)], ids=["whole", "strings"])
def test_redaction_removes_the_start_of_a_secret_from_cut_texts(
    workspace: Workspace, ada: Person, strings: tuple[str, ...]
):
    run = making.start_run(making.conversation(workspace, f"{'x' * 52}{CANARY}"[:60]))
    question = making.settle(making.question(run), Answered(CANARY))
    assert question.response_position is not None
    Run.objects.update(state=RunState.DONE, problem=f"{'x' * 992}{CANARY}"[:1000])
    Turn.objects.update(title=f"{'x' * 192}{CANARY}"[:200])
    redact(run.conversation, ada, anchor_at(run.conversation, question.response_position), *strings)
    assert Conversation.objects.get().title == f"{'x' * 52}{MARKER}"
    assert not has_secret(dump_tables(), CANARY[:8])


@pytest.mark.parametrize(
    ("title", "redacted_title"),
    [
        (f"About {CANARY[:8]}…", f"About {MARKER}"),
        (f"[redacted by Bo: old] {CANARY[:8]}", f"[redacted by Bo: old] {MARKER}"),
        (f"About {CANARY[:6]}", f"About {CANARY[:6]}"),
    ],
    ids=["ellipsis", "shortened", "short"],
)
def test_end_of_a_title_counts_only_where_it_may_be_cut(
    conversation: Conversation, ada: Person, title: str, redacted_title: str
):
    Conversation.objects.update(title=title)
    redact(conversation, ada, "", CANARY)
    assert Conversation.objects.get().title == redacted_title
