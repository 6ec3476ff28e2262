from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from jpweb.store import approvals
from jpweb.store.choices import Act, Role
from jpweb.store.inbox import claims
from jpweb.store.inquiries import Decider
from jpweb.store.models import (
    ApprovalClaim,
    Inquiry,
    LedgerEntry,
    Membership,
    Person,
    QuestionClaim,
)
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db


class Desk:
    """An open question, and two people who may answer it."""

    def __init__(self) -> None:
        workspace = making.workspace()
        self.run = making.start_run(making.conversation(workspace))
        self.question: Inquiry = making.question(self.run)
        self.ada, self.ben = (
            making.person(name, Role.RESPONDER, workspace) for name in ("ada", "ben")
        )

    def get_holder(self) -> Person | None:
        claim = claims.list_claims([self.question.pk]).get(self.question.pk)
        return claim.person if claim else None


@pytest.fixture
def desk() -> Desk:
    return Desk()


def list_acts() -> list[tuple[str, str]]:
    entries = LedgerEntry.objects.filter(act__in=[Act.QUESTION_CLAIMED, Act.CLAIM_RELEASED])
    return [(row.act, json.loads(row.text)["by"]["name"]) for row in entries.order_by("pk")]


def test_claim_question_of_another_person_keeps_the_first_holder(desk: Desk):
    assert claims.claim_question(desk.question, desk.ada)
    assert not claims.claim_question(desk.question, desk.ben)
    assert claims.claim_question(desk.question, desk.ada)
    assert desk.get_holder() == desk.ada
    assert list_acts() == [(Act.QUESTION_CLAIMED, "Ada")]


def test_claim_question_after_a_claim_lapsed_has_a_new_holder(desk: Desk):
    claims.claim_question(desk.question, desk.ada)
    QuestionClaim.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert desk.get_holder() is None
    assert claims.claim_question(desk.question, desk.ben)
    assert desk.get_holder() == desk.ben


def test_release_claim_of_another_person_changes_nothing(desk: Desk):
    claims.claim_question(desk.question, desk.ada)
    assert not claims.release_claim(desk.question, desk.ben)
    assert claims.release_claim(desk.question, desk.ada)
    assert desk.get_holder() is None
    assert list_acts() == [(Act.QUESTION_CLAIMED, "Ada"), (Act.CLAIM_RELEASED, "Ada")]


def test_claim_question_that_is_settled_is_refused(desk: Desk):
    making.settle(desk.question, Answered(True))
    assert not claims.claim_question(desk.question, desk.ada)
    assert list_acts() == []


def test_claim_question_of_a_reader_is_refused(desk: Desk):
    reader = making.person("eve", Role.READER, desk.question.conversation.workspace)
    assert not claims.claim_question(desk.question, reader)


@pytest.mark.parametrize("cause", ["lapse", "settlement", "lost right", "sign-out"])
def test_delete_ended_deletes_a_claim_after(desk: Desk, cause: str):
    claims.claim_question(desk.question, desk.ada)
    assert claims.delete_ended() == set()
    if cause == "lapse":
        QuestionClaim.objects.update(until=timezone.now() - timedelta(seconds=1))
    elif cause == "settlement":
        making.settle(desk.question, Answered(True))
    elif cause == "lost right":
        Membership.objects.filter(person=desk.ada).update(role=Role.READER)
    else:
        claims.release_all(desk.ada)
        assert list_acts()[-1] == (Act.CLAIM_RELEASED, "Ada")
    assert claims.delete_ended() == {desk.question.workspace_id}
    assert not QuestionClaim.objects.exists()


def test_claim_approval_keeps_its_first_holder_until_released(desk: Desk):
    approval = making.prompt(desk.run)
    assert claims.claim_approval(approval, desk.ada)
    assert not claims.claim_approval(approval, desk.ben)
    assert claims.list_approval_claims([approval.pk])[approval.pk].person == desk.ada
    assert desk.get_holder() is None, "a claim of a question with the same key"
    assert not claims.release_claim(approval, desk.ben)
    assert claims.release_claim(approval, desk.ada)
    assert claims.list_approval_claims([approval.pk]) == {}
    acts = LedgerEntry.objects.filter(
        act__in=[Act.APPROVAL_CLAIMED, Act.APPROVAL_CLAIM_RELEASED]
    ).order_by("pk")
    assert [row.act for row in acts] == [Act.APPROVAL_CLAIMED, Act.APPROVAL_CLAIM_RELEASED]


def test_claim_approval_that_is_decided_or_of_a_reader_is_refused(desk: Desk):
    approval = making.prompt(desk.run)
    reader = making.person("eve", Role.READER, desk.question.conversation.workspace)
    assert not claims.claim_approval(approval, reader)
    approvals.decide_approval(approval.pk, {"allow": True}, Decider("person", "Ben", desk.ben.pk))
    assert not claims.claim_approval(approval, desk.ada)


@pytest.mark.parametrize("cause", ["lapse", "decision", "lost right", "sign-out"])
def test_delete_ended_deletes_a_claim_of_an_approval_after(desk: Desk, cause: str):
    approval = making.prompt(desk.run)
    claims.claim_approval(approval, desk.ada)
    assert claims.delete_ended() == set()
    if cause == "lapse":
        ApprovalClaim.objects.update(until=timezone.now() - timedelta(seconds=1))
    elif cause == "decision":
        decider = Decider("person", "Ben", desk.ben.pk)
        approvals.decide_approval(approval.pk, {"allow": True}, decider)
    elif cause == "lost right":
        Membership.objects.filter(person=desk.ada).update(role=Role.READER)
    else:
        claims.release_all(desk.ada)
    assert claims.delete_ended() == {desk.question.workspace_id}
    assert not ApprovalClaim.objects.exists()
