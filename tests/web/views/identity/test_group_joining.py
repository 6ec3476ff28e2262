"""A person joins the groups to which owners added them, or declines; nobody does it for them."""

from __future__ import annotations

import json
import logging

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Group, LedgerEntry, Membership, Workspace
from jpweb.store.people import group_members, groups, invitations
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import EVERYBODY, World, signed_in

HOME_NOTICE = "Owner added you to the group “Night shift”."


@pytest.fixture
def orchard(world: World) -> Workspace:
    """A second workspace of the owner, in which the others are not."""
    workspace = making.workspace("Orchard")
    accounts.make_owner(world.people["owner"], workspace)
    return workspace


@pytest.fixture
def group(world: World, orchard: Workspace) -> Group:
    """A group with a role in Orchard, to which the reader was added."""
    owner = world.people["owner"]
    new_group = groups.create_group("Night shift", owner)
    groups.give_role(new_group, orchard, Role.RESPONDER, Actor.from_person(owner))
    group_members.add_person(new_group, world.people["reader"], Actor.from_person(owner))
    return new_group


def get_role(world: World, name: str, workspace: Workspace) -> Role | None:
    return accounts.get_role(world.people[name].pk, workspace.pk)


def test_person_joins_a_group_on_their_account_page(world: World, group: Group, orchard: Workspace):
    client = world.client("reader")
    assert HOME_NOTICE in parse_page(client.get("/")).text
    page = parse_page(client.get("/account")).text
    assert f"{HOME_NOTICE[:-1]}: Responder in Orchard." in page
    assert "into those that it gets a role in later" in page
    assert get_role(world, "reader", orchard) is None
    page = parse_page(client.post("/account/groups/join", {"group": group.pk}, follow=True)).text
    assert "You joined the group Night shift." in page
    assert "You are in the group “Night shift”" in page
    assert get_role(world, "reader", orchard) == Role.RESPONDER
    assert HOME_NOTICE not in parse_page(client.get("/")).text


def test_declined_group_has_no_member_and_no_notice(world: World, group: Group, orchard: Workspace):
    client = world.client("reader")
    page = parse_page(client.post("/account/groups/leave", {"group": group.pk}, follow=True)).text
    assert "You declined the group Night shift." in page
    assert HOME_NOTICE not in page
    assert HOME_NOTICE not in parse_page(client.get("/")).text
    assert not group.members.exists()
    assert get_role(world, "reader", orchard) is None


def test_owner_sees_who_declined_or_left(world: World, group: Group):
    client, owner_client = world.client("reader"), world.client("owner")
    path = f"/groups/{group.pk}"
    client.post("/account/groups/leave", {"group": group.pk})
    assert "Reader declined" in parse_page(owner_client.get(path)).text
    owner_client.post(f"{path}/add", {"person": world.people["reader"].pk})
    assert "declined" not in parse_page(owner_client.get(path)).text
    for action in ("join", "leave"):
        client.post(f"/account/groups/{action}", {"group": group.pk})
    assert "Reader left" in parse_page(owner_client.get(path)).text


def test_person_leaves_a_group_that_they_joined(world: World, group: Group, orchard: Workspace):
    group_members.accept_group(group.members.get(), world.people["reader"])
    client = world.client("reader")
    page = parse_page(client.post("/account/groups/leave", {"group": group.pk}, follow=True)).text
    assert "You left the group Night shift." in page
    assert get_role(world, "reader", orchard) is None


def test_last_owner_cannot_leave_a_group_and_sees_why(
    world: World, group: Group, orchard: Workspace
):
    owner, reader = world.people["owner"], world.people["reader"]
    groups.give_role(group, orchard, Role.OWNER, Actor.from_person(owner))
    group_members.accept_group(group.members.get(), reader)
    orchard.memberships.filter(person=owner).delete()
    page = signed_in(reader).post("/account/groups/leave", {"group": group.pk}, follow=True)
    assert "needs at least one owner" in parse_page(page).text
    assert group.members.exists()


@pytest.mark.parametrize("action", ["join", "leave"])
def test_group_is_joined_or_left_only_by_its_person(
    world: World, group: Group, orchard: Workspace, action: str
):
    group_member = group.members.get()
    for name in EVERYBODY:
        if name == "reader":
            continue
        for key in (group.pk, group_member.pk, "x"):
            world.client(name).post(f"/account/groups/{action}", {"group": key})
    assert group.members.get() == group_member
    assert group.members.get().accepted_at is None
    assert get_role(world, "reader", orchard) is None
    page = world.client("owner").post(f"/account/groups/{action}", {"group": 7}, follow=True)
    assert "You are no longer in this group." in parse_page(page).text


def test_session_that_anothers_link_led_to_cannot_join(
    world: World, group: Group, orchard: Workspace
):
    """The owner would accept for the person otherwise, by a link that they made for them."""
    reader, client = world.people["reader"], Client()
    link = accounts.issue_link(reader, maker=making.person("olga", Role.OWNER, world.workspace))
    client.post("/sign-in", {"code": link})
    page = client.get("/account").content.decode()
    assert "Join where you signed in without such a link, or accept an invitation here" in page
    assert "/account/groups/join" not in page
    assert "Decline, or see how to join" in parse_page(client.get("/")).text
    page = parse_page(client.post("/account/groups/join", {"group": group.pk}, follow=True)).text
    assert "someone else's link signed you in" in page
    assert get_role(world, "reader", orchard) is None
    assert "Join Night shift" in parse_page(signed_in(reader).get("/account")).text


