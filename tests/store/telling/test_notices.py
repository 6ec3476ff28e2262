from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store.models import Address, AnswerLink, Inquiry, Notice, Person, Prompt, Run
from jpweb.store.telling import notices
from jpweb.store.terms import UNFINISHED, PromptKind, Role, RunState
from jpweb.stream.answers import Secret
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    home = making.workspace()
    return making.running(making.conversation(home, "A talk"))


def address(run: Run, delay: int = 0, role: Role = Role.RESPONDER, **more: Any) -> Address:
    home = run.conversation.workspace
    who: Person = more.pop("person", None) or making.person("", role, home)
    return Address.objects.create(person=who, workspace=home, url="ntfy://t", delay=delay)


def test_nothing_is_looked_for_where_nobody_has_an_address(run: Run):
    making.question(run)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert notices.due(10) == []
    assert len(queries) == 1


def test_the_cost_of_a_look_does_not_grow_with_what_waits(run: Run):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert notices.due(50)
        return len(queries)

    address(run)
    making.question(run)
    first = cost()
    for _ in range(6):
        address(run)
        making.question(run)
    assert cost() == first <= 4


@pytest.mark.parametrize("state", RunState)
def test_what_an_unfinished_run_holds_open_is_due(run: Run, state: RunState):
    address(run)
    making.question(run)
    prompt = making.prompt(run)
    Prompt.objects.filter(pk=prompt.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    Run.objects.update(state=state)
    assert len(notices.due(10)) == (2 if state in UNFINISHED else 0)


@pytest.mark.parametrize(("late", "told"), [(-30, 0), (1, 1)])
@pytest.mark.parametrize("delay", [0, 60, 86_400])
def test_an_address_waits_its_own_delay(run: Run, delay: int, late: int, told: int):
    address(run, delay)
    making.question(run)
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(seconds=delay + late))
    assert len(notices.due(10)) == told


def test_the_text_of_a_secret_question_is_not_even_read(run: Run):
    address(run)
    making.question(run, Secret(), "canary?")
    (due,) = notices.due(10)
    assert (due.secret, due.text) == (True, "")
    assert "canary" not in repr(due)


def test_a_question_of_an_unknown_kind_is_due_without_its_text(run: Run):
    address(run)
    making.question(run)
    Inquiry.objects.update(answer_type="riddle")
    (due,) = notices.due(10)
    assert (due.secret, due.text) == (False, "")


def test_a_label_is_who_asks_and_a_tool_who_waits(run: Run):
    address(run)
    making.question(run)
    Inquiry.objects.update(label="Deployment")
    prompt = making.prompt(run, PromptKind.DELIVER)
    Prompt.objects.filter(pk=prompt.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    first, second = notices.due(10)
    assert (first.asker, first.prompt) == ("Deployment", None)
    assert (second.asker, second.prompt) == ("vault", PromptKind.DELIVER)


def test_no_address_shows_in_a_representation(run: Run):
    address(run)
    making.question(run)
    assert "ntfy" not in repr(notices.due(10))


def test_an_address_with_much_to_be_told_leaves_room_for_others(run: Run):
    first, second = address(run), address(run)
    for _ in range(3 * notices.EACH):
        making.question(run)
    told = [due.address_id for due in notices.due(2 * notices.EACH)]
    assert sorted(told) == [first.pk] * notices.EACH + [second.pk] * notices.EACH
    assert len(notices.due(3)) == 3


def test_an_address_with_much_that_is_older_leaves_room_too(run: Run):
    address(run)
    for _ in range(3 * notices.EACH):
        making.question(run)
    home = making.workspace()
    other = making.running(making.conversation(home))
    latest = address(other)
    making.question(other)
    Inquiry.objects.filter(run=other).update(asked_at=timezone.now() - timedelta(minutes=1))
    assert notices.due(2 * notices.EACH)[-1].address_id == latest.pk


def test_a_claim_is_made_once_and_makes_one_link(run: Run):
    address(run)
    making.question(run)
    (due,) = notices.due(10)
    claimed = notices.claim(due)
    assert claimed is not None
    assert claimed[1]
    assert notices.claim(due) is None
    assert notices.due(10) == []
    assert (Notice.objects.count(), AnswerLink.objects.count()) == (1, 1)


def test_a_failure_stands_on_its_notice(run: Run):
    address(run)
    making.question(run)
    claimed = notices.claim(notices.due(10)[0])
    assert claimed is not None
    notices.failed(claimed[0], "It failed.\0")
    assert Notice.objects.get().problem == "It failed.\N{REPLACEMENT CHARACTER}"
