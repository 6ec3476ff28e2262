"""Rows and transcript agree about questions that another program left open (issue 14, 2.1)."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from jpweb.store import inquiries, journal, runs
from jpweb.store.choices import RunState
from jpweb.store.errors import AlreadySettled
from jpweb.store.models import Conversation, Inquiry, Run
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import CancellationReason
from jpweb.stream.outline import build_outline
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.store import making

pytestmark = pytest.mark.django_db
ID = "tool_0.confirm.1"
INTERRUPTED = (TurnStart(), ChatRequest("Hello"), make_call("tool_0"), make_inquiry(ID))


def replace_journal(conversation: Conversation, *kinds: Any) -> None:
    """Let a native conversation hold what jp added on disk."""
    outline = build_outline(stream(*kinds))
    journal.replace_elements(conversation, stream(*kinds), outline.anchors)
    inquiries.rebuild_rows(conversation, outline)
    conversation.save()


@pytest.fixture
def conversation() -> Any:
    """Return a conversation whose last turn a jp was interrupted in, at a question."""
    conversation = making.conversation(making.workspace())
    replace_journal(conversation, *INTERRUPTED)
    return conversation


def start_run(conversation: Conversation) -> Run:
    return making.acquire_run(runs.start_run(conversation.pk, making.person().pk, "scripted"))


def add(conversation: Conversation, *kinds: Any, run: Run | None = None) -> None:
    journal.append_events(conversation.pk, [making.event(kind) for kind in kinds], run)


def states(conversation: Conversation) -> list[str]:
    rows = Inquiry.objects.filter(conversation=conversation).order_by("position")
    return list(rows.values_list("state", flat=True))


def transcript(conversation: Conversation) -> list[str]:
    pairs = build_outline(journal.read_elements(conversation.pk)).list_inquiries()
    return [
        inquiry.state for inquiry, _ in sorted(pairs, key=lambda pair: pair[0].request.position)
    ]


def test_open_row_of_an_interrupted_turn_is_unanswered_once_a_turn_begins(
    conversation: Conversation,
):
    assert states(conversation) == transcript(conversation) == ["open"]
    add(conversation, TurnStart())
    assert states(conversation) == transcript(conversation) == ["unanswered"]
    assert inquiries.count_by_state([conversation.pk]) == {conversation.pk: {"unanswered": 1}}


def test_open_row_of_a_resumed_call_is_unanswered_once_the_call_ends(conversation: Conversation):
    run = start_run(conversation)
    add(conversation, make_call("tool_1"), make_inquiry("tool_1.other.1"), run=run)
    add(conversation, make_result("tool_0"), run=run)
    assert states(conversation) == transcript(conversation) == ["unanswered", "open"]
    add(conversation, make_answer("tool_1.other.1"), make_result("tool_1"), run=run)
    assert states(conversation) == transcript(conversation) == ["unanswered", "answered"]


def test_stray_open_row_is_unanswered_once_the_turn_is_done(conversation: Conversation):
    replace_journal(conversation, TurnStart(), ChatRequest("Hello"), make_inquiry("stray"))
    run = start_run(conversation)
    add(conversation, ChatResponse("message", "Done."), run=run)
    assert runs.end_run(run, RunState.DONE)
    assert states(conversation) == transcript(conversation) == ["unanswered"]


def test_answer_settles_the_row_of_its_own_turn(conversation: Conversation):
    run = start_run(conversation)
    add(
        conversation,
        TurnStart(),
        ChatRequest("Again"),
        make_call("tool_0"),
        make_inquiry(ID),
        run=run,
    )
    Inquiry.objects.filter(conversation=conversation).update(
        state="open"
    )  # as rows were left before
    row = inquiries.find_by_inquiry_id(conversation.pk, ID)
    journal.append_events(conversation.pk, [making.event(make_answer(ID))], row=row)
    assert states(conversation) == ["open", "answered"]
    assert transcript(conversation) == ["unanswered", "answered"]


def test_answer_settles_its_own_row_of_two_with_one_id_in_a_turn(conversation: Conversation):
    run = start_run(conversation)
    add(conversation, make_inquiry(ID), run=run)
    row = Inquiry.objects.get(conversation=conversation, run=run)
    journal.append_events(conversation.pk, [making.event(make_answer(ID))], row=row)
    assert states(conversation) == transcript(conversation) == ["cancelled", "answered"]
    older = Inquiry.objects.filter(conversation=conversation).earliest("position")
    assert (older.reason, older.decided_by) == (CancellationReason.LOST, "system")


def test_answer_to_a_row_that_was_left_is_refused_and_settles_no_other(conversation: Conversation):
    older_row = Inquiry.objects.get(conversation=conversation)
    run = start_run(conversation)
    add(conversation, TurnStart(), make_call("tool_0"), make_inquiry(ID), run=run)
    with pytest.raises(AlreadySettled) as error:
        journal.append_events(conversation.pk, [making.event(make_answer(ID))], row=older_row)
    assert error.value.inquiry.pk == older_row.pk
    assert states(conversation) == ["unanswered", "open"]


def test_lost_run_closes_its_own_row_of_two_with_one_id(conversation: Conversation):
    run = start_run(conversation)
    add(conversation, make_inquiry(ID), run=run)
    runs.close_open(run, CancellationReason.LOST)
    assert not Inquiry.objects.filter(conversation=conversation, run=run, state="open").exists()
    assert states(conversation) == transcript(conversation)


def test_migration_marks_open_rows_of_earlier_turns(conversation: Conversation):
    replace_journal(
        conversation,
        *INTERRUPTED,
        TurnStart(),
        ChatRequest("On"),
        make_call("c"),
        make_inquiry("c.q.1"),
    )
    Inquiry.objects.filter(conversation=conversation).update(state="open")
    migration = importlib.import_module("jpweb.store.migrations.0007_unanswered_questions")
    migration.leave(apps, SimpleNamespace(connection=connection))
    assert states(conversation) == transcript(conversation) == ["unanswered", "open"]
