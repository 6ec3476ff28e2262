from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store import approvals, journal
from jpweb.store.annotations import threads
from jpweb.store.choices import UNFINISHED_STATES, Role, RunState
from jpweb.store.inbox import claims, queue, snoozes
from jpweb.store.inbox.queue import PendingQueue
from jpweb.store.models import Membership, QuestionClaim, Run
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", RunState.values)
def test_queues_of_several_people_equal_the_queue_of_each(state: str):
    workspaces = [making.workspace(name) for name in ("Garden", "Shed", "Foreign")]
    ada = making.person("ada", Role.RESPONDER, workspaces[0])
    Membership.objects.create(person=ada, workspace=workspaces[1], role=Role.OWNER)
    for workspace in workspaces:
        run = making.start_run(making.conversation(workspace))
        prompt = making.prompt(run)
        making.settle(making.question(run), Answered(True))
        making.question(run)
        assert prompt.state == "open"
    Run.objects.update(state=state)
    pending = PendingQueue.merge(
        queue.get_workspace_queues({workspace.pk for workspace in workspaces[:2]}).values()
    )
    assert [(card.is_approval, card.key) for card in pending.oldest] == [
        (approvals.is_approval(row), row.pk) for row in approvals.list_waiting(ada.pk)
    ]
    assert pending.count == approvals.count_waiting(ada.pk) == len(pending.oldest)
    assert pending.newest == (pending.oldest[-1] if pending.oldest else None)
    assert bool(pending.count) is (state in UNFINISHED_STATES)


