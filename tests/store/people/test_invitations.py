from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.errors import InvalidLink, InvalidName, NameTaken, TooManyLinks
from jpweb.store.models import Invitation, LedgerEntry, Membership, Person, Workspace
from jpweb.store.people import invitations
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(workspace: Workspace) -> Person:
    return making.person("owner", Role.OWNER, workspace)


def sign_in(person: Person) -> str:
    client = Client()
    client.force_login(person)
    return str(client.session.session_key)


def test_create_invitation_creates_no_person_and_no_membership(workspace: Workspace, owner: Person):
    people = Person.objects.count()
    token = invitations.create_invitation(workspace, "eve", Role.READER, owner)
    assert (Person.objects.count(), Membership.objects.count()) == (people, 1)
    assert token not in repr(vars(Invitation.objects.get()))
    assert str(Invitation.objects.get()).startswith("invitation of eve")


def test_take_without_a_sign_in_makes_a_new_person(workspace: Workspace, owner: Person):
    namesake = making.person("eve", Role.OWNER, making.workspace("B"))
    token = invitations.create_invitation(workspace, "eve", Role.READER, owner)
    acceptance = invitations.accept_invitation(invitations.find_invitation(token), None, None)
    assert acceptance.person != namesake
    assert acceptance.person.display_name == "eve"
    assert accounts.get_roles(acceptance.person.pk) == {workspace.pk: Role.READER}
    with pytest.raises(InvalidLink):
        invitations.accept_invitation(invitations.find_invitation(token), None, None)


def test_take_ends_every_other_sign_in_and_link(workspace: Workspace, owner: Person):
    rival = making.person("rival", Role.OWNER, making.workspace("B"))
    other_workspace = Workspace.objects.get(name="B")
    bob = making.person("bob", Role.READER, other_workspace)
    links = [accounts.issue_link(bob, maker) for maker in (rival, bob, None)]
    current, other_session = sign_in(bob), sign_in(bob)
    token = invitations.create_invitation(workspace, "Robert", Role.READER, owner)
    acceptance = invitations.accept_invitation(invitations.find_invitation(token), bob, current)
    assert len(acceptance.ended_session_hashes) == 1
    assert accounts.get_roles(bob.pk) == {
        workspace.pk: Role.READER,
        other_workspace.pk: Role.READER,
    }
    assert (
        accounts.get_signed_in_person(current),
        accounts.get_signed_in_person(other_session),
    ) == (
        bob,
        None,
    )
    for link in links:
        with pytest.raises(InvalidLink):
            accounts.use_link(link)


@pytest.mark.parametrize("reason", ["old", "withdrawn", "demoted", "inactive", "unknown", "empty"])
def test_take_of_an_ended_invitation_is_refused(workspace: Workspace, owner: Person, reason: str):
    """An owner who was removed cannot come back by an invitation of their own."""
    making.person("second", Role.OWNER, workspace)
    token = invitations.create_invitation(workspace, "eve", Role.READER, owner)
    match reason:
        case "old":
            Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        case "withdrawn":
            assert (
                invitations.withdraw_invitation(workspace.pk, Invitation.objects.get().pk) == "eve"
            )
        case "demoted":
            accounts.change_role(Membership.objects.get(person=owner), Role.AUDITOR)
        case "inactive":
            Person.objects.filter(pk=owner.pk).update(is_active=False)
        case "unknown":
            token = "\0ü" * 100
        case _:
            token = ""
    with pytest.raises(InvalidLink):
        invitations.accept_invitation(invitations.find_invitation(token), None, None)


def test_withdraw_of_an_invitation_accepted_meanwhile_is_no_entry(
    workspace: Workspace, owner: Person, monkeypatch: pytest.MonkeyPatch
):
    """PostgreSQL lets the acceptance commit between the withdrawal's SELECT and its DELETE."""
    token = invitations.create_invitation(workspace, "eve", Role.READER, owner)
    delete_row = Invitation.delete

    def delete_after_acceptance(row: Invitation) -> Any:
        invitations.accept_invitation(invitations.find_invitation(token), None, None)
        return delete_row(row)

    monkeypatch.setattr(Invitation, "delete", delete_after_acceptance)
    assert invitations.withdraw_invitation(workspace.pk, Invitation.objects.get().pk) is None
    assert Membership.objects.filter(person__first_name="eve").exists()
    assert not LedgerEntry.objects.filter(act=Act.INVITATION_WITHDRAWN).exists()


