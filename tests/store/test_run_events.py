"""What putting something on record takes of the database, and that it goes together."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import inquiries, journal, run_events, runs
from jpweb.store.choices import InterruptKind
from jpweb.store.errors import AlreadySettled, LeaseLost
from jpweb.store.inquiries import Decider
from jpweb.store.models import CallCheckpoint, Conversation, Inquiry, Run, Turn
from jpweb.store.run_queue import call_checkpoints, interrupts
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.builders import make_answer, make_inquiry
from tests.store import making

pytestmark = pytest.mark.django_db
#: No event before is equal to one of then.
LATER = "2026-01-03 03:04:05.0"

#: What is recorded, in this order, and the statements that each of it takes.
STEPS: list[tuple[EventKind, int]] = [
    (ToolCallRequest("call_2", "git"), 5),  # conversation, run, anchor; entry, conversation
    (make_inquiry("call_2.q.1"), 9),  # + turn, call, when it expires; question
    (make_answer("call_2.q.1"), 8),  # + which question, question, ledger
    (
        ToolCallResponse("call_2", "Done.", is_error=False),
        11,
    ),  # + turn, call, its result, open; kept, decisions
    (ChatResponse("message", "So be it."), 5),
    (TurnStart(), 9),  # + turn, whether it is empty, what is open; turn
    (ChatRequest("Once more"), 7),  # + turn; its words
]


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def make_event(kind: EventKind) -> ConversationEvent:
    event = making.event(kind, LATER)
    if getattr(kind, "TAG", "") == "inquiry_request":
        event.metadata["jpweb"] = {"tool_call_id": "call_2"}
    return event


def statements(run: Run, kind: EventKind) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        run_events.record_events(run, [make_event(kind)])
    queries = [query["sql"] for query in captured]
    return [sql for sql in queries if "SAVEPOINT" not in sql]


def test_statements_of_each_event_are_as_many_as_listed(run: Run):
    took = [(kind.TAG, len(statements(run, kind))) for kind, _ in STEPS]
    assert took == [(kind.TAG, statement_count) for kind, statement_count in STEPS]


def test_record_events_in_a_transaction_takes_one_savepoint(run: Run):
    with CaptureQueriesContext(connection) as captured:
        run_events.record_events(run, [make_event(STEPS[0][0])])
    assert sum(query["sql"].startswith("SAVEPOINT") for query in captured) == 1


def test_record_events_reads_only_by_index(run: Run):
    select_statements = [
        sql for kind, _ in STEPS for sql in statements(run, kind) if sql.startswith("SELECT")
    ]
    plans = [plan(sql) for sql in select_statements]
    assert [plan for plan in plans if "Seq Scan" in plan or "SCAN " in plan] == []
    anchors = [plan for sql, plan in zip(select_statements, plans, strict=True) if "anchor" in sql]
    assert len(anchors) == len(STEPS)
    assert [plan for plan in anchors if "anchor" not in plan] == []


def plan(sql: str) -> str:
    """Return how the database would look for it, were there much to look through."""
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"{explain} {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_a_run_is_woken_only_where_it_is_parked(run: Run):
    first, second = making.question(run), making.question(run)
    Run.objects.update(fence=run.fence)
    assert not any('"queued_at"' in sql for sql in statements(run, make_answer(first.inquiry_id)))
    assert runs.park_run(run, [second.pk], []) is True
    making.settle(second, Answered(True))
    run.refresh_from_db()
    assert run.state == "queued"


def test_record_events_that_fails_records_nothing(run: Run):
    row = making.settle(making.question(run), Cancelled(CancellationReason.USER))
    before = Conversation.objects.values().get(), Run.objects.values().get()
    events = [make_event(TurnStart()), make_event(make_answer(row.inquiry_id))]
    with pytest.raises(AlreadySettled):
        run_events.record_events(run, events)
    assert (Conversation.objects.values().get(), Run.objects.values().get()) == before
    assert making.count_entries(run.conversation_id) == before[0]["entry_count"]
    assert Turn.objects.count() == 1


def test_a_question_is_found_by_its_id_open_or_not(run: Run):
    conversation = run.conversation_id
    for _ in range(3):
        journal.append_events(conversation, [make_event(make_inquiry("c.q.1"))], run)
    newest = Inquiry.objects.latest("position")
    for _ in range(3):
        assert inquiries.find_by_inquiry_id(conversation, "c.q.1") == newest
        journal.append_events(conversation, [make_event(make_answer("c.q.1"))])
    assert inquiries.find_by_inquiry_id(conversation, "c.q.1") == newest


CHECKPOINT = {"content": "Done.", "is_error": False, "delivered": True, "was_cut_off": False}


def test_restart_saves_the_length_of_the_journal(run: Run):
    takeover_position = run.takeover_position
    run_events.record_events(run, [make_event(STEPS[0][0])])
    call_checkpoints.save_checkpoint(run, "call_2", CHECKPOINT)
    length = making.count_entries(run.conversation_id)
    first, second = (
        interrupts.add_interrupt(run, InterruptKind.RESTART, Decider("person", "Ada"))
        for _ in range(2)
    )
    assert run_events.restart_calls(run, [first.pk]) == length
    run.refresh_from_db()
    assert (run.takeover_position, run.restart_position) == (takeover_position, length)
    assert CallCheckpoint.objects.count() == 0
    assert interrupts.list_pending([run]) == [second]


def test_restart_by_a_process_that_lost_the_run_changes_nothing(run: Run):
    call_checkpoints.save_checkpoint(run, "call_2", CHECKPOINT)
    interrupt = interrupts.add_interrupt(run, InterruptKind.RESTART, Decider("person", "Ada"))
    Run.objects.update(fence=run.fence + 1)
    with pytest.raises(LeaseLost):
        run_events.restart_calls(run, [interrupt.pk])
    run.refresh_from_db()
    assert run.restart_position == 0
    assert interrupts.list_pending([run]) == [interrupt]
    assert CallCheckpoint.objects.count() == 1
