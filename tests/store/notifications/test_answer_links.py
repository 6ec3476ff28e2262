from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.store.choices import Role, RunState
from jpweb.store.database import clock
from jpweb.store.errors import InvalidLink
from jpweb.store.models import AnswerLink, Inquiry, Membership, Person, Run
from jpweb.store.notifications import answer_links
from jpweb.store.notifications.answer_links import LinkStatus
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def question() -> Inquiry:
    workspace = making.workspace()
    return making.question(making.start_run(making.conversation(workspace)))


@pytest.fixture
def ada(question: Inquiry) -> Person:
    return making.person("ada", Role.RESPONDER, question.conversation.workspace)


@pytest.fixture
def token(question: Inquiry, ada: Person) -> str:
    return answer_links.issue_link(question.pk, ada.pk)


def test_answer_link_is_stored_hashed_and_opening_does_not_use_it(token: str, ada: Person):
    assert token not in str(vars(AnswerLink.objects.get()))
    assert len(token) >= 32
    for _ in range(2):
        link = answer_links.resolve_link(token)
        assert (link.person, link.status, link.can_read) == (ada, LinkStatus.LIVE, True)


def test_used_answer_link_is_closed_and_keeps_its_time(token: str):
    answer_links.mark_used(answer_links.resolve_link(token).key)
    assert answer_links.resolve_link(token).status is LinkStatus.CLOSED
    used_at = AnswerLink.objects.get().used_at
    answer_links.mark_used(answer_links.resolve_link(token).key)
    assert AnswerLink.objects.get().used_at == used_at


@pytest.mark.parametrize("state", [RunState.DONE, RunState.LOST, RunState.STOPPED])
def test_answer_link_ends_with_its_run(token: str, state: RunState):
    Run.objects.update(state=state)
    assert answer_links.resolve_link(token).status is LinkStatus.CLOSED


def test_a_link_waits_with_a_parked_run(token: str):
    Run.objects.update(state=RunState.PARKED)
    assert answer_links.resolve_link(token).status is LinkStatus.LIVE


@pytest.mark.parametrize(("role", "reads"), [(Role.READER, True), (None, False)])
def test_answer_link_is_refused_when_its_person_may_not_answer(
    token: str, question: Inquiry, ada: Person, role: Role | None, reads: bool
):
    memberships = Membership.objects.filter(person=ada)
    memberships.update(role=role) if role else memberships.delete()
    link = answer_links.resolve_link(token)
    assert (link.status, link.can_read) == (LinkStatus.BARRED, reads)
    making.settle(question, making.ANSWER)
    link = answer_links.resolve_link(token)
    assert (link.status, link.can_read) == (LinkStatus.SETTLED, reads)


def test_answer_link_expires_after_a_week(token: str):
    life = AnswerLink.objects.get().expires_at - clock.now()
    assert timedelta(days=6, hours=23) < life <= timedelta(days=7)


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (AnswerLink, {"expires_at": timezone.now() - timedelta(seconds=1)}),
        (Person, {"is_active": False}),
        (AnswerLink, {"token_hash": "x"}),
    ],
    ids=["old", "inactive", "unknown"],
)
def test_resolve_link_refuses_all_invalid_links_with_equal_text(
    token: str, model: Any, values: Any
):
    model.objects.update(**values)
    with pytest.raises(InvalidLink) as error:
        answer_links.resolve_link(token)
    with pytest.raises(InvalidLink) as mistyped:
        answer_links.resolve_link("mistyped")
    assert str(error.value) == str(mistyped.value)


def test_resolve_link_of_an_unpaired_surrogate_is_invalid():
    with pytest.raises(InvalidLink):
        answer_links.resolve_link("\ud800")
