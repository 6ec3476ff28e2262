from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.errors import InvalidLink, LastOwner, MembershipEnded
from jpweb.store.models import LedgerEntry, Membership, Person, SignIn, SignInLink, Workspace
from jpweb.store.people.sessions import hash_key
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(workspace: Workspace) -> Person:
    return making.person("owner", Role.OWNER, workspace)


def test_a_link_works_once_and_is_kept_hashed(owner: Person):
    token = accounts.issue_link(owner)
    link = SignInLink.objects.get()
    assert token not in str(vars(link))
    assert len(token) >= 32
    assert accounts.use_link(token) == (owner, None)
    with pytest.raises(InvalidLink):
        accounts.use_link(token)


def sign_in(person: Person) -> str:
    client = Client()
    client.force_login(person)
    key = client.session.session_key
    assert key
    return key


def test_sign_in_returns_its_person_until_it_ends(owner: Person):
    key, other_key = sign_in(owner), sign_in(owner)
    assert accounts.get_signed_in_person(key) == owner
    SignIn.objects.filter(pk=hash_key(key)).delete()
    assert accounts.get_signed_in_person(key) is None
    assert accounts.get_signed_in_person(other_key) == owner


def test_a_sign_in_that_is_too_old_is_nobodys(owner: Person):
    key = sign_in(owner)
    SignIn.objects.filter(pk=hash_key(key)).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert accounts.get_signed_in_person(key) is None


def test_sign_in_of_an_inactive_person_is_invalid(owner: Person):
    key = sign_in(owner)
    Person.objects.filter(pk=owner.pk).update(is_active=False)
    assert accounts.get_signed_in_person(key) is None


@pytest.mark.parametrize("key", [None, "", "guessed", "x" * 500, "\0"])
def test_get_signed_in_person_of_an_unknown_key_returns_none(owner: Person, key: str | None):
    sign_in(owner)
    assert accounts.get_signed_in_person(key) is None


def test_sign_in_links_of_a_person_are_independent(owner: Person):
    first, second = accounts.issue_link(owner), accounts.issue_link(owner)
    assert first != second
    accounts.use_link(first)
    assert accounts.use_link(second) == (owner, None)


@pytest.mark.parametrize("delay", [timedelta(0), timedelta(days=1)])
def test_a_link_grows_old(owner: Person, delay: timedelta):
    token = accounts.issue_link(owner)
    SignInLink.objects.update(expires_at=clock.now() - delay)
    with pytest.raises(InvalidLink):
        accounts.use_link(token)
    assert SignInLink.objects.get().used_at is None


def test_sign_in_link_expires_after_a_week(owner: Person):
    accounts.issue_link(owner)
    life = SignInLink.objects.get().expires_at - clock.now()
    assert timedelta(days=6, hours=23) < life <= timedelta(days=7)


def test_sign_in_link_of_an_inactive_person_is_refused(owner: Person):
    token = accounts.issue_link(owner)
    Person.objects.update(is_active=False)
    with pytest.raises(InvalidLink):
        accounts.use_link(token)


@pytest.mark.parametrize("token", ["", "guessed", "\0", "x" * 10_000, "ü"])
def test_a_token_that_was_never_made_is_refused(owner: Person, token: str):
    accounts.issue_link(owner)
    with pytest.raises(InvalidLink):
        accounts.use_link(token)


def test_the_first_owner_is_one_person(workspace: Workspace):
    assert accounts.get_or_create_owner() == accounts.get_or_create_owner()
    assert accounts.find_by_name("owner") == [accounts.get_or_create_owner()]
    assert accounts.find_by_name("Owner") == [accounts.get_or_create_owner()]
    assert accounts.find_by_name("nobody\0") == []


def test_make_owner_creates_an_owner_when_there_is_none(workspace: Workspace):
    first = making.person("first", Role.READER, workspace)
    accounts.make_owner(first, workspace)
    assert accounts.get_role(first.pk, workspace.pk) == Role.OWNER
    second = making.person("second")
    accounts.make_owner(second, workspace)
    assert accounts.get_role(second.pk, workspace.pk) is None


def test_roles_are_of_a_workspace(workspace: Workspace, owner: Person):
    other_workspace = making.workspace("Other")
    Membership.objects.create(person=owner, workspace=other_workspace, role=Role.READER)
    assert accounts.get_roles(owner.pk) == {
        workspace.pk: Role.OWNER,
        other_workspace.pk: Role.READER,
    }
    assert accounts.list_workspaces(owner.pk, Role.READER) == [workspace, other_workspace]
    assert accounts.list_workspaces(owner.pk, Role.RESPONDER) == [workspace]
    assert accounts.get_workspace(workspace.pk) == workspace
    assert accounts.get_membership(10**9) is None


def test_use_link_after_its_maker_lost_the_workspace_is_refused(
    workspace: Workspace, owner: Person
):
    """Bob's link was made by the owner of a workspace; then Bob joined another one."""
    making.person("second", Role.OWNER, workspace)
    eve = making.person("eve", Role.READER, workspace)
    tokens = [accounts.issue_link(eve, maker=owner) for _ in range(3)]
    assert accounts.use_link(tokens[0]) == (eve, owner.pk)
    accounts.change_role(Membership.objects.get(person=owner), Role.AUDITOR)
    with pytest.raises(InvalidLink):
        accounts.use_link(tokens[1])
    accounts.change_role(Membership.objects.get(person=owner), Role.OWNER)
    Membership.objects.create(person=eve, workspace=making.workspace("B"), role=Role.READER)
    with pytest.raises(InvalidLink):
        accounts.use_link(tokens[2])


