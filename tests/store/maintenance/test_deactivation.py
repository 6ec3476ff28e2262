"""Deactivation: what ends with it, where the person counts no longer, and what stays."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client

from jpweb.store import accounts, inquiries
from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Role, TrustKind
from jpweb.store.database import clock
from jpweb.store.errors import InactivePerson, InvalidLink, LastOwner, NameTaken
from jpweb.store.inbox import claims, presence
from jpweb.store.inquiries import Decider
from jpweb.store.ledger.entries import OPERATOR, Actor
from jpweb.store.maintenance import deactivation
from jpweb.store.models import (
    AnswerLink,
    Inquiry,
    Invitation,
    LedgerEntry,
    Membership,
    Person,
    ReviewTask,
    SignIn,
    SignInLink,
    Trust,
    Workspace,
)
from jpweb.store.people import group_members, groups, invitations, personal_data
from jpweb.store.reviews import assignments, decisions, reservations, subjects
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.store.people.grouping import act_as, give, make_group

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.OWNER, workspace)


@pytest.fixture
def ben(workspace: Workspace) -> Person:
    return making.person("ben", Role.OWNER, workspace)


def close_question(workspace: Workspace, decider: Decider | None = None) -> Inquiry:
    row = making.question(making.start_run(making.conversation(workspace)))
    making.settle(row, Answered(True), decider)
    return inquiries.get_inquiry(row.pk)


def list_acts(*acts: Act) -> list[tuple[str, str]]:
    """Return the kind of actor and the subject of each entry of these acts."""
    rows = LedgerEntry.objects.filter(act__in=acts).order_by("pk")
    return [(json.loads(row.text)["by"]["kind"], row.subject) for row in rows]


def test_deactivation_ends_sign_ins_links_and_invitations(
    workspace: Workspace, ada: Person, ben: Person
):
    client = Client()
    client.force_login(ada)
    tokens = [accounts.issue_link(ada), accounts.issue_link(ben, maker=ada)]
    invitations.create_invitation(workspace, "Eve", Role.READER, ada)
    kept_token = invitations.create_invitation(workspace, "Finn", Role.READER, ben)
    question, expires_at = close_question(workspace), clock.now() + timedelta(days=1)
    AnswerLink.objects.create(inquiry=question, person=ada, token_hash="a", expires_at=expires_at)
    assert deactivation.deactivate_person(ada) == (True, 1, [], False)
    assert client.get("/account").status_code == 302
    assert not SignIn.objects.exists()
    assert not AnswerLink.objects.exists()
    for token in tokens:
        with pytest.raises(InvalidLink):
            accounts.use_link(token)
    assert invitations.find_invitation(kept_token).name == "Finn"
    assert [row.name for row in Invitation.objects.all()] == ["Finn"]
    assert list_acts(Act.PERSON_DEACTIVATED) == [("operator", f"person:{ada.pk}")]
    assert list_acts(Act.INVITATION_WITHDRAWN) == [("operator", "")]


def test_deactivation_gives_claims_and_reviews_back(workspace: Workspace, ada: Person, ben: Person):
    run = making.start_run(making.conversation(workspace))
    question, approval = making.question(run), making.prompt(run)
    assert claims.claim_question(question, ada)
    assert claims.claim_approval(approval, ada)
    closed = close_question(workspace)
    assignments.assign(subjects.load_question(closed), ada.pk, Actor.from_person(ben))
    assert reservations.reserve(closed.conversation_id, closed.anchor, ada.pk)
    deactivation.deactivate_person(ada)
    assert claims.claim_question(question, ben)
    assert claims.claim_approval(approval, ben)
    task = ReviewTask.objects.get()
    assert (task.assignee, task.holder, task.held_until) == (None, None, None)
    assert list_acts(Act.CLAIM_RELEASED) == [("operator", f"inquiry:{question.pk}")]
    assert list_acts(Act.APPROVAL_CLAIM_RELEASED) == [("operator", f"approval:{approval.pk}")]
    assert list_acts(Act.REVIEW_ASSIGNED)[1:] == [("operator", f"inquiry:{closed.pk}")]


def test_answers_trust_and_roles_of_a_deactivated_person_stay(
    workspace: Workspace, ada: Person, ben: Person
):
    row = close_question(workspace, making.decider(ada))
    Trust.objects.create(workspace=workspace, kind=TrustKind.TOOL, name="x", trusted_by=ada)
    deactivation.deactivate_person(ada)
    row.refresh_from_db()
    assert row.decider == ada
    assert Trust.objects.get().trusted_by == ada
    assert accounts.get_role(ada.pk, workspace.pk) is Role.OWNER
    assert ada in [member.person for member in accounts.list_members(workspace.pk)]


def test_deactivated_person_is_not_present_mentionable_or_assignable(
    workspace: Workspace, ada: Person, ben: Person
):
    subject = subjects.load_question(close_question(workspace))
    group = groups.create_group("Night shift", ben)
    presence.record_presence("one", {(ada.pk, workspace.pk)})

    def list_places() -> list[bool]:
        return [
            presence.is_anyone_present(workspace.pk),
            ada in presence.list_present(workspace.pk),
            "Ada" in mentions.list_member_names(workspace.pk),
            ada in assignments.list_assignable(subject),
            ada in group_members.list_candidates(group, ben.pk),
        ]

    assert list_places() == [True] * 5
    deactivation.deactivate_person(ada)
    assert list_places() == [False] * 5


def test_deactivation_of_the_only_owner_is_refused_unless_allowed(
    workspace: Workspace, ada: Person
):
    making.person("ben", Role.AUDITOR, workspace)
    with pytest.raises(LastOwner, match="Garden would have no owner"):
        deactivation.deactivate_person(ada)
    ada.refresh_from_db()
    assert ada.is_active
    assert not LedgerEntry.objects.exists()
    result = deactivation.deactivate_person(ada, may_leave_ownerless=True)
    assert (result.ownerless, result.has_new_owner) == ([workspace], False)


@pytest.mark.parametrize("is_later", [True, False])
@pytest.mark.parametrize("is_member", [True, False])
def test_new_owner_takes_what_only_the_deactivated_person_owned(
    workspace: Workspace, ada: Person, is_later: bool, is_member: bool
):
    ben = making.person("ben")
    if is_member:
        Membership.objects.create(person=ben, workspace=workspace, role=Role.READER)
    orchard = making.workspace("Orchard")
    for person in (ada, making.person("cleo")):
        Membership.objects.create(person=person, workspace=orchard, role=Role.OWNER)
    if is_later:
        deactivation.deactivate_person(ada, may_leave_ownerless=True)
    result = deactivation.deactivate_person(ada, ben)
    assert (result.is_new, result.ownerless) == (not is_later, [workspace])
    assert accounts.get_role(ben.pk, workspace.pk) is Role.OWNER
    assert accounts.get_role(ben.pk, orchard.pk) is None
    act = Act.ROLE_CHANGED if is_member else Act.MEMBER_ADDED
    assert list_acts(Act.ROLE_CHANGED, Act.MEMBER_ADDED) == [("operator", f"person:{ben.pk}")]
    assert LedgerEntry.objects.filter(act=act).count() == 1
    assert deactivation.deactivate_person(ada).ownerless == []


def test_new_owner_who_cannot_be_one_changes_nothing(workspace: Workspace, ada: Person):
    making.person("ben", Role.READER, workspace)
    lookalike, gone = making.person("elsewhere"), making.person("gone")
    Person.objects.filter(pk=lookalike.pk).update(first_name="Ben")
    lookalike.refresh_from_db()
    Person.objects.filter(pk=gone.pk).update(is_active=False)
    for new_owner, error in ((lookalike, NameTaken), (gone, InactivePerson), (ada, InactivePerson)):
        with pytest.raises(error):
            deactivation.deactivate_person(ada, new_owner)
    ada.refresh_from_db()
    assert ada.is_active
    assert accounts.get_role(ada.pk, workspace.pk) is Role.OWNER


def test_deactivated_owner_does_not_count_beside_the_last_active_one(
    workspace: Workspace, ada: Person, ben: Person
):
    deactivation.deactivate_person(ada)
    member = Membership.objects.get(person=ben)
    with pytest.raises(LastOwner):
        accounts.change_role(member, Role.READER)
    with pytest.raises(LastOwner):
        accounts.remove_member(member)
    accounts.remove_member(Membership.objects.get(person=ada))
    assert accounts.get_role(ben.pk, workspace.pk) is Role.OWNER


def test_a_group_does_not_leave_a_deactivated_owner_alone(workspace: Workspace, ada: Person):
    owner = making.person("owner", Role.OWNER, workspace)
    group = make_group("Night shift", owner, owner)
    give(group, workspace, Role.OWNER)
    Membership.objects.filter(person=owner).update(direct_role=Role.READER)
    deactivation.deactivate_person(ada)
    with pytest.raises(LastOwner):
        groups.take_role(group, workspace, act_as())


def test_make_owner_takes_no_deactivated_person_and_counts_none(workspace: Workspace, ada: Person):
    first = accounts.get_or_create_owner()
    accounts.make_owner(first, workspace)
    assert accounts.get_role(first.pk, workspace.pk) is None
    Person.objects.update(is_active=False)
    first.refresh_from_db()
    accounts.make_owner(first, workspace)
    assert accounts.get_role(first.pk, workspace.pk) is None
    Person.objects.filter(pk=first.pk).update(is_active=True)
    first.refresh_from_db()
    accounts.make_owner(first, workspace)
    assert accounts.get_role(first.pk, workspace.pk) is Role.OWNER


def test_links_of_a_deactivated_person_cannot_be_made_and_do_not_come_back(
    workspace: Workspace, ada: Person, ben: Person
):
    deactivation.deactivate_person(ada)
    ada.refresh_from_db()
    with pytest.raises(InactivePerson, match="`jpweb reactivate_person ada`"):
        accounts.issue_link(ada)
    # As a request writes them that began before.
    expires_at = clock.now() + timedelta(days=1)
    SignInLink.objects.create(person=ada, token_hash="late", expires_at=expires_at)
    SignIn.objects.create(key_hash="late", data="", person=ada, expires_at=expires_at)
    assert deactivation.reactivate_person(ada)
    assert not SignInLink.objects.exists()
    assert not SignIn.objects.exists()
    ada.refresh_from_db()
    assert accounts.use_link(accounts.issue_link(ada)).person == ada
    assert accounts.get_role(ada.pk, workspace.pk) is Role.OWNER


def test_deactivation_and_reactivation_are_recorded_once_in_each_workspace(
    workspace: Workspace, ada: Person, ben: Person
):
    orchard = making.workspace("Orchard")
    for person in (ada, ben):
        Membership.objects.create(person=person, workspace=orchard, role=Role.OWNER)
    for _ in range(2):
        deactivation.deactivate_person(ada)
    assert [deactivation.reactivate_person(ada) for _ in range(2)] == [True, False]
    acts = (Act.PERSON_DEACTIVATED, Act.PERSON_REACTIVATED)
    for act in acts:
        rows = LedgerEntry.objects.filter(act=act)
        assert {row.workspace_id for row in rows} == {workspace.pk, orchard.pk}
        assert rows.count() == 2
        assert {json.loads(row.text)["details"]["person"] for row in rows} == {"Ada"}
    page, _ = decisions.list_page(ben.pk, DecisionFilters(kind="rights"), None)
    assert [getattr(decision.row, "act", "") for decision in page] == [acts[1]] * 2 + [acts[0]] * 2
    data = b"".join(chunk.data for chunk in personal_data.make_personal_data(ada, lambda url: url))
    named_acts = [row["entry"]["act"] for row in json.loads(data)["ledger_entries"]]
    assert {named_acts.count(act) for act in acts} == {2}


def test_deactivation_of_a_person_without_a_workspace_is_recorded(ada: Person):
    cleo = making.person("cleo")
    deactivation.deactivate_person(cleo)
    entry = LedgerEntry.objects.get(act=Act.PERSON_DEACTIVATED)
    assert (entry.workspace_id, entry.subject) == (None, f"person:{cleo.pk}")
    assert OPERATOR.person_id is entry.person_id
