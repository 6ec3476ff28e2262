"""Who may review what, what each reviewer sees, and which of two reviews stands."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from jpweb.store import journal
from jpweb.store.choices import Act, InterruptKind, ReviewState, Role, Verdict
from jpweb.store.errors import ReviewRefused
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Conversation, Inquiry, JournalEntry, LedgerEntry, Review, ReviewTask
from jpweb.store.reviews import (
    assignments,
    exported_reviews,
    inquiry_pages,
    queues,
    recorded_reviews,
    reservations,
    reviews,
    subjects,
)
from jpweb.store.reviews.subjects import ReviewSubject
from jpweb.store.run_queue import interrupts
from jpweb.stream.events import ChatRequest
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send


def read_details() -> list[dict[str, object]]:
    """Return the details of the entries of reviews, the oldest first."""
    rows = LedgerEntry.objects.filter(act=Act.REVIEWED).order_by("pk")
    return [json.loads(row.text)["details"] for row in rows]


def test_review_completes_a_question_and_names_its_hash(desk: ReviewDesk):
    subject = load(desk.close())
    review = send(subject, desk.ada, Verdict.WRONG, " Not his call.\r\nAsk first. ")
    assert (review.round, review.revision, review.note) == (1, 1, "Not his call.\nAsk first.")
    assert review.content_hash == subject.version == subjects.hash_content(subject)
    history = reviews.load_history(subject)
    assert history.state == (ReviewState.DONE, Verdict.WRONG)


def test_open_question_is_not_reviewed(desk: ReviewDesk):
    with pytest.raises(ReviewRefused, match="once it is closed"):
        send(load(making.question(desk.run)), desk.ada)


def test_person_who_answered_or_declined_does_not_review(desk: ReviewDesk):
    for outcome in (making.ANSWER, DECLINED):
        with pytest.raises(ReviewRefused, match="You closed this question"):
            send(load(desk.close(outcome, making.decider(desk.ada))), desk.ada)


def test_person_who_started_the_turn_does_not_review_its_questions(desk: ReviewDesk):
    run = making.start_run(making.conversation(desk.workspace), desk.ada)
    row = making.settle(making.question(run), DECLINED, making.decider(desk.rita))
    with pytest.raises(ReviewRefused, match="You started the turn of this question"):
        send(load(row), desk.ada)
    with pytest.raises(ReviewRefused, match="Ada took part in this"):
        assignments.assign(load(row), desk.ada.pk, Actor.from_person(desk.ben))
    assert queues.load_queues(desk.ada.pk).queues["cancelled"].remaining_items == []
    assert len(queues.load_queues(desk.ben.pk).queues["cancelled"].remaining_items) == 1
    desk.require_two()
    send(load(row), desk.ben)
    assert queues.load_queues(desk.ada.pk).queues["second"].remaining_items == []


@pytest.mark.parametrize("part", ["starter", "turn", "interrupt", "answer", "approval"])
def test_person_who_took_part_does_not_review_the_conversation(desk: ReviewDesk, part: str):
    if part == "starter":
        Conversation.objects.filter(pk=desk.conversation.pk).update(started_by=desk.ada)
    elif part == "turn":
        desk.run.started_by = desk.ada
        desk.run.save()
    elif part == "interrupt":
        sender = making.decider(desk.ada)
        message = interrupts.add_interrupt(desk.run, InterruptKind.RESPOND, sender, "Wait.")
        interrupts.mark_handled([message.pk])
    elif part == "answer":
        desk.close(by=making.decider(desk.ada))
    else:
        row = making.prompt(desk.run)
        row.decider = desk.ada
        row.save()
    desk.conversation.refresh_from_db()
    subject = subjects.load_conversation(desk.conversation)
    with pytest.raises(ReviewRefused, match="You took part"):
        send(subject, desk.ada)
    assert send(subject, desk.ben).round == 1


def test_changed_mind_is_a_new_review_and_the_older_stays(desk: ReviewDesk):
    subject = load(desk.close())
    send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ada, Verdict.WRONG, "Looked again.")
    shown = reviews.load_history(subject).list_shown(desk.ben.pk)
    assert [(row.review.verdict, row.review.round, row.is_latest) for row in shown] == [
        ("wrong", 1, True),
        ("fine", 1, False),
    ]
    assert reviews.load_history(subject).state == (ReviewState.DONE, Verdict.WRONG)


def test_second_reviewer_is_another_person(desk: ReviewDesk):
    desk.require_two()
    subject = load(desk.close())
    send(subject, desk.ada)
    assert send(subject, desk.ada, Verdict.WRONG, "No.").round == 1
    assert reviews.load_history(subject).state == (ReviewState.PARTIAL, "")
    assert send(subject, desk.ben, Verdict.WRONG, "No.").round == 2
    assert reviews.load_history(subject).state == (ReviewState.DONE, Verdict.WRONG)
    with pytest.raises(ReviewRefused, match="Both reviews are in, by Ada and Ben"):
        send(subject, desk.cleo)


def test_first_of_two_reviews_is_visible_only_to_its_reviewer(desk: ReviewDesk):
    desk.require_two()
    row = desk.close()
    subject = load(row)
    send(subject, desk.ada, Verdict.ESCALATE, "Look at this.")
    history = reviews.load_history(subject)
    hidden = {
        person.username: [row.is_hidden for row in history.list_shown(person.pk)]
        for person in (desk.ada, desk.ben)
    }
    assert hidden == {"ada": [False], "ben": [True]}
    assert inquiry_pages.load_review_states([row.pk]) == {row.pk: (ReviewState.PARTIAL, "")}
    assert "verdict" not in read_details()[0]
    assert "escalate" not in LedgerEntry.objects.get(act=Act.REVIEWED).text


def test_disagreement_is_shown_with_both_reviews(desk: ReviewDesk):
    desk.require_two()
    row = desk.close()
    subject = load(row)
    first = send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ben, Verdict.WRONG, "No.")
    history = reviews.load_history(subject)
    assert not any(row.is_hidden for row in history.list_shown(desk.cleo.pk))
    assert inquiry_pages.load_review_states([row.pk]) == {row.pk: (ReviewState.DISAGREED, "")}
    assert ReviewTask.objects.get().state == ReviewState.DISAGREED
    before, after = read_details()
    assert before["review_hash"] == reviews.hash_review(first)
    assert (after["verdict"], after["first_verdict"]) == ("wrong", "fine")


def test_setting_does_not_disclose_a_first_review(desk: ReviewDesk):
    desk.require_two()
    row = desk.close()
    send(load(row), desk.ada, Verdict.FINE)
    desk.workspace.reviews_required = 1
    desk.workspace.save()
    (shown,) = reviews.load_history(load(row)).list_shown(desk.ben.pk)
    assert shown.is_hidden


def test_later_review_is_refused_and_names_the_existing_reviewer(desk: ReviewDesk):
    subject = load(desk.close())
    send(subject, desk.ada, Verdict.FINE)
    with pytest.raises(ReviewRefused, match=r"Ada reviewed this while .* as the second review"):
        send(subject, desk.ben, Verdict.WRONG, "No.", seen=0)
    assert Review.objects.count() == 1
    assert send(subject, desk.ben, Verdict.WRONG, "No.").round == 2


def test_review_sent_twice_is_saved_once(desk: ReviewDesk):
    subject = load(desk.close())
    assert send(subject, desk.ada, seen=0) == send(subject, desk.ada, seen=0)
    assert Review.objects.count() == LedgerEntry.objects.filter(act=Act.REVIEWED).count() == 1


def test_changed_event_makes_earlier_reviews_outdated(desk: ReviewDesk):
    row = desk.close()
    subject = load(row)
    send(subject, desk.ada, Verdict.FINE)
    entry = JournalEntry.objects.get(
        conversation=desk.conversation, position=row.response_position or 0
    )
    entry.text = entry.text.replace("true", "false")
    entry.save()
    with pytest.raises(ReviewRefused, match="This question has changed"):
        send(subject, desk.ben)
    history = reviews.load_history(load(row))
    assert history.is_changed
    assert [shown.is_outdated for shown in history.list_shown(desk.ben.pk)] == [True]
    assert send(load(row), desk.ada, Verdict.WRONG, "Changed.").round == 1


def test_grown_conversation_needs_a_new_review(desk: ReviewDesk):
    desk.conversation.refresh_from_db()
    subject = subjects.load_conversation(desk.conversation)
    send(subject, desk.ada)
    journal.append_events(desk.conversation.pk, [making.event(ChatRequest("More", author="Rita"))])
    with pytest.raises(ReviewRefused, match="This conversation has changed"):
        send(subject, desk.ben)
    assert reviews.load_history(subjects.reload(subject)).is_changed


def test_review_of_a_question_that_vanished_is_refused(desk: ReviewDesk):
    subject = load(desk.close())
    Inquiry.objects.filter(anchor=subject.anchor).delete()
    with pytest.raises(ReviewRefused, match="no longer in the conversation"):
        send(subject, desk.ada, seen=0)


def test_person_with_a_reservation_keeps_others_out_until_it_lapses(desk: ReviewDesk):
    subject = load(desk.close())
    key = desk.conversation.pk, subject.anchor
    assert reservations.reserve(*key, desk.ada.pk)
    assert not reservations.reserve(*key, desk.ben.pk)
    with pytest.raises(ReviewRefused, match="Ada is reviewing this now"):
        send(subject, desk.ben)
    ReviewTask.objects.update(held_until="2000-01-01T00:00:00Z")
    assert reservations.find_reservation(subject) is None
    assert reservations.reserve(*key, desk.ben.pk)
    send(subject, desk.ben)
    assert reservations.find_reservation(subject) is None


def test_release_ends_only_the_persons_own_reservation(desk: ReviewDesk):
    subject = load(desk.close())
    key = desk.conversation.pk, subject.anchor
    reservations.reserve(*key, desk.ada.pk)
    reservations.release(*key, desk.ben.pk)
    assert reservations.find_reservation(subject) is not None
    reservations.release(*key, desk.ada.pk)
    assert reservations.find_reservation(subject) is None


def test_states_of_many_questions_take_one_query(desk: ReviewDesk, django_assert_num_queries: Any):
    rows = [desk.close() for _ in range(4)]
    for row in rows[:3]:
        send(load(row), desk.ada)
    with django_assert_num_queries(1):
        states = inquiry_pages.load_review_states([row.pk for row in rows])
    assert {*states} == {row.pk for row in rows[:3]}


@pytest.mark.django_db(transaction=True)
def test_concurrent_reviews_of_a_question_keep_one():
    desk = ReviewDesk()
    subject = load(desk.close())
    people = (desk.ada, desk.ben, desk.cleo)
    barrier = Barrier(len(people))

    def submit(number: int) -> str:
        try:
            barrier.wait()
            return str(send(subject, people[number], Verdict.WRONG, "No.", seen=0).reviewer_name)
        except ReviewRefused as error:
            return str(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(people)) as pool:
        replies = list(pool.map(submit, range(len(people))))
    (review,) = Review.objects.all()
    assert replies.count(review.reviewer_name) == 1
    losers = [reply for reply in replies if reply != review.reviewer_name]
    assert all(reply.startswith(f"{review.reviewer_name} reviewed this") for reply in losers)


def test_owner_who_gave_neither_review_decides_a_disagreement(desk: ReviewDesk):
    desk.require_two()
    row, olga = desk.close(), making.person("olga", Role.OWNER, desk.workspace)
    subject = load(row)
    send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ben, Verdict.WRONG, "No.")
    with pytest.raises(ReviewRefused, match="An owner who gave neither can decide"):
        send(subject, desk.cleo)
    decision = send(subject, olga, Verdict.QUESTIONABLE, "Ask Rita.")
    assert (decision.round, decision.revision) == (reviews.DECISION, 1)
    assert reviews.load_history(subject).state == (ReviewState.DONE, Verdict.QUESTIONABLE)
    assert inquiry_pages.load_review_states([row.pk]) == {
        row.pk: (ReviewState.DONE, Verdict.QUESTIONABLE)
    }
    details = read_details()[-1]
    assert (details["round"], details["verdict"]) == (reviews.DECISION, "questionable")
    send(subject, desk.ada, Verdict.WRONG, "No.")
    assert reviews.load_history(subject).state.verdict == Verdict.QUESTIONABLE
    assert send(subject, olga, Verdict.FINE).revision == 2


def test_owner_does_not_decide_by_escalating_again(desk: ReviewDesk):
    olga, subject = making.person("olga", Role.OWNER, desk.workspace), load(desk.close())
    send(subject, desk.ada, Verdict.ESCALATE, "Look.")
    with pytest.raises(ReviewRefused, match="You decide this as an owner"):
        send(subject, olga, Verdict.ESCALATE, "Someone else, please.")
    assert reviews.load_history(subject).state.state == ReviewState.ESCALATED
    send(subject, olga, Verdict.WRONG, "No.")
    with pytest.raises(ReviewRefused, match="You decide this as an owner"):
        send(subject, olga, Verdict.ESCALATE, "Someone else, please.")
    assert reviews.load_history(subject).state == (ReviewState.DONE, Verdict.WRONG)


def test_owner_decides_neither_their_own_question_nor_their_own_review(desk: ReviewDesk):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    for row in (desk.close(by=making.decider(olga)), desk.close()):
        subject = load(row)
        send(subject, desk.ada, Verdict.FINE)
        send(subject, desk.ben if row.decider_id == olga.pk else olga, Verdict.WRONG, "No.")
        if row.decider_id == olga.pk:
            with pytest.raises(ReviewRefused, match="You closed this question"):
                send(subject, olga)
        else:
            assert send(subject, olga).round == reviews.SECOND


def list_disclosed_to(desk: ReviewDesk, subject: ReviewSubject) -> list[set[str]]:
    """Return whose reviews Rita can read on the page, in files and among decisions."""
    shown = reviews.load_history(subject).list_shown(desk.rita.pk)
    place = subject.conversation.pk, subject.anchor
    exported = exported_reviews.load_reviews(desk.rita.pk, {place})[place].values()
    entries = list(LedgerEntry.objects.filter(act=Act.REVIEWED))
    recorded = recorded_reviews.load_shown_reviews(entries, desk.rita.pk)
    return [
        {row.review.reviewer_name for row in shown if not row.is_hidden},
        {row.reviewer.name for row in exported if not row.is_hidden},
        {row.reviewer_name for row in recorded.values()},
    ]


@pytest.mark.parametrize("is_question", [True, False], ids=["question", "conversation"])
def test_first_review_of_an_earlier_version_is_disclosed_alike(desk: ReviewDesk, is_question: bool):
    desk.require_two()
    dora, row = making.person("dora", Role.AUDITOR, desk.workspace), desk.close()

    def load_present() -> ReviewSubject:
        if is_question:
            return load(row)
        return subjects.load_conversation(Conversation.objects.get())

    send(load_present(), desk.ben, Verdict.WRONG, "Look.")
    assert list_disclosed_to(desk, load_present()) == [set()] * 3
    entry = JournalEntry.objects.get(position=row.response_position or 0)
    entry.text = entry.text.replace("true", "false")
    entry.save()
    desk.close()
    for person, names in ((desk.cleo, set[str]()), (dora, {"Ben", "Cleo", "Dora"})):
        send(load_present(), person)
        assert list_disclosed_to(desk, load_present()) == [names] * 3
    desk.close(DECLINED)
    send(subjects.load_conversation(Conversation.objects.get()), desk.ada)
    assert "Ada" not in set().union(*list_disclosed_to(desk, load_present()))
