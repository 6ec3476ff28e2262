"""A large redaction: its plan reads alone, and each of its transactions leaves a true record."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.annotations import threads
from jpweb.store.choices import Origin
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import Comment, Conversation, JournalEntry, Person, Redaction, Workspace
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import NotRedactable, RedactionRequest
from jpweb.stream.events import ChatRequest, ChatResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from tests.builders import make_element, make_inquiry
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.redaction.canary import CANARY, anchor_at, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGE_COUNT = 45
REQUEST = RedactionRequest("", "a leaked key", (CANARY,), is_conversation_wide=True)


@pytest.fixture
def long(workspace: Workspace, ada: Person) -> Conversation:
    messages = [ChatResponse("message", f"{CANARY} {number}") for number in range(MESSAGE_COUNT)]
    conversation = making.mirrored_conversation(workspace, ChatRequest("Begin"), *messages)
    threads.add_comment(conversation, anchor_at(conversation, 1), ada, f"Look: {CANARY}.")
    return conversation


def pause_after_each_step(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Give each step of a redaction a transaction of its own, and act after each."""
    monkeypatch.setattr(application, "BATCH_SECONDS", -1.0)
    monkeypatch.setattr(application, "sleep", lambda _seconds: act())


def test_preview_of_a_redaction_begins_no_transaction(long: Conversation, ada: Person):
    with CaptureQueriesContext(connection) as queries:
        preview = application.preview_redaction(long, REQUEST, ada)
    assert len(preview.events) == MESSAGE_COUNT
    statements = {query["sql"].split()[0] for query in queries}
    assert statements - {"DECLARE"} == {"SELECT"}  # PostgreSQL declares the cursors that it reads


def test_queries_of_a_preview_do_not_grow_with_the_events(long: Conversation, ada: Person):
    with CaptureQueriesContext(connection) as queries:
        application.preview_redaction(long, REQUEST, ada)
    assert len(queries) < 25


def test_redaction_that_breaks_off_left_a_true_record(
    long: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    def break_off() -> None:
        if Redaction.objects.exists():
            raise KeyboardInterrupt

    pause_after_each_step(monkeypatch, break_off)
    with pytest.raises(KeyboardInterrupt):
        redact(long, ada, "", CANARY)
    redacted_anchors = set(Redaction.objects.values_list("anchor", flat=True))
    assert 0 < len(redacted_anchors) < MESSAGE_COUNT
    entries = JournalEntry.objects.filter(anchor__in=redacted_anchors)
    assert not entries.filter(text__contains=CANARY).exists()
    assert not has_secret(Comment.objects.get().text, CANARY)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []


def test_redaction_that_broke_off_is_finished_by_repeating_it(
    long: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    def break_off() -> None:
        if Redaction.objects.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        pause_after_each_step(patch, break_off)
        with pytest.raises(KeyboardInterrupt):
            redact(long, ada, "", CANARY)
    redact(long, ada, "", CANARY)
    assert Redaction.objects.count() == MESSAGE_COUNT
    assert not has_secret(dump_tables(), CANARY)


def test_redaction_of_equal_events_is_finished_by_repeating_it(
    workspace: Workspace, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    message = make_element(ChatResponse("message", CANARY))
    conversation = making.mirrored_conversation(workspace, *[message] * MESSAGE_COUNT)

    def break_off() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        pause_after_each_step(patch, break_off)
        with pytest.raises(KeyboardInterrupt):
            redact(conversation, ada, anchor_at(conversation, 0))
    redact(conversation, ada, anchor_at(conversation, 0))
    assert Redaction.objects.count() == MESSAGE_COUNT
    assert not has_secret(dump_tables(), CANARY)
    with pytest.raises(NotRedactable, match="already redacted"):
        redact(conversation, ada, anchor_at(conversation, 0))


def test_turn_that_begins_ends_a_redaction_and_says_how_far_it_came(
    long: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    def begin_turn() -> None:
        if Redaction.objects.exists():
            Conversation.objects.filter(pk=long.pk).update(origin=Origin.NATIVE)
            making.start_run(long)

    pause_after_each_step(monkeypatch, begin_turn)
    with pytest.raises(NotRedactable, match=rf"Stop it.* 20 of {MESSAGE_COUNT} events are"):
        redact(long, ada, "", CANARY)


def test_redaction_replaces_what_was_written_between_its_transactions(
    long: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    def write() -> None:
        if Comment.objects.count() < 2:
            threads.add_comment(long, anchor_at(long, 0), ada, f"Also {CANARY}.")
            entry = JournalEntry.objects.get(conversation=long, position=0)
            JournalEntry.objects.filter(pk=entry.pk).update(
                text=entry.text.replace("Begin", CANARY)
            )
            Conversation.objects.filter(pk=long.pk).update(revision=long.revision + 50)

    pause_after_each_step(monkeypatch, write)
    redact(long, ada, "", CANARY)
    assert not has_secret(dump_tables(), CANARY)


def test_event_without_content_has_nothing_to_redact(workspace: Workspace, ada: Person):
    declined = InquiryResponse("c.q.1", Cancelled(CancellationReason.USER))
    conversation = making.mirrored_conversation(workspace, make_inquiry("c.q.1"), declined)
    with pytest.raises(NotRedactable, match="has nothing to redact"):
        redact(conversation, ada, anchor_at(conversation, 1))
