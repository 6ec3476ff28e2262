"""Requests whose person loses the role between the check of access and the conversation's lock."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied

from jpweb.store import approvals, inquiries, journal, runs
from jpweb.store.choices import Role
from jpweb.store.inbox.current_roles import RoleEnded
from jpweb.store.models import Membership, Person, Run, RunInterrupt
from jpweb.web import answer_submission
from jpweb.web.answer_submission import AnswerInput
from tests.store import making
from tests.web.world import World, signed_in


def remove(person: Person) -> None:
    Membership.objects.filter(person=person).delete()


def demote(person: Person) -> None:
    Membership.objects.filter(person=person).update(role=Role.READER, direct_role=Role.READER)


def deactivate(person: Person) -> None:
    Person.objects.filter(pk=person.pk).update(is_active=False)


ENDS = [remove, demote, deactivate]


@pytest.fixture(params=ENDS, ids=lambda end: end.__name__)
def responder(request: Any, world: World, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return a person whose role ends while their request waits for a conversation's lock."""
    person, lock = world.people["responder"], journal.lock_conversation

    def end_role_and_lock(conversation_id: int) -> Any:
        request.param(person)
        return lock(conversation_id)

    monkeypatch.setattr(journal, "lock_conversation", end_role_and_lock)
    return person


@pytest.mark.parametrize("action", ["answer", "decline"])
def test_submission_after_the_role_has_ended_is_refused(
    world: World, responder: Person, action: str
):
    path = f"/questions/{world.question.pk}/{action}"
    assert signed_in(responder).post(path, {"answer": "true"}).status_code == 403
    assert inquiries.get_inquiry(world.question.pk).state == inquiries.OPEN_STATE


def test_socket_answer_after_the_role_has_ended_is_refused(world: World, responder: Person):
    key = signed_in(responder).session.session_key
    with pytest.raises(PermissionDenied):
        answer_submission._attempt_answer(key, world.question.pk, AnswerInput("true"))
    assert inquiries.get_inquiry(world.question.pk).state == inquiries.OPEN_STATE


@pytest.mark.parametrize("action", ["allow", "refuse"])
def test_approval_after_the_role_has_ended_is_refused(world: World, responder: Person, action: str):
    key = world.prompt.pk
    assert signed_in(responder).post(f"/prompts/{key}/{action}").status_code == 403
    assert approvals.get_approval(key).state == "open"


def test_interrupt_after_the_role_has_ended_is_refused(world: World, responder: Person):
    path = f"/conversations/{world.conversation.pk}/stop"
    assert signed_in(responder).post(path).status_code == 403
    assert not RunInterrupt.objects.exists()


def test_turn_after_the_role_has_ended_does_not_start(world: World, responder: Person):
    conversation = making.conversation(world.workspace, "Quiet", world.people["owner"])
    with pytest.raises(RoleEnded):
        runs.start_run(conversation.pk, responder.pk, "scripted", requires_role=True)
    assert not Run.objects.filter(conversation=conversation).exists()
