"""The queues that the start page names: of what waits for one person in particular."""

from __future__ import annotations

from typing import Any

from jpweb.store.choices import Role, Verdict
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Person
from jpweb.store.reviews import assignments, queues
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send


def test_own_queues_have_assigned_and_escalated_reviews(
    desk: ReviewDesk, django_assert_max_num_queries: Any
):
    olga = making.person("olga", Role.OWNER, desk.home)
    assigned, escalated = desk.close(), desk.close(DECLINED)
    assignments.assign(load(assigned), desk.ada.pk, Actor.from_person(desk.ben))
    send(load(escalated), desk.ben, Verdict.ESCALATE, "Look.")

    def list_own(person: Person) -> dict[str, list[int | None]]:
        with django_assert_max_num_queries(5):
            own_queues = queues.load_own_queues(person.pk)
        return {queue.name: [item.inquiry_id for item in queue.left] for queue in own_queues}

    assert list_own(desk.ada) == {"assigned": [assigned.pk]}
    assert list_own(olga) == {"escalated": [escalated.pk]}
    assert list_own(desk.ben) == list_own(desk.rita) == {}
    send(load(assigned), desk.ada)
    assert list_own(desk.ada) == {}
