"""Queues: what is in each, what is left for whom, and the next item."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.choices import ReviewState, Role, RunState, Verdict
from jpweb.store.database import clock
from jpweb.store.inquiries import Decider
from jpweb.store.ledger.entries import Actor
from jpweb.store.masking import derived_columns
from jpweb.store.models import Conversation, Inquiry, ReviewTask, Run
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import assignments, queues, reservations, subjects
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send


def list_keys(desk: ReviewDesk, name: str) -> list[int | None]:
    """Return the questions of one of Ada's queues."""
    return [item.inquiry_id for item in queues.load_queues(desk.ada.pk).queues[name].items]


def wait_for(row: Inquiry, seconds: int) -> None:
    asked_at = clock.now() - timedelta(days=1)
    row.asked_at, row.settled_at = asked_at, asked_at + timedelta(seconds=seconds)
    row.save()


def test_queues_hold_closed_questions_by_outcome(desk: ReviewDesk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queues, "SAMPLE_DIVISOR", 1)
    cancelled = desk.close(DECLINED)
    automatic = [desk.close(by=Decider(kind)) for kind in ("configuration", "assistant")]
    refused = desk.close(DECLINED, Decider("configuration"))
    operated = desk.close(by=Decider("operator"))
    secret = desk.close()
    Inquiry.objects.filter(pk=secret.pk).update(answer_type="secret")
    late, swift = desk.close(), desk.close()
    wait_for(late, queues.LATE_SECONDS + 1)
    wait_for(swift, queues.LATE_SECONDS)
    making.question(desk.run)
    assert list_keys(desk, "cancelled") == [refused.pk, cancelled.pk]
    assert list_keys(desk, "automatic") == [row.pk for row in reversed(automatic)]
    assert list_keys(desk, "overridden") == [operated.pk, refused.pk, automatic[0].pk]
    assert list_keys(desk, "secret") == [secret.pk]
    assert list_keys(desk, "late") == [late.pk]
    assert len(list_keys(desk, "sample")) == Inquiry.objects.exclude(state="open").count()


def test_sample_is_the_same_all_week_and_another_in_the_next(
    desk: ReviewDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queues, "SAMPLE_DIVISOR", 2)
    for _ in range(24):
        desk.close()
    monday = clock.now().replace(year=2026, month=11, day=23)
    samples = []
    for days in (0, 6, 7):
        moment = monday + timedelta(days=days)
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        samples.append(list_keys(desk, "sample"))
    assert samples[0] == samples[1] != samples[2]
    assert 0 < len(samples[0]) < 24


def test_queues_leave_out_other_workspaces_and_the_demo(desk: ReviewDesk):
    other = making.workspace("Elsewhere")
    demo = making.workspace("Demo")
    demo.root = "demo"
    demo.save()
    desk.ada.memberships.create(workspace=demo, role=Role.OWNER)
    mine = desk.close(DECLINED)
    for workspace in (other, demo):
        run = making.start_run(making.conversation(workspace))
        making.settle(making.question(run), DECLINED)
    assert list_keys(desk, "cancelled") == [mine.pk]


def test_auditor_of_the_demo_alone_has_its_questions(desk: ReviewDesk):
    desk.workspace.root = "demo"
    desk.workspace.save()
    row = desk.close(DECLINED)
    assert list_keys(desk, "cancelled") == [row.pk]


def test_queues_are_made_from_the_newest_questions(
    desk: ReviewDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queues, "MAX_QUEUE_QUESTIONS", 2)
    rows = [desk.close(DECLINED) for _ in range(2)]
    assert not queues.load_queues(desk.ada.pk).is_cut
    rows.append(desk.close(DECLINED))
    assert queues.load_queues(desk.ada.pk).is_cut
    assert list_keys(desk, "cancelled") == [rows[2].pk, rows[1].pk]


def test_queues_of_tasks_hold_the_newest_of_each_state(
    desk: ReviewDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queues, "MAX_QUEUE_TASKS", 2)
    escalated, *halves = [desk.close() for _ in range(4)]
    send(load(escalated), desk.ben, Verdict.ESCALATE, "Look.")
    desk.require_two()
    for row in halves:
        send(load(row), desk.ben)
    assert list_keys(desk, "escalated") == [escalated.pk]
    assert list_keys(desk, "second") == [halves[2].pk, halves[1].pk]


