from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store import prompts
from jpweb.store.models import Membership, Run
from jpweb.store.telling import standing
from jpweb.store.terms import UNFINISHED, Role, RunState
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", RunState.values)
def test_what_waits_for_many_is_what_waits_for_each(state: str):
    homes = [making.workspace(name) for name in ("Garden", "Shed", "Foreign")]
    ada = making.person("ada", Role.RESPONDER, homes[0])
    Membership.objects.create(person=ada, workspace=homes[1], role=Role.OWNER)
    for home in homes:
        run = making.running(making.conversation(home))
        prompt = making.prompt(run)
        making.settle(making.question(run), Answered(True))
        making.question(run)
        assert prompt.state == "open"
    Run.objects.update(state=state)
    found = standing.waiting({home.pk for home in homes[:2]})
    assert [(each.prompt, each.key) for each in found] == [
        (prompts.is_one(row), row.pk) for row in prompts.queue(ada.pk)
    ]
    assert bool(found) is (state in UNFINISHED)


def test_roles_are_by_person_and_workspace():
    home, elsewhere = making.workspace("Garden"), making.workspace("Elsewhere")
    ada = making.person("ada", Role.RESPONDER, home)
    eve = making.person("eve", Role.READER, home)
    Membership.objects.create(person=eve, workspace=elsewhere, role=Role.OWNER)
    nobody = making.person("nobody")
    everybody = {ada.pk, eve.pk, nobody.pk, 10**9}
    assert standing.roles(everybody) == {
        ada.pk: {home.pk: Role.RESPONDER},
        eve.pk: {home.pk: Role.READER, elsewhere.pk: Role.OWNER},
        nobody.pk: {},
        10**9: {},
    }
    assert standing.roles_in(home.pk, everybody) == {ada.pk: Role.RESPONDER, eve.pk: Role.READER}


def test_more_keys_than_one_query_takes_are_asked_for_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(standing, "KEYS", 2)
    home = making.workspace("Garden")
    people = [making.person(f"p{n}", Role.OWNER, home).pk for n in range(5)]
    with CaptureQueriesContext(connection) as captured:
        assert sorted(standing.roles_in(home.pk, people)) == people
    assert len(captured) == 3


def test_rows_that_are_gone_are_left_out():
    run = making.running(making.conversation(making.workspace("Garden")))
    question, prompt = making.question(run), making.prompt(run)
    assert standing.questions({question.pk, 10**9}) == {question.pk: question}
    assert standing.prompts({prompt.pk, 10**9}) == {prompt.pk: prompt}
    with CaptureQueriesContext(connection) as captured:
        assert standing.questions(set()) == {}
    assert len(captured) == 0


CHANGES: dict[str, Callable[[Run], object]] = {
    "length": making.question,
    "state": lambda run: Run.objects.update(state=RunState.FAILED),
    "resumed": lambda run: Run.objects.update(resumed=1),
    "gone": lambda run: type(run.conversation).objects.update(gone_at=timezone.now()),
    "archived": lambda run: type(run.conversation).objects.update(archived=True),
    "revision": lambda run: type(run.conversation).objects.update(revision=7),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_conversation_that_changed_differs(change: str):
    run = making.running(making.conversation(making.workspace("Garden")))
    keys = {run.conversation_id}
    before = standing.conversations(keys)
    assert standing.conversations(keys) == before
    CHANGES[change](run)
    assert standing.conversations(keys) != before


def test_a_desk_differs_once_something_came_or_went():
    home, elsewhere = making.workspace("Garden"), making.workspace("Elsewhere")
    run = making.running(making.conversation(home))
    keys = {home.pk, elsewhere.pk}
    empty = standing.desks(keys)
    assert empty == {home.pk: (), elsewhere.pk: ()}
    question = making.question(run)
    one = standing.desks(keys)
    making.prompt(run)
    two = standing.desks(keys)
    making.settle(question, Answered(True))
    assert len({str(each[home.pk]) for each in (empty, one, two, standing.desks(keys))}) == 4
    assert {each[elsewhere.pk] for each in (empty, one, two)} == {()}
