from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.store.database import clock
from jpweb.store.errors import BadLink
from jpweb.store.models import AnswerLink, Inquiry, Membership, Person, Run
from jpweb.store.telling import links
from jpweb.store.telling.links import Standing
from jpweb.store.terms import Role, RunState
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def question() -> Inquiry:
    home = making.workspace()
    return making.question(making.running(making.conversation(home)))


@pytest.fixture
def ada(question: Inquiry) -> Person:
    return making.person("ada", Role.RESPONDER, question.conversation.workspace)


@pytest.fixture
def token(question: Inquiry, ada: Person) -> str:
    return links.issue(question.pk, ada.pk)


def test_a_link_is_kept_hashed_and_looking_uses_nothing_up(token: str, ada: Person):
    assert token not in str(vars(AnswerLink.objects.get()))
    assert len(token) >= 32
    for _ in range(2):
        link = links.find(token)
        assert (link.person, link.standing, link.reads) == (ada, Standing.LIVE, True)


def test_a_link_that_was_used_settles_nothing_more(token: str):
    links.use(links.find(token).key)
    assert links.find(token).standing is Standing.OVER
    used = AnswerLink.objects.get().used_at
    links.use(links.find(token).key)
    assert AnswerLink.objects.get().used_at == used


@pytest.mark.parametrize("state", [RunState.DONE, RunState.LOST, RunState.STOPPED])
def test_a_link_is_over_with_its_run(token: str, state: RunState):
    Run.objects.update(state=state)
    assert links.find(token).standing is Standing.OVER


def test_a_link_waits_with_a_parked_run(token: str):
    Run.objects.update(state=RunState.PARKED)
    assert links.find(token).standing is Standing.LIVE


@pytest.mark.parametrize(("role", "reads"), [(Role.READER, True), (None, False)])
def test_a_link_of_who_may_not_answer_any_more_is_barred(
    token: str, question: Inquiry, ada: Person, role: Role | None, reads: bool
):
    found = Membership.objects.filter(person=ada)
    found.update(role=role) if role else found.delete()
    link = links.find(token)
    assert (link.standing, link.reads) == (Standing.BARRED, reads)
    making.settle(question, making.ANSWER)
    link = links.find(token)
    assert (link.standing, link.reads) == (Standing.SETTLED, reads)


def test_a_link_lives_for_a_week(token: str):
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
def test_every_bad_link_is_refused_in_the_same_words(token: str, model: Any, values: Any):
    model.objects.update(**values)
    with pytest.raises(BadLink) as refused:
        links.find(token)
    with pytest.raises(BadLink) as mistyped:
        links.find("mistyped")
    assert str(refused.value) == str(mistyped.value)
