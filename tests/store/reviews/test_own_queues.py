"""The queues that the start page names: of what waits for one person in particular."""

from __future__ import annotations

from typing import Any

from jpweb.store.choices import ReviewState, Role, Verdict
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Conversation, Person
from jpweb.store.reviews import assignments, queues, subjects
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send


def test_own_queues_have_assigned_and_escalated_reviews(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    assigned, escalated = desk.close(), desk.close(DECLINED)
    assignments.assign(load(assigned), desk.ada.pk, Actor.from_person(desk.ben))
    send(load(escalated), desk.ben, Verdict.ESCALATE, "Look.")

    def list_own(person: Person) -> dict[str, list[int | None]]:
        with django_assert_max_num_queries(5):
            own_queues = queues.load_own_queues(person.pk)
        return {
            queue.name: [item.inquiry_id for item in queue.remaining_items] for queue in own_queues
        }

    assert list_own(desk.ada) == {"assigned": [assigned.pk]}
    assert list_own(olga) == {"escalated": [escalated.pk]}
    assert list_own(desk.ben) == list_own(desk.rita) == {}
    send(load(assigned), desk.ada)
    assert list_own(desk.ada) == {}


def test_conversation_that_grew_since_its_review_is_left_again(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    send(subjects.load_conversation(Conversation.objects.get()), desk.ada)
    desk.close()
    subject = subjects.load_conversation(Conversation.objects.get())
    assignments.assign(subject, desk.cleo.pk, Actor.from_person(desk.ada))
    with django_assert_max_num_queries(5):
        (queue,) = queues.load_own_queues(desk.cleo.pk)
    (item,) = queue.items
    assert (item.key, item.state) == (subject.key, ReviewState.UNREVIEWED)
    assert queue.finished_count == 0
    assert queues.reserve_next(queue, desk.cleo.pk) is not None
    send(subject, desk.cleo)
    assert queues.load_own_queues(desk.cleo.pk) == []


def test_blind_escalation_of_an_earlier_version_reaches_owners(desk: ReviewDesk):
    olga = making.person("olga", Role.OWNER, desk.workspace)
    desk.require_two()
    send(subjects.load_conversation(Conversation.objects.get()), desk.ada, Verdict.ESCALATE, "!")
    desk.close()
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ben)
    assert queues.load_own_queues(olga.pk) == [], "blind"
    send(subject, desk.cleo)
    (queue,) = queues.load_own_queues(olga.pk)
    assert (queue.name, len(queue.remaining_items)) == ("escalated", 1)


def test_item_of_another_workspace_has_no_place_in_a_queue(desk: ReviewDesk):
    rival_workspace = making.workspace("Elsewhere")
    rival = making.person("rival", Role.AUDITOR, rival_workspace)
    subject = subjects.load_conversation(making.conversation(rival_workspace))
    assignments.assign(subject, rival.pk, Actor.from_person(rival))
    assignments.assign(load(desk.close()), desk.ada.pk, Actor.from_person(desk.ben))
    queue = queues.load_queues(desk.ada.pk).queues["assigned"]
    assert queues.find_start(queue, desk.ada.pk, subject.key) == 0


def test_conversation_that_grew_since_one_review_waits_for_no_second(desk: ReviewDesk):
    desk.require_two()
    send(subjects.load_conversation(Conversation.objects.get()), desk.ada)
    assert [item.key for item in list_second(desk)] == [f"{desk.conversation.pk}-"]
    desk.close()
    assert list_second(desk) == []
    subject = subjects.load_conversation(Conversation.objects.get())
    assignments.assign(subject, desk.ada.pk, Actor.from_person(desk.ben))
    (queue,) = queues.load_own_queues(desk.ada.pk)
    assert [item.first_reviewer_id for item in queue.items] == [None]
    send(subject, desk.ada)
    assert len(list_second(desk)) == 1


def test_conversation_that_grew_since_a_dispute_is_left_for_its_assignee(desk: ReviewDesk):
    subject = subjects.load_conversation(Conversation.objects.get())
    send(subject, desk.ada, Verdict.FINE)
    send(subject, desk.ben, Verdict.WRONG, "No.")
    desk.close()
    subject = subjects.load_conversation(Conversation.objects.get())
    assignments.assign(subject, desk.cleo.pk, Actor.from_person(desk.ada))
    (queue,) = queues.load_own_queues(desk.cleo.pk)
    assert [item.key for item in queue.remaining_items] == [subject.key]
    send(subject, desk.cleo)
    assert queues.load_queues(desk.ada.pk).queues["disagreed"].items == []


def list_second(desk: ReviewDesk) -> list[queues.QueueItem]:
    return queues.load_queues(desk.ben.pk).queues["second"].items
