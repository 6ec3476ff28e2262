"""Mentions reach the destinations of the mentioned person, once, until they are seen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jpweb.runtime.periodic import send_notifications
from jpweb.store import accounts, journal
from jpweb.store.annotations import mentions, threads
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.models import Membership, Mention, NotificationDestination, Person
from jpweb.store.notifications import deliveries
from jpweb.store.notifications.deliveries import DueNotification
from jpweb.store.notifications.due_mentions import LATEST_HOURS
from jpweb.stream.events import ChatRequest
from tests.store import making

pytestmark = pytest.mark.django_db


def mention(role: Role = Role.RESPONDER, delay: int = 0) -> Person:
    """Mention a member who has a destination, and another member who has one too."""
    workspace = making.workspace()
    author = making.person("author", Role.READER, workspace)
    people = [making.person(name, role, workspace) for name in ("ada", "ben")]
    for person in people:
        NotificationDestination.objects.create(
            person=person, workspace=workspace, url="ntfy://t", delay=delay
        )
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    text = f"@{people[0].username}, a secret word"
    threads.add_comment(conversation, journal.find_anchor(conversation.pk, 0), author, text)
    return people[0]


def list_due() -> list[DueNotification]:
    return deliveries.list_due(10)


def test_mention_is_due_to_the_mentioned_person_alone_and_once():
    person = mention()
    (due,) = list_due()
    assert due.person_id == person.pk
    assert deliveries.claim_delivery(due) is not None
    assert list_due() == []
    assert deliveries.claim_delivery(due) is None


def test_mention_that_was_seen_is_not_due():
    person = mention()
    (due,) = list_due()
    mentions.mark_seen(person.pk, Mention.objects.get().pk)
    assert list_due() == []
    assert deliveries.claim_delivery(due) is None


@pytest.mark.parametrize(("role", "delay"), [(Role.READER, 0), (Role.RESPONDER, 600)])
def test_mention_of_a_reader_or_before_the_delay_is_not_due(role: Role, delay: int):
    mention(role, delay)
    assert list_due() == []


def test_mention_of_a_former_member_is_not_due():
    person = mention()
    Membership.objects.filter(person=person).delete()
    assert list_due() == []


def test_mention_is_not_due_after_it_was_turned_off():
    person = mention()
    (due,) = list_due()
    accounts.set_notified_of_mentions(person.pk, is_on=False)
    assert list_due() == []
    assert deliveries.claim_delivery(due) is None


def test_mention_is_not_due_to_a_destination_that_was_added_later():
    person = mention()
    (due,) = list_due()
    NotificationDestination.objects.filter(person=person).update(added_at=clock.now())
    assert list_due() == []
    assert deliveries.claim_delivery(due) is None


@pytest.mark.parametrize(
    ("hours", "count"), [(LATEST_HOURS - 1, 1), (LATEST_HOURS + 1, 0)], ids=["late", "too late"]
)
@pytest.mark.parametrize("delay", [0, 86_400])
def test_mention_before_they_were_turned_on_is_due_for_a_day(delay: int, hours: int, count: int):
    person = mention(delay=delay)
    accounts.set_notified_of_mentions(person.pk, is_on=False)
    age = timedelta(hours=hours, seconds=delay)
    Mention.objects.update(made_at=clock.now() - age)
    NotificationDestination.objects.update(added_at=clock.now() - age - timedelta(hours=1))
    assert list_due() == []
    accounts.set_notified_of_mentions(person.pk, is_on=True)
    assert len(list_due()) == count


def test_mention_is_not_due_to_a_destination_of_another_workspace():
    person = mention()
    other = making.workspace()
    Membership.objects.create(person=person, workspace=other, role=Role.OWNER)
    NotificationDestination.objects.update(workspace=other)
    assert list_due() == []


def test_message_names_the_author_and_the_page_but_not_the_words():
    mention()
    (due,) = list_due()
    title, body = send_notifications.build_message(due, "")
    assert "author mentioned you" in title.lower()
    assert f"/conversations/{due.comment_page[0]}/comments/{due.comment_page[1]}" in body
    assert "secret word" not in title + body
