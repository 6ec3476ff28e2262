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
from tests.builders import answered, asked, called, returned, stream
from tests.store import making

pytestmark = pytest.mark.django_db
ID = "tool_0.confirm.1"
INTERRUPTED = (TurnStart(), ChatRequest("Hello"), called("tool_0"), asked(ID))


def taken_in(talk: Conversation, *kinds: Any) -> None:
    """Let a native conversation hold what jp added on disk."""
    shown = build_outline(stream(*kinds))
    journal.replace_elements(talk, stream(*kinds), shown.anchors)
    inquiries.derive_rows(talk, shown)
    talk.save()


@pytest.fixture
def talk() -> Any:
    """Return a conversation whose last turn a jp was interrupted in, at a question."""
    made = making.conversation(making.workspace())
    taken_in(made, *INTERRUPTED)
    return made


def running(talk: Conversation) -> Run:
    return making.taken(runs.start_run(talk.pk, making.person().pk, "scripted"))


def add(talk: Conversation, *kinds: Any, run: Run | None = None) -> None:
    journal.append_events(talk.pk, [making.event(kind) for kind in kinds], run)


def states(talk: Conversation) -> list[str]:
    rows = Inquiry.objects.filter(conversation=talk).order_by("position")
    return list(rows.values_list("state", flat=True))


def transcript(talk: Conversation) -> list[str]:
    found = build_outline(journal.read_elements(talk.pk)).list_inquiries()
    return [each.state for each, _ in sorted(found, key=lambda pair: pair[0].request.position)]


def test_open_row_of_an_interrupted_turn_is_unanswered_once_a_turn_begins(talk: Conversation):
    assert states(talk) == transcript(talk) == ["open"]
    add(talk, TurnStart())
    assert states(talk) == transcript(talk) == ["unanswered"]
    assert inquiries.count_by_state([talk.pk]) == {talk.pk: {"unanswered": 1}}


def test_open_row_of_a_resumed_call_is_unanswered_once_the_call_ends(talk: Conversation):
    run = running(talk)
    add(talk, called("tool_1"), asked("tool_1.other.1"), run=run)
    add(talk, returned("tool_0"), run=run)
    assert states(talk) == transcript(talk) == ["unanswered", "open"]
    add(talk, answered("tool_1.other.1"), returned("tool_1"), run=run)
    assert states(talk) == transcript(talk) == ["unanswered", "answered"]


def test_stray_open_row_is_unanswered_once_the_turn_is_done(talk: Conversation):
    taken_in(talk, TurnStart(), ChatRequest("Hello"), asked("stray"))
    run = running(talk)
    add(talk, ChatResponse("message", "Done."), run=run)
    assert runs.end_run(run, RunState.DONE)
    assert states(talk) == transcript(talk) == ["unanswered"]


def test_answer_settles_the_row_of_its_own_turn(talk: Conversation):
    run = running(talk)
    add(talk, TurnStart(), ChatRequest("Again"), called("tool_0"), asked(ID), run=run)
    Inquiry.objects.filter(conversation=talk).update(state="open")  # as rows were left before
    row = inquiries.find_by_inquiry_id(talk.pk, ID)
    journal.append_events(talk.pk, [making.event(answered(ID))], row=row)
    assert states(talk) == ["open", "answered"]
    assert transcript(talk) == ["unanswered", "answered"]


def test_answer_settles_its_own_row_of_two_with_one_id_in_a_turn(talk: Conversation):
    run = running(talk)
    add(talk, asked(ID), run=run)
    row = Inquiry.objects.get(conversation=talk, run=run)
    journal.append_events(talk.pk, [making.event(answered(ID))], row=row)
    assert states(talk) == transcript(talk) == ["cancelled", "answered"]
    older = Inquiry.objects.filter(conversation=talk).earliest("position")
    assert (older.reason, older.decided_by) == (CancellationReason.LOST, "system")


def test_answer_to_a_row_that_was_left_is_refused_and_settles_no_other(talk: Conversation):
    left = Inquiry.objects.get(conversation=talk)
    run = running(talk)
    add(talk, TurnStart(), called("tool_0"), asked(ID), run=run)
    with pytest.raises(AlreadySettled) as refused:
        journal.append_events(talk.pk, [making.event(answered(ID))], row=left)
    assert refused.value.inquiry.pk == left.pk
    assert states(talk) == ["unanswered", "open"]


def test_lost_run_closes_its_own_row_of_two_with_one_id(talk: Conversation):
    run = running(talk)
    add(talk, asked(ID), run=run)
    runs.close_open(run, CancellationReason.LOST)
    assert not Inquiry.objects.filter(conversation=talk, run=run, state="open").exists()
    assert states(talk) == transcript(talk)


def test_migration_marks_open_rows_of_earlier_turns(talk: Conversation):
    taken_in(talk, *INTERRUPTED, TurnStart(), ChatRequest("On"), called("c"), asked("c.q.1"))
    Inquiry.objects.filter(conversation=talk).update(state="open")
    migration = importlib.import_module("jpweb.store.migrations.0007_unanswered_questions")
    migration.leave(apps, SimpleNamespace(connection=connection))
    assert states(talk) == transcript(talk) == ["unanswered", "open"]