def test_cost_of_queues_does_not_grow_with_questions(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    for _ in range(12):
        send(load(desk.close(DECLINED)), desk.ada)
    with django_assert_max_num_queries(6):
        queue = queues.load_queues(desk.ada.pk).queues["cancelled"]
    assert (len(queue.items), queue.finished_count, queue.remaining_items) == (12, 12, [])
    with django_assert_max_num_queries(2):
        queues.load_page(queue.items)


def test_cost_of_queues_does_not_grow_with_conversations(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    desk.require_two()
    for _ in range(12):
        send(subjects.load_conversation(making.conversation(desk.workspace)), desk.ada)
    with django_assert_max_num_queries(7):
        queue = queues.load_queues(desk.ben.pk).queues["second"]
    assert len(queue.remaining_items) == 12


def test_reviewers_own_decision_is_left_for_other_reviewers(desk: ReviewDesk):
    desk.close(DECLINED, making.decider(desk.ada))
    counts = {
        person.username: len(queues.load_queues(person.pk).queues["cancelled"].remaining_items)
        for person in (desk.ada, desk.ben)
    }
    assert counts == {"ada": 0, "ben": 1}


def test_reviewers_own_conversation_is_left_for_other_reviewers(desk: ReviewDesk):
    desk.require_two()
    desk.close(by=making.decider(desk.ben))
    desk.conversation.refresh_from_db()
    subject = subjects.load_conversation(desk.conversation)
    send(subject, desk.ada)
    queue = queues.load_queues(desk.ben.pk).queues["second"]
    assert queue.remaining_items == []
    assert queues.reserve_next(queue, desk.ben.pk) is None
    assert not ReviewTask.objects.exclude(holder=None).exists()
    assert len(queues.load_queues(desk.cleo.pk).queues["second"].remaining_items) == 1
    assert send(subject, desk.cleo).round == 2


def test_conversation_that_became_an_own_one_is_no_longer_left(desk: ReviewDesk):
    subject = subjects.load_conversation(desk.conversation)
    assignments.assign(subject, desk.ada.pk, Actor.from_person(desk.ben))
    desk.close(by=making.decider(desk.ada))
    queue = queues.load_queues(desk.ada.pk).queues["assigned"]
    assert (len(queue.items), queue.remaining_items) == (1, [])


def test_disagreement_on_an_own_decision_is_left_for_others(desk: ReviewDesk):
    subject = load(desk.close(by=making.decider(desk.cleo)))
    send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ben, Verdict.WRONG, "No.")
    counts = {
        person.username: len(queues.load_queues(person.pk).queues["disagreed"].remaining_items)
        for person in (desk.ada, desk.cleo)
    }
    assert counts == {"ada": 1, "cleo": 0}


def test_disagreement_is_left_and_reserved_for_its_reviewers_alone(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    subject = load(desk.close())
    send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ben, Verdict.WRONG, "No.")
    with django_assert_max_num_queries(8):
        queue = queues.load_queues(desk.cleo.pk).queues["disagreed"]
    assert (len(queue.items), queue.remaining_items) == (1, [])
    assert queues.reserve_next(queue, desk.cleo.pk) is None
    assert not ReviewTask.objects.exclude(holder=None).exists()
    for person in (desk.ada, desk.ben):
        queue = queues.load_queues(person.pk).queues["disagreed"]
        assert [item.key for item in queue.remaining_items] == [subject.key]
    assert queues.reserve_next(queue, desk.ben.pk) is not None


def test_disagreement_is_not_left_for_reviewers_of_an_earlier_version(desk: ReviewDesk):
    desk.require_two()
    for people in ((desk.ada, desk.ben), (desk.ben, desk.cleo)):
        subject = subjects.load_conversation(Conversation.objects.get())
        for person, verdict in zip(people, (Verdict.FINE, Verdict.WRONG), strict=True):
            send(subject, person, verdict, "Look.")
        making.question(desk.run)
    counts = {
        person.username: len(queues.load_queues(person.pk).queues["disagreed"].remaining_items)
        for person in (desk.ada, desk.ben, desk.cleo)
    }
    assert counts == {"ada": 0, "ben": 1, "cleo": 1}


def test_half_reviewed_question_is_left_for_the_second_reviewer(desk: ReviewDesk):
    desk.require_two()
    row = desk.close(DECLINED)
    send(load(row), desk.ada)
    for person, count in ((desk.ada, 0), (desk.ben, 1)):
        desks = queues.load_queues(person.pk).queues
        assert (len(desks["second"].items), len(desks["cancelled"].remaining_items)) == (
            count,
            count,
        )
        assert desks["cancelled"].finished_count == 0


def test_disagreements_are_a_queue(desk: ReviewDesk):
    row = desk.close()
    send(load(row), desk.ada, Verdict.FINE)
    send(load(row), desk.ben, Verdict.WRONG, "No.")
    assert list_keys(desk, "disagreed") == [row.pk]


def test_assigned_questions_and_conversations_are_a_queue(desk: ReviewDesk):
    row, actor = desk.close(), Actor.from_person(desk.ben)
    assignments.assign(load(row), desk.ada.pk, actor)
    assignments.assign(subjects.load_conversation(desk.conversation), desk.ada.pk, actor)
    vanished = desk.close()
    assignments.assign(load(vanished), desk.ada.pk, actor)
    Inquiry.objects.filter(pk=vanished.pk).delete()
    assert list_keys(desk, "assigned") == [None, row.pk]


def test_next_item_is_reserved_and_passes_over_those_of_others(desk: ReviewDesk):
    rows = [desk.close(DECLINED) for _ in range(4)][::-1]
    reservations.reserve(desk.conversation.pk, rows[0].anchor, desk.ben.pk)
    send(load(rows[1]), desk.cleo)
    queue = queues.load_queues(desk.ada.pk).queues["cancelled"]
    item = queues.reserve_next(queue, desk.ada.pk)
    assert item is not None
    assert item.inquiry_id == rows[2].pk
    assert ReviewTask.objects.get(anchor=rows[2].anchor).holder == desk.ada
    following = queues.reserve_next(queue, desk.ada.pk, item.key)
    assert following is not None
    assert following.inquiry_id == rows[3].pk
    again = queues.reserve_next(queue, desk.ada.pk, following.key)
    assert again is not None
    assert again.inquiry_id == rows[2].pk


def test_skipped_items_follow_the_last(desk: ReviewDesk):
    rows = [desk.close(DECLINED) for _ in range(3)][::-1]
    for row in rows[1:]:
        send(load(row), desk.ada)
    queue = queues.load_queues(desk.ada.pk).queues["cancelled"]
    item = queues.reserve_next(queue, desk.ada.pk, f"{desk.conversation.pk}-{rows[2].anchor}")
    assert item is not None
    assert item.inquiry_id == rows[0].pk
    send(load(rows[0]), desk.ada)
    queue = queues.load_queues(desk.ada.pk).queues["cancelled"]
    assert queues.reserve_next(queue, desk.ada.pk, item.key) is None


@pytest.mark.parametrize("name", ["assigned", "second"])
def test_item_that_left_its_queue_keeps_its_place(desk: ReviewDesk, name: str):
    desk.require_two()
    rows = [desk.close() for _ in range(3)]
    for row in rows:
        if name == "assigned":
            assignments.assign(load(row), desk.ben.pk, Actor.from_person(desk.ada))
        else:
            send(load(row), desk.ada)
    following = []
    for row in (rows[1], rows[0]):
        send(load(row), desk.ben)
        queue = queues.load_queues(desk.ben.pk).queues[name]
        following.append(queues.reserve_next(queue, desk.ben.pk, load(row).key))
    assert [item and item.inquiry_id for item in following] == [rows[0].pk, rows[2].pk]


def test_reserve_next_gives_two_people_different_items(desk: ReviewDesk):
    for _ in range(2):
        desk.close(DECLINED)
    queue = queues.load_queues(desk.ada.pk).queues["cancelled"]
    items = [queues.reserve_next(queue, person.pk) for person in (desk.ada, desk.ben)]
    assert items[0] is not None
    assert items[1] is not None
    assert items[0].key != items[1].key


def test_redaction_of_a_reviewed_question_leaves_it_to_review_again(desk: ReviewDesk):
    desk.require_two()
    reviewed, other = desk.close(DECLINED), desk.close(DECLINED)
    for row in (reviewed, other):
        for person, verdict in ((desk.ben, Verdict.FINE), (desk.cleo, Verdict.WRONG)):
            send(load(row), person, verdict)
    send(subjects.load_conversation(Conversation.objects.get()), desk.ben)
    assert queues.load_queues(desk.ada.pk).queues["cancelled"].remaining_items == []
    Run.objects.update(state=RunState.DONE)
    anchor = journal.find_anchor(desk.conversation.pk, reviewed.position)
    application.redact(desk.conversation, RedactionRequest(anchor, "leaked"), desk.ada)
    loaded_desk = queues.load_queues(desk.ben.pk)
    assert [item.inquiry_id for item in loaded_desk.queues["cancelled"].remaining_items] == [
        reviewed.pk
    ]
    assert list_keys(desk, "disagreed") == [other.pk]
    task = ReviewTask.objects.get(anchor="")
    assert (task.state, task.first_reviewer) == ("unreviewed", None)


def test_disagreement_is_left_for_an_owner_until_they_decide(desk: ReviewDesk):
    olga, row = making.person("olga", Role.OWNER, desk.workspace), desk.close()
    send(load(row), desk.ada, Verdict.FINE)
    send(load(row), desk.ben, Verdict.WRONG, "No.")
    queue = queues.load_queues(olga.pk).queues["disagreed"]
    assert [item.inquiry_id for item in queue.remaining_items] == [row.pk]
    send(load(row), olga, Verdict.FINE)
    assert queues.load_queues(olga.pk).queues["disagreed"].items == []


@pytest.mark.parametrize("count", [1, 2], ids=["one review", "two reviews"])
def test_escalated_question_waits_for_an_owner(desk: ReviewDesk, count: int):
    olga, row = making.person("olga", Role.OWNER, desk.workspace), desk.close(DECLINED)
    if count == 2:
        desk.require_two()
        send(load(row), desk.ada, Verdict.ESCALATE, "Look.")
        assert queues.load_queues(olga.pk).queues["escalated"].items == [], "blind"
    send(load(row), desk.ben, Verdict.ESCALATE, "Look.")
    assert queues.load_queues(desk.cleo.pk).queues["escalated"].remaining_items == []
    desks = queues.load_queues(olga.pk).queues
    assert [item.inquiry_id for item in desks["escalated"].remaining_items] == [row.pk]
    assert (desks["escalated"].finished_count, desks["cancelled"].finished_count) == (0, 0)
    assert send(load(row), olga, Verdict.WRONG, "No.").round == 3
    assert list_keys(desk, "escalated") == []
    send(load(row), desk.ben, Verdict.ESCALATE, "Look again.")
    (item,) = queues.load_queues(olga.pk).queues["escalated"].remaining_items
    assert item.state == ReviewState.ESCALATED


def test_change_of_a_conversation_keeps_its_escalation(desk: ReviewDesk):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ada, Verdict.ESCALATE, "Look.")
    desk.close()
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ben)
    assert len(queues.load_queues(olga.pk).queues["escalated"].remaining_items) == 1
    decision = send(subject, olga)
    assert (decision.round, decision.version) == (3, subject.version)
    assert queues.load_queues(olga.pk).queues["escalated"].items == []