def test_inbox_over_its_limit_reads_oldest_newest_and_a_count(
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (queue, approvals):
        monkeypatch.setattr(module, "MAX_INBOX_CARDS", 3)
    full, other_workspace = making.workspace("Garden"), making.workspace("Shed")
    ada = making.person("ada", Role.RESPONDER, full)
    Membership.objects.create(person=ada, workspace=other_workspace, role=Role.OWNER)
    first, second = (making.start_run(making.conversation(full)) for _ in range(2))
    rows: list[Any] = [make(first) for _ in range(4) for make in (making.prompt, making.question)]
    rows += [
        making.question(second),
        making.prompt(making.start_run(making.conversation(other_workspace))),
    ]
    for n, row in enumerate(rows):
        row.asked_at = timezone.now() + timedelta(seconds=n)
        row.save()
    with CaptureQueriesContext(connection) as captured:
        workspace_queues = queue.get_workspace_queues({full.pk, other_workspace.pk})
    assert len(captured) == 2
    keys = {first.conversation_id, second.conversation_id, 10**9}
    conversations = queue.get_conversation_queues(keys, workspace_queues.values())
    queues = [
        workspace_queues[full.pk],
        workspace_queues[other_workspace.pk],
        *conversations.values(),
        PendingQueue.merge(workspace_queues.values()),
    ]
    assert [
        (pending.count, [row.key for row in pending.oldest], pending.newest and pending.newest.key)
        for pending in queues
    ] == [
        (9, [row.pk for row in rows[:3]], rows[8].pk),
        (1, [rows[9].pk], rows[9].pk),
        (8, [row.pk for row in rows[:3]], rows[7].pk),
        (1, [rows[8].pk], rows[8].pk),
        (10, [row.pk for row in rows[:3]], rows[9].pk),
    ]
    assert approvals.list_waiting(ada.pk) == rows[:3]
    assert approvals.list_waiting(ada.pk, conversation_id=second.conversation_id) == rows[8:9]
    counts = [approvals.count_waiting(ada.pk, limit=limit) for limit in (None, 1000, 4)]
    assert counts == [10, 10, 4]
    assert approvals.count_waiting(ada.pk, first.conversation_id) == 8


def test_queue_of_a_conversation_is_part_of_its_workspaces_queue(
    monkeypatch: pytest.MonkeyPatch,
):
    workspace, other_workspace = making.workspace("Garden"), making.workspace("Shed")
    runs = [
        making.start_run(making.conversation(place))
        for place in (workspace, workspace, other_workspace)
    ]
    for n, run in enumerate([*runs, *runs[:2]]):
        for row in (making.prompt(run), making.question(run)):
            row.asked_at = timezone.now() - timedelta(seconds=n)
            row.save()
    keys = {runs[0].conversation_id, runs[2].conversation_id, 10**9}
    queues = []
    for max_cards, queries in ((100, 0), (7, 2)):
        monkeypatch.setattr(queue, "MAX_INBOX_CARDS", max_cards)
        workspace_queues = queue.get_workspace_queues({workspace.pk, other_workspace.pk})
        with CaptureQueriesContext(connection) as captured:
            queues.append(queue.get_conversation_queues(keys, workspace_queues.values()))
        assert len(captured) == queries
    assert queues[0] == queues[1]
    assert [queues[0][run.conversation_id].count for run in (runs[0], runs[2])] == [4, 2]
    assert queues[0].keys() == keys - {10**9}


def test_roles_are_by_person_and_workspace():
    workspace, other_workspace = making.workspace("Garden"), making.workspace("Elsewhere")
    ada = making.person("ada", Role.RESPONDER, workspace)
    eve = making.person("eve", Role.READER, workspace)
    Membership.objects.create(person=eve, workspace=other_workspace, role=Role.OWNER)
    nonmember = making.person("nobody")
    person_ids = {ada.pk, eve.pk, nonmember.pk, 10**9}
    assert queue.get_roles(person_ids) == {
        ada.pk: {workspace.pk: Role.RESPONDER},
        eve.pk: {workspace.pk: Role.READER, other_workspace.pk: Role.OWNER},
        nonmember.pk: {},
        10**9: {},
    }
    assert queue.get_roles_in(workspace.pk, person_ids) == {
        ada.pk: Role.RESPONDER,
        eve.pk: Role.READER,
    }


def test_get_roles_in_splits_keys_into_several_queries(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "MAX_QUERY_KEYS", 2)
    workspace = making.workspace("Garden")
    people = [making.person(f"p{n}", Role.OWNER, workspace).pk for n in range(5)]
    with CaptureQueriesContext(connection) as captured:
        assert sorted(queue.get_roles_in(workspace.pk, people)) == people
    assert len(captured) == 3


def test_load_questions_and_load_approvals_skip_missing_rows():
    run = making.start_run(making.conversation(making.workspace("Garden")))
    question, prompt = making.question(run), making.prompt(run)
    assert queue.load_questions({question.pk, 10**9}) == {question.pk: question}
    assert queue.load_approvals({prompt.pk, 10**9}) == {prompt.pk: prompt}
    with CaptureQueriesContext(connection) as captured:
        assert queue.load_questions(set()) == {}
    assert len(captured) == 0


CHANGES: dict[str, Callable[[Run], object]] = {
    "length": making.question,
    "state": lambda run: Run.objects.update(state=RunState.FAILED),
    "resumed": lambda run: Run.objects.update(resume_count=1),
    "gone": lambda run: type(run.conversation).objects.update(removed_at=timezone.now()),
    "archived": lambda run: type(run.conversation).objects.update(archived=True),
    "revision": lambda run: type(run.conversation).objects.update(revision=7),
    "comment": lambda run: threads.add_comment(
        run.conversation, journal.find_anchor(run.conversation_id, 1), making.person(), "Look"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_conversation_that_changed_differs(change: str):
    run = making.start_run(making.conversation(making.workspace("Garden")))
    keys = {run.conversation_id}
    before = queue.get_conversation_marks(keys)
    assert queue.get_conversation_marks(keys) == before
    CHANGES[change](run)
    assert queue.get_conversation_marks(keys) != before


def test_conversation_marks_differ_once_a_queued_run_waits_too_long():
    run = making.start_run(making.conversation(making.workspace("Garden")))
    marks = []
    for seconds in (1, 2, 6):
        queued_at = timezone.now() - timedelta(seconds=seconds)
        type(run).objects.update(state="queued", queued_at=queued_at)
        marks.append(queue.get_conversation_marks({run.conversation_id}))
    assert marks[0] == marks[1] != marks[2]


def test_inbox_marks_differ_when_a_card_is_added_or_removed():
    workspace, other_workspace = making.workspace("Garden"), making.workspace("Elsewhere")
    run = making.start_run(making.conversation(workspace))
    keys = {workspace.pk, other_workspace.pk}
    empty = queue.get_inbox_marks(keys)
    assert empty == {workspace.pk: (), other_workspace.pk: ()}
    question = making.question(run)
    first = queue.get_inbox_marks(keys)
    making.prompt(run)
    second = queue.get_inbox_marks(keys)
    making.settle(question, Answered(True))
    assert (
        len(
            {
                str(marks[workspace.pk])
                for marks in (empty, first, second, queue.get_inbox_marks(keys))
            }
        )
        == 4
    )
    assert {marks[other_workspace.pk] for marks in (empty, first, second)} == {()}


def count_marks(marks: list[dict[int, Any]]) -> int:
    """Return how many of these successive marks differ from those before."""
    return sum(before != after for before, after in itertools.pairwise(marks))


@pytest.mark.parametrize("subject", ["question", "approval"])
def test_claims_and_their_release_change_the_inbox_marks(subject: str):
    workspace = making.workspace("Garden")
    ada, ben = (making.person(name, Role.RESPONDER, workspace) for name in ("ada", "ben"))
    run = making.start_run(making.conversation(workspace))
    row: Any = making.question(run) if subject == "question" else making.prompt(run)
    claim: Any = claims.claim_question if subject == "question" else claims.claim_approval
    marks = [queue.get_inbox_marks([workspace.pk])]
    for person in (ada, ben):
        for change in (claim, claims.release_claim):
            assert change(row, person)
            marks.append(queue.get_inbox_marks([workspace.pk]))
    assert count_marks(marks) == 4
    assert claim(row, ada)
    by_ada = queue.get_inbox_marks([workspace.pk])
    claims.release_claim(row, ada)
    assert claim(row, ben)
    assert queue.get_inbox_marks([workspace.pk]) != by_ada, "another person is on it"


def test_a_desk_differs_once_a_claim_has_lapsed():
    workspace = making.workspace("Garden")
    ada = making.person("ada", Role.RESPONDER, workspace)
    claims.claim_question(making.question(making.start_run(making.conversation(workspace))), ada)
    before = queue.get_inbox_marks([workspace.pk])
    QuestionClaim.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert queue.get_inbox_marks([workspace.pk]) != before


def test_queue_differs_when_a_snooze_changes_or_ends():
    workspace = making.workspace("Garden")
    ada = making.person("ada", Role.RESPONDER, workspace)
    run = making.start_run(making.conversation(workspace))
    first, second = making.question(run), making.question(run)
    marks = [queue.get_inbox_marks([workspace.pk])]
    for question, hours in ((first, 1), (second, 20), (first, 2)):
        snoozes.snooze_question(question, ada.pk, timezone.now() + timedelta(hours=hours))
        marks.append(queue.get_inbox_marks([workspace.pk]))
    snoozes.wake_question(first, ada.pk)
    marks.append(queue.get_inbox_marks([workspace.pk]))
    assert count_marks(marks) == 4


def test_the_cost_of_marks_does_not_grow_with_workspaces_and_claims():
    keys: list[int] = []
    for _ in range(3):
        workspace = making.workspace()
        ada = making.person("", Role.RESPONDER, workspace)
        run = making.start_run(making.conversation(workspace))
        for _ in range(2):
            claims.claim_question(making.question(run), ada)
            claims.claim_approval(making.prompt(run), ada)
        keys.append(workspace.pk)
        with CaptureQueriesContext(connection) as captured:
            assert all(queue.get_inbox_marks(keys).values())
        assert len(captured) == 5