def test_use_link_made_by_its_person_gives_every_workspace(workspace: Workspace, owner: Person):
    eve = making.person("eve", Role.READER, workspace)
    token = accounts.issue_link(eve, maker=eve)
    Membership.objects.create(person=eve, workspace=making.workspace("B"), role=Role.READER)
    assert accounts.use_link(token) == (eve, eve.pk)


def test_make_owner_ends_links_and_sign_ins_made_by_others(workspace: Workspace, owner: Person):
    eve = making.person("eve", Role.READER, workspace)
    foreign_link, own_link = (
        accounts.issue_link(eve, maker=owner),
        accounts.issue_link(eve, maker=eve),
    )
    by_other, by_self = sign_in(eve), sign_in(eve)
    SignIn.objects.filter(pk=hash_key(by_other)).update(maker=owner)
    accounts.make_owner(eve, making.workspace("B"))
    with pytest.raises(InvalidLink):
        accounts.use_link(foreign_link)
    assert accounts.use_link(own_link).person == eve
    assert (accounts.get_signed_in_person(by_other), accounts.get_signed_in_person(by_self)) == (
        None,
        eve,
    )


@pytest.mark.parametrize(
    ("other_role", "is_allowed"),
    [(None, True), ("own", True), ("foreign", False), ("reader", False)],
)
def test_an_owner_signs_in_those_of_their_own_workspaces_alone(
    workspace: Workspace, owner: Person, other_role: str | None, is_allowed: bool
):
    eve = making.person("eve", Role.READER, workspace)
    if other_role is not None:
        other_workspace = making.workspace("Other")
        Membership.objects.create(person=eve, workspace=other_workspace, role=Role.READER)
        role = {"own": Role.OWNER, "reader": Role.AUDITOR}.get(other_role)
        if role is not None:
            Membership.objects.create(person=owner, workspace=other_workspace, role=role)
    assert accounts.can_link_person(owner.pk, eve) is is_allowed


def test_the_last_owner_stays(workspace: Workspace, owner: Person):
    member = Membership.objects.get(person=owner)
    for role in (Role.READER, Role.AUDITOR):
        with pytest.raises(LastOwner):
            accounts.change_role(member, role)
    with pytest.raises(LastOwner):
        accounts.remove_member(member)
    accounts.change_role(member, Role.OWNER)
    assert accounts.get_role(owner.pk, workspace.pk) == Role.OWNER


def test_removal_of_a_member_is_recorded_once(workspace: Workspace, owner: Person):
    """Two owners act at once, or one presses twice: each request has read the membership."""
    eve = making.person("eve", Role.READER, workspace)
    first_read, second_read = (Membership.objects.get(person=eve) for _ in range(2))
    accounts.remove_member(first_read)
    with pytest.raises(MembershipEnded, match="Eve is no longer in Garden"):
        accounts.change_role(second_read, Role.OWNER)
    with pytest.raises(MembershipEnded):
        accounts.remove_member(second_read)
    assert list(LedgerEntry.objects.values_list("act", flat=True)) == [Act.MEMBER_REMOVED]


def test_change_to_the_role_that_a_member_has_is_no_entry(workspace: Workspace, owner: Person):
    eve = making.person("eve", Role.READER, workspace)
    first_read, second_read = (Membership.objects.get(person=eve) for _ in range(2))
    for member in (first_read, second_read):
        assert accounts.change_role(member, Role.AUDITOR) == Role.AUDITOR
    assert LedgerEntry.objects.filter(act=Act.ROLE_CHANGED).count() == 1


def test_owner_can_leave_when_there_is_a_second_owner(workspace: Workspace, owner: Person):
    second = making.person("second", Role.OWNER, workspace)
    accounts.change_role(Membership.objects.get(person=owner), Role.READER)
    with pytest.raises(LastOwner):
        accounts.remove_member(Membership.objects.get(person=second))
    accounts.change_role(Membership.objects.get(person=owner), Role.OWNER)
    accounts.remove_member(Membership.objects.get(person=second))
    assert [m.person for m in accounts.list_members(workspace.pk)] == [owner]


def test_an_owner_elsewhere_does_not_count(workspace: Workspace, owner: Person):
    making.person("other", Role.OWNER, making.workspace("Other"))
    with pytest.raises(LastOwner):
        accounts.remove_member(Membership.objects.get(person=owner))


def test_removed_member_stays_decider_of_their_answers(workspace: Workspace, owner: Person):
    eve = making.person("eve", Role.RESPONDER, workspace)
    conversation = making.conversation(workspace, "A talk", eve)
    row = making.settle(
        making.question(making.start_run(conversation, eve)), making.ANSWER, making.decider(eve)
    )
    accounts.remove_member(Membership.objects.get(person=eve))
    row.refresh_from_db()
    assert row.decider == eve
    assert str(SignInLink(person=eve)) == "link for eve"