def test_owner_who_escalated_leaves_it_to_another_owner(desk: ReviewDesk):
    olga, omar = (making.person(name, Role.OWNER, desk.workspace) for name in ("olga", "omar"))
    row = desk.close()
    send(load(row), olga, Verdict.ESCALATE, "Look.")
    assert queues.load_queues(olga.pk).queues["escalated"].remaining_items == []
    send(load(row), desk.ada)
    assert list_keys(desk, "escalated") == [row.pk]
    assert len(queues.load_queues(omar.pk).queues["escalated"].remaining_items) == 1
    assert send(load(row), omar).round == 3
    assert list_keys(desk, "escalated") == []


def test_redaction_of_a_question_keeps_its_escalation(desk: ReviewDesk):
    olga, row = making.person("olga", Role.OWNER, desk.workspace), desk.close()
    send(load(row), desk.ada, Verdict.ESCALATE, "Look.")
    derived_columns.mark_unreviewed(row.conversation, [row.position])
    assert len(queues.load_queues(olga.pk).queues["escalated"].remaining_items) == 1


def test_reviewer_withdraws_an_escalation_of_an_earlier_version(desk: ReviewDesk):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ada, Verdict.ESCALATE, "Look.")
    desk.close()
    send(subjects.load_conversation(Conversation.objects.get()), desk.ada)
    assert queues.load_queues(olga.pk).queues["escalated"].items == []


def test_escalated_question_is_left_for_its_owner_in_other_queues(desk: ReviewDesk):
    olga, omar = (making.person(name, Role.OWNER, desk.workspace) for name in ("olga", "omar"))
    desk.require_two()
    row = desk.close(DECLINED)
    send(load(row), desk.ada)
    send(load(row), omar, Verdict.ESCALATE, "Look.")
    for person in (desk.cleo, omar):
        assert queues.load_queues(person.pk).queues["cancelled"].remaining_items == []
    queue = queues.load_queues(olga.pk).queues["cancelled"]
    assert queue.remaining_items == queue.items != []
    assert queues.reserve_next(queue, olga.pk) == queue.items[0]
