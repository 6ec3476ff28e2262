from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.store import inquiries, journal
from jpweb.store.choices import RunState
from jpweb.store.maintenance import inquiry_expiry
from jpweb.store.models import Inquiry, Run, Workspace
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import Answered
from jpweb.stream.outline import build_outline
from tests.builders import AT, make_inquiry
from tests.store import making

pytestmark = pytest.mark.django_db
ASKED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def get_workspace(run: Run) -> Workspace:
    return Workspace.objects.get(pk=run.conversation.workspace_id)


def question(run: Run, **note_fields: Any) -> Inquiry:
    """Return a question that is asked with this beside it."""
    event = ConversationEvent(
        AT, make_inquiry("call_1.q.1"), {"jpweb": note_fields} if note_fields else {}
    )
    journal.append_events(run.conversation_id, [event], run)
    return inquiries.find_by_inquiry_id(run.conversation_id, "call_1.q.1")


def waiting(run: Run, seconds: float | None) -> Inquiry:
    """Return a question whose time is over in so many seconds."""
    row = making.question(run)
    row.expires_at = None if seconds is None else datetime.now(UTC) + timedelta(seconds=seconds)
    row.save()
    return row


@pytest.mark.parametrize(
    ("of_question", "of_the_workspace", "seconds"),
    [
        (None, None, None),
        (None, 3_600, 3_600),
        (90.0, None, 90),
        (90, 3_600, 90),
        (7_200.0, 3_600, 7_200),
        (0.5, 3_600, 0.5),
    ],
)
def test_question_expiry_overrides_that_of_the_workspace(
    run: Run, of_question: float | None, of_the_workspace: int | None, seconds: float | None
):
    inquiry_expiry.set_expiry(get_workspace(run), of_the_workspace)
    row = question(run) if of_question is None else question(run, expires_after=of_question)
    assert row.asked_at == ASKED_AT
    expected = None if seconds is None else ASKED_AT + timedelta(seconds=seconds)
    assert row.expires_at == expected


def test_set_expiry_does_not_affect_other_workspaces(run: Run):
    inquiry_expiry.set_expiry(making.workspace(), 3_600)
    assert question(run).expires_at is None


def test_set_expiry_applies_only_to_later_questions(run: Run):
    row = question(run)
    inquiry_expiry.set_expiry(get_workspace(run), 60)
    row.refresh_from_db()
    assert row.expires_at is None
    later_question = making.question(run)
    inquiry_expiry.set_expiry(get_workspace(run), None)
    later_question.refresh_from_db()
    assert later_question.expires_at == later_question.asked_at + timedelta(seconds=60)


def test_find_expired_returns_open_questions_past_their_time(run: Run):
    expired_question = waiting(run, -1)
    waiting(run, 60)
    waiting(run, None)
    making.settle(waiting(run, -1), Answered(True))
    assert inquiry_expiry.find_expired(0, 10) == [expired_question.pk]


def test_find_expired_returns_batches_by_key(run: Run):
    keys = [waiting(run, -1).pk for _ in range(5)]
    assert inquiry_expiry.find_expired(0, 2) == keys[:2]
    assert inquiry_expiry.find_expired(keys[1], 2) == keys[2:4]
    assert inquiry_expiry.find_expired(keys[3], 2) == keys[4:]
    assert inquiry_expiry.find_expired(keys[4], 2) == []


@pytest.mark.parametrize("state", RunState)
def test_find_expired_ignores_questions_of_ended_runs(run: Run, state: RunState):
    row = waiting(run, -1)
    Run.objects.filter(pk=run.pk).update(state=state)
    lives = state in ("queued", "running", "parked")
    assert inquiry_expiry.find_expired(0, 10) == ([row.pk] if lives else [])


def test_a_question_without_a_run_is_not_touched(run: Run):
    row = waiting(run, -1)
    Inquiry.objects.filter(pk=row.pk).update(run=None)
    assert inquiry_expiry.find_expired(0, 10) == []


def test_rebuilt_inquiry_row_keeps_its_expiry(run: Run):
    row = question(run, expires_after=90)
    outline = build_outline(journal.read_elements(run.conversation_id))
    assert inquiries.rebuild_rows(run.conversation, outline) == {"open": 1}
    second_row = inquiries.get_inquiry(row.pk)
    assert (second_row.pk, second_row.expires_at) == (row.pk, row.expires_at)