def test_declined_invitation_is_gone_and_an_entry_of_its_person(
    workspace: Workspace, owner: Person
):
    row = invitations.find_invitation(
        invitations.create_invitation(workspace, "eve", Role.READER, owner)
    )
    eve = making.person("eve")
    invitations.decline_invitation(row, eve)
    entry = LedgerEntry.objects.get(act=Act.INVITATION_DECLINED)
    assert (entry.person_id, entry.workspace_id) == (eve.pk, workspace.pk)
    assert not Invitation.objects.exists()
    with pytest.raises(InvalidLink):
        invitations.decline_invitation(row, eve)
    assert LedgerEntry.objects.filter(act=Act.INVITATION_DECLINED).count() == 1


def test_withdraw_of_another_workspace_does_nothing(workspace: Workspace, owner: Person):
    invitations.create_invitation(workspace, "eve", Role.READER, owner)
    assert (
        invitations.withdraw_invitation(making.workspace("B").pk, Invitation.objects.get().pk)
        is None
    )
    assert Invitation.objects.count() == 1


@pytest.mark.parametrize("name", ["Owner", "OWNER", "0wner", "Eve", "eve "])
def test_invite_of_a_lookalike_of_a_member_or_invited_is_refused(
    workspace: Workspace, owner: Person, name: str
):
    invitations.create_invitation(workspace, "eve", Role.READER, owner)
    with pytest.raises(NameTaken):
        invitations.create_invitation(workspace, name, Role.READER, owner)


def test_invite_of_a_name_that_hides_is_refused(workspace: Workspace, owner: Person):
    with pytest.raises(InvalidName):
        invitations.create_invitation(workspace, "ev\u200be", Role.READER, owner)


def test_take_by_a_lookalike_of_a_member_keeps_the_invitation(workspace: Workspace, owner: Person):
    making.person("eve", Role.READER, workspace)
    lookalike = making.person("Eve.", Role.READER, making.workspace("B"))
    Person.objects.filter(pk=lookalike.pk).update(first_name="EVE")
    lookalike.refresh_from_db()
    token = invitations.create_invitation(workspace, "somebody", Role.READER, owner)
    with pytest.raises(NameTaken, match="looks like “Eve”"):
        invitations.accept_invitation(
            invitations.find_invitation(token), lookalike, sign_in(lookalike)
        )
    with pytest.raises(NameTaken, match="already"):
        invitations.accept_invitation(invitations.find_invitation(token), owner, sign_in(owner))
    assert invitations.find_invitation(token).name == "somebody"


def test_links_of_one_person_within_an_hour_are_bounded(
    workspace: Workspace, owner: Person, monkeypatch: Any
):
    monkeypatch.setattr(invitations, "MAX_LINKS_PER_HOUR", 2)
    invitations.create_invitation(workspace, "eve", Role.READER, owner)
    accounts.issue_link(owner, maker=owner)
    with pytest.raises(TooManyLinks):
        invitations.create_invitation(workspace, "bob", Role.READER, owner)
    # A second more: the database's clock may be behind this one, and SQLite's has milliseconds.
    Invitation.objects.update(created_at=timezone.now() - timedelta(hours=1, seconds=1))
    invitations.create_invitation(workspace, "bob", Role.READER, owner)


def filter_by_upper() -> Any:
    """Return the invitations as PostgreSQL compares names in a UTF-8 locale: by UPPER."""

    def filter_rows(*, name__iexact: str) -> Any:
        rows = Invitation.objects.all()
        keys = [row.pk for row in rows if row.name.upper() == name__iexact.upper()]
        return rows.filter(pk__in=keys)

    return SimpleNamespace(filter=filter_rows)


@pytest.mark.parametrize("is_by_upper", [True, False])
def test_invitation_is_accepted_by_its_address_and_no_lookalike(
    workspace: Workspace, owner: Person, monkeypatch: pytest.MonkeyPatch, is_by_upper: bool
):
    """UPPER makes I of a dotless i as well."""
    invitations.create_invitation(workspace, "mike@github.com", Role.READER, owner)
    if is_by_upper:
        monkeypatch.setattr(invitations, "_filter_usable", filter_by_upper)
    assert invitations.accept_by_email("mike@g\N{LATIN SMALL LETTER DOTLESS I}thub.com") is None
    person = invitations.accept_by_email("Mike@GitHub.com")
    assert person is not None
    assert accounts.get_role(person.pk, workspace.pk) == Role.READER