@pytest.mark.parametrize("inviter", ["olga", "rival"])
def test_invitation_in_a_session_by_anothers_link_proves_nothing(
    world: World, group: Group, orchard: Workspace, inviter: str
):
    """The link's maker may be in it, invite by a second account, and consent in their place."""
    reader, client = world.people["reader"], Client()
    olga = making.person("olga", Role.OWNER, world.workspace)
    elsewhere = making.workspace("Elsewhere")
    accounts.make_owner(olga, elsewhere)
    invitation = {
        "olga": (elsewhere, olga),
        "rival": (world.other_workspace, world.people["rival"]),
    }[inviter]
    client.post("/sign-in", {"code": accounts.issue_link(reader, maker=olga)})
    token = invitations.create_invitation(invitation[0], "New", Role.READER, invitation[1])
    client.post("/join", {"code": token, "do": "join"})
    assert get_role(world, "reader", invitation[0]) == Role.READER
    client.post("/account/groups/join", {"group": group.pk})
    assert get_role(world, "reader", orchard) is None


def test_invitation_by_the_maker_of_the_link_keeps_the_own_sign_in(
    world: World, group: Group, orchard: Workspace
):
    """With one owner, no other sign-in of the person can join a group."""
    owner, reader = world.people["owner"], world.people["reader"]
    own_client, olgas_client, client = Client(), Client(), Client()
    own_client.post("/sign-in", {"code": accounts.issue_link(reader)})
    olga = making.person("olga", Role.OWNER, world.workspace)
    olgas_client.post("/sign-in", {"code": accounts.issue_link(reader, maker=olga)})
    client.post("/sign-in", {"code": accounts.issue_link(reader, maker=owner)})
    page = parse_page(client.get("/account")).text
    assert page.count("by someone else's link") == 2
    third_workspace = making.workspace("Cellar")
    accounts.make_owner(owner, third_workspace)
    token = invitations.create_invitation(third_workspace, "New", Role.READER, owner)
    page = parse_page(client.post("/join", {"code": token, "do": "join"}, follow=True)).text
    assert "The sign-ins that someone else's link may have begun have ended, except this" in page
    assert olgas_client.get("/")["Location"].startswith("/sign-in")
    own_client.post("/account/groups/join", {"group": group.pk})
    assert get_role(world, "reader", orchard) == Role.RESPONDER


def test_joining_ends_the_sign_ins_that_others_made(world: World, group: Group):
    reader, others_client = world.people["reader"], Client()
    link = accounts.issue_link(reader, maker=making.person("olga", Role.OWNER, world.workspace))
    others_client.post("/sign-in", {"code": link})
    assert others_client.get("/").status_code == 200
    own_client = world.client("reader")
    own_client.post("/account/groups/join", {"group": group.pk})
    assert others_client.get("/")["Location"].startswith("/sign-in")
    assert own_client.get("/").status_code == 200


def test_member_who_looks_like_the_person_keeps_them_from_joining(
    world: World, group: Group, orchard: Workspace
):
    making.person("Re\N{CYRILLIC SMALL LETTER A}der", Role.READER, orchard)
    page = world.client("reader").post("/account/groups/join", {"group": group.pk}, follow=True)
    assert "looks like" in parse_page(page).text
    assert get_role(world, "reader", orchard) is None


def test_home_counts_several_groups_that_wait(world: World, group: Group):
    owner = world.people["owner"]
    second_group = groups.create_group("Day shift", owner)
    group_members.add_person(second_group, world.people["reader"], Actor.from_person(owner))
    assert "You were added to 2 groups." in parse_page(world.client("reader").get("/")).text


def test_group_of_a_deleted_inviter_names_no_person(world: World, group: Group):
    group.members.update(inviter=None)
    client = world.client("reader")
    for path in ("/", "/account"):
        assert "You were added to the group “Night shift”" in parse_page(client.get(path)).text


def test_joining_and_leaving_are_in_the_security_log(
    world: World, group: Group, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "jpweb.security")
    client = world.client("reader")
    owner, reader = world.people["owner"], world.people["reader"]
    for action in ("join", "leave"):
        client.post(f"/account/groups/{action}", {"group": group.pk})
    group_members.add_person(group, reader, Actor.from_person(owner))
    client.post("/account/groups/leave", {"group": group.pk})
    lines = [record.getMessage() for record in caplog.records]
    for event in ("joined group", "left group", "declined group"):
        assert any(event in line and "Night shift" in line for line in lines), event


def test_invitation_is_recorded_with_the_role_that_it_brings(world: World, orchard: Workspace):
    owner, reader = world.people["owner"], world.people["reader"]
    new_group = groups.create_group("Keepers", owner)
    groups.give_role(new_group, orchard, Role.AUDITOR, Actor.from_person(owner))
    group_members.add_person(new_group, reader, Actor.from_person(owner))
    token = invitations.create_invitation(orchard, "New", Role.READER, owner)
    client = world.client("reader")
    page = parse_page(client.post("/join", {"code": token, "do": "join"}, follow=True)).text
    assert "You joined Orchard as Auditor." in page
    entry = LedgerEntry.objects.filter(act=Act.MEMBER_ADDED).latest("pk")
    assert json.loads(entry.text)["details"]["role"] == "auditor"


def test_unaccepted_group_does_not_keep_a_removed_member(world: World, orchard: Workspace):
    owner, reader = world.people["owner"], world.people["reader"]
    member = Membership.objects.create(person=reader, workspace=orchard, role=10, direct_role=10)
    new_group = groups.create_group("Keepers", owner)
    groups.give_role(new_group, orchard, Role.READER, Actor.from_person(owner))
    group_members.add_person(new_group, reader, Actor.from_person(owner))
    accounts.remove_member(member)
    assert get_role(world, "reader", orchard) is None
