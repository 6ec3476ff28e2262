"""Many at once, on real connections; run on SQLite here and on PostgreSQL by postgresql/."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier, Event, Semaphore
from typing import Any

import pytest
from django.db import connection, connections, transaction

from jpweb.store import accounts, approvals, conversations, journal, runs
from jpweb.store.annotations import threads
from jpweb.store.choices import Act, Role, Verdict
from jpweb.store.errors import (
    AlreadyDecided,
    AlreadyRunning,
    AlreadySettled,
    InvalidLink,
    LastOwner,
    MembershipEnded,
    StoreError,
)
from jpweb.store.inquiries import Decider
from jpweb.store.jp_files import mirror, row_writer
from jpweb.store.maintenance import deactivation
from jpweb.store.models import (
    Approval,
    Comment,
    Conversation,
    Inquiry,
    JournalEntry,
    LedgerEntry,
    Membership,
    Person,
    Review,
    Run,
    SignInLink,
    Turn,
)
from jpweb.store.people import member_roles
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import reviews, subjects
from jpweb.store.reviews.reviews import ReviewInput
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind
from jpweb.stream.inquiry import Answered, CancellationReason, InquiryResponse
from tests.builders import stream
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 20


def at_once(count: int, attempt: Callable[[int], Any]) -> Counter[str]:
    """Let threads start together, each on a connection of its own; count how they end.

    What the store does not raise itself fails the test.
    """
    gate = Barrier(count)

    def run(number: int) -> str:
        try:
            gate.wait(30)
            attempt(number)
        except StoreError as error:
            return type(error).__name__
        finally:
            connections.close_all()
        return "won"

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(run, range(count)))


def test_races_run_on_the_database_of_the_environment():
    assert connection.vendor == os.environ.get("JPWEB_TEST_VENDOR", "sqlite")
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            assert cursor.fetchone() == ("wal",), "a file, as people have"


def test_twenty_concurrent_answers_settle_a_question_once():
    row = making.question(making.start_run(making.conversation(making.workspace())))
    before = making.count_entries(row.conversation_id)
    results = at_once(
        MANY, lambda n: making.settle(row, Answered(n), Decider("person", f"person {n}"))
    )
    assert results == {"won": 1, AlreadySettled.__name__: MANY - 1}
    assert making.count_entries(row.conversation_id) == before + 1
    row.refresh_from_db()
    assert row.decider_name == f"person {row.answer}"
    kind = journal.read_elements(row.conversation_id)[-1].kind
    assert kind == InquiryResponse(row.inquiry_id, Answered(row.answer))


def test_twenty_concurrent_decisions_settle_an_approval_once():
    row = making.prompt(making.start_run(making.conversation(making.workspace())))
    results = at_once(
        MANY,
        lambda n: approvals.decide_approval(row.pk, {"allow": n}, Decider("person", f"person {n}")),
    )
    assert results == {"won": 1, AlreadyDecided.__name__: MANY - 1}
    row.refresh_from_db()
    assert row.decider_name == f"person {(row.decision or {}).get('allow')}"


def test_approval_decision_during_the_end_of_its_run_is_consistent():
    for _ in range(5):
        row = making.prompt(making.start_run(making.conversation(making.workspace())))
        results = at_once(2, partial(close_or_decide, row))
        row.refresh_from_db()
        withdrawn = row.state == "withdrawn"
        assert results == ({"won": 1, AlreadyDecided.__name__: 1} if withdrawn else {"won": 2})


def close_or_decide(row: Approval, number: int) -> None:
    if number:
        assert row.run is not None
        runs.close_open(row.run, CancellationReason.LOST)
    else:
        approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))


def test_concurrent_append_events_have_one_order():
    conversation = making.conversation(making.workspace())
    word = making.event(ChatResponse("message", "Same"))
    assert at_once(MANY, lambda _: journal.append_events(conversation.pk, [word, word])) == {
        "won": MANY
    }
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    assert [entry.position for entry in entries] == list(range(2 * MANY))
    assert len({entry.anchor for entry in entries}) == 2 * MANY


def test_twenty_concurrent_start_run_calls_start_one():
    conversation, person = making.conversation(making.workspace()), making.person()
    results = at_once(MANY, lambda _: runs.start_run(conversation.pk, person.pk, "scripted"))
    assert results == {"won": 1, AlreadyRunning.__name__: MANY - 1}
    assert Run.objects.count() == 1


def test_a_link_signs_one_in():
    token = accounts.issue_link(making.person())
    results = at_once(MANY, lambda _: accounts.use_link(token))
    assert results == {"won": 1, InvalidLink.__name__: MANY - 1}


def test_sign_in_link_used_twice_at_once_signs_in_one_browser():
    """All have found the link unused before the first of them may mark it."""
    token = accounts.issue_link(making.person())
    marking = Semaphore(0)

    def mark(execute: Callable[..., Any], sql: str, *words: Any) -> Any:
        if sql.startswith("UPDATE"):
            marking.release()
        return execute(sql, *words)

    def use(_number: int) -> None:
        with connection.execute_wrapper(mark):
            accounts.use_link(token)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert SignInLink.objects.select_for_update().get().used_at is None
            results = pool.submit(at_once, 6, use)
            assert all(marking.acquire(timeout=30) for _ in range(6))
        assert results.result() == {"won": 1, InvalidLink.__name__: 5}


def test_concurrent_removals_of_all_owners_keep_one():
    workspace = making.workspace()
    members = [
        Membership.objects.get(person=making.person(role=Role.OWNER, workspace=workspace))
        for _ in range(5)
    ]
    results = at_once(5, lambda n: accounts.remove_member(members[n]))
    assert results == {"won": 4, LastOwner.__name__: 1}
    assert Membership.objects.filter(workspace=workspace, role=Role.OWNER).count() == 1


def test_concurrent_removals_and_deactivations_keep_one_owner():
    workspace = making.workspace()
    members = [
        Membership.objects.get(person=making.person(role=Role.OWNER, workspace=workspace))
        for _ in range(6)
    ]

    def go(number: int) -> None:
        if number % 2:
            accounts.remove_member(members[number])
        else:
            deactivation.deactivate_person(members[number].person)

    assert at_once(6, go) == {"won": 5, LastOwner.__name__: 1}
    assert member_roles.list_active_owners().filter(workspace=workspace).count() == 1


def test_five_concurrent_removals_of_a_member_record_one_entry():
    workspace = making.workspace()
    making.person(role=Role.OWNER, workspace=workspace)
    person = making.person(role=Role.READER, workspace=workspace)
    members = [Membership.objects.get(person=person) for _ in range(5)]
    results = at_once(5, lambda n: accounts.remove_member(members[n]))
    assert results == {"won": 1, MembershipEnded.__name__: 4}
    entries = LedgerEntry.objects.filter(workspace_id=workspace.pk)
    assert [entry.act for entry in entries] == [Act.MEMBER_REMOVED]


def test_conversations_begun_at_once_all_begin():
    workspace, person = making.workspace(), making.person()
    assert at_once(
        MANY, lambda n: conversations.create_conversation(workspace, str(n), person.pk)
    ) == {"won": MANY}
    assert len({conversation.jp_id for conversation in workspace.conversations.all()}) == MANY


def close_or_answer(row: Inquiry, number: int) -> None:
    assert row.run is not None
    if number:
        assert row.run is not None
        runs.close_open(row.run, CancellationReason.LOST)
    else:
        making.settle(row, Answered(True))


def test_answer_during_the_end_of_its_run_is_consistent():
    for _ in range(5):
        row = making.question(making.start_run(making.conversation(making.workspace())))
        results = at_once(2, partial(close_or_answer, row))
        row.refresh_from_db()
        is_lost = row.state == "cancelled"
        assert results == ({"won": 1, AlreadySettled.__name__: 1} if is_lost else {"won": 2})


def test_two_concurrent_mirror_passes_leave_consistent_rows():
    results = at_once(2, lambda _: mirror.mirror_workspace(mirror.DEMO_PATH, "Demo"))
    assert results["won"] >= 1
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    for conversation in Conversation.objects.all():
        assert making.count_entries(conversation.pk) == conversation.entry_count
    assert Inquiry.objects.count() == len(set(Inquiry.objects.values_list("anchor", flat=True)))


@pytest.mark.parametrize("batch_entries", [100, 1], ids=["at-once", "in-batches"])
def test_redaction_that_a_mirror_pass_waits_for_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_entries: int
):
    """The pass has read the redactions before; then it waits for the row that this one holds."""
    kinds: list[EventKind] = [
        ChatRequest("Log in with canary-7f3a"),
        ChatResponse("message", "Done."),
    ]
    making.write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    making.write_folder(tmp_path, "17000000000-a-talk", stream(*kinds, ChatRequest("Thanks")))
    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", batch_entries)
    conversation, ada = Conversation.objects.get(), making.person("ada")
    request = RedactionRequest("", "leaked", ("canary-7f3a",), is_conversation_wide=True)
    is_locking = Event()

    def note_lock(execute: Callable[..., Any], sql: str, *words: Any) -> Any:
        if sql.startswith("BEGIN") or "FOR UPDATE" in sql:
            is_locking.set()
        return execute(sql, *words)

    def mirror_again(_number: int) -> None:
        with connection.execute_wrapper(note_lock):
            mirror.mirror_workspace(tmp_path)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            application.redact(conversation, request, ada)
            results = pool.submit(at_once, 1, mirror_again)
            assert is_locking.wait(30)
        assert results.result() == {"won": 1}
    assert making.count_entries(conversation.pk) == 3
    assert not JournalEntry.objects.filter(text__contains="canary-7f3a").exists()
    assert not Turn.objects.filter(title__contains="canary-7f3a").exists()


def add_comment(conversation: Conversation, author: Person, text: str) -> None:
    threads.add_comment(conversation, journal.find_anchor(conversation.pk, 0), author, text)


def edit_comment(conversation: Conversation, author: Person, text: str) -> None:
    anchor = journal.find_anchor(conversation.pk, 0)
    threads.edit_comment(conversation, anchor, Comment.objects.get().pk, author, text)


def review(conversation: Conversation, auditor: Person, text: str) -> None:
    subject = subjects.load_conversation(conversation)
    review_input = ReviewInput(Verdict.FINE, text, subject.version, 0)
    reviews.submit_review(subject, auditor, review_input)


@pytest.mark.parametrize("write", [add_comment, edit_comment, review])
def test_redaction_replaces_a_text_whose_transaction_began_before(
    write: Callable[[Conversation, Person, str], None],
):
    workspace = making.workspace()
    conversation = making.mirrored_conversation(workspace, ChatRequest("Log in with canary-7f3a"))
    ada = making.person("ada", Role.AUDITOR, workspace)
    add_comment(conversation, ada, "First.")
    request = RedactionRequest("", "leaked", ("canary-7f3a",), is_conversation_wide=True)
    is_written, is_redacted = Event(), Event()

    def pause(execute: Callable[..., Any], sql: str, *words: Any) -> Any:
        is_last_step = '"comment_revision"' in sql and sql.startswith("UPDATE")
        if (is_last_step or "store_ledgerentry" in sql) and not is_written.is_set():
            is_written.set()
            is_redacted.wait(1)  # which the redaction can't be while it waits for this
        return execute(sql, *words)

    def write_slowly(_number: int) -> None:
        with connection.execute_wrapper(pause):
            write(conversation, ada, "It says canary-7f3a here.")

    with ThreadPoolExecutor(1) as pool:
        results = pool.submit(at_once, 1, write_slowly)
        assert is_written.wait(30)
        application.redact(conversation, request, ada)
        is_redacted.set()
        assert results.result() == {"won": 1}
    assert not Comment.objects.filter(text__contains="canary-7f3a").exists()
    assert not Review.objects.filter(note__contains="canary-7f3a").exists()
