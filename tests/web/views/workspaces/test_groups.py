from __future__ import annotations

from typing import Any

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Group, Membership
from jpweb.store.people import group_members, groups
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


def post(world: World, path: str, **data: Any) -> Any:
    return world.client("owner").post(path, data, follow=True)


def test_owner_makes_a_group_and_gives_it_a_role(world: World):
    page = post(world, "/groups/new", name="Night shift")
    group = Group.objects.get()
    assert "Nobody is in this group yet" in parse_page(page).text
    reader = world.people["reader"]
    post(world, f"/groups/{group.pk}/add", person=reader.pk)
    page = post(
        world, f"/workspaces/{world.workspace.pk}/groups/choose", group=group.pk, role=Role.AUDITOR
    )
    notice = "Everyone in Night shift now has at least the role Auditor in Garden."
    assert notice in parse_page(page).text
    assert accounts.get_role(reader.pk, world.workspace.pk) == Role.AUDITOR
    people = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/people"))
    assert "Night shift as Auditor" in people.text
    post(world, f"/workspaces/{world.workspace.pk}/groups/choose", group=group.pk, role="")
    assert accounts.get_role(reader.pk, world.workspace.pk) == Role.READER


def test_pages_of_groups_lead_to_the_changes_of_roles(world: World):
    path, client = f"/workspaces/{world.workspace.pk}/groups/choose", world.client("owner")
    post(world, path, group=world.group.pk, role=Role.RESPONDER)
    for address in ("/groups", f"/groups/{world.group.pk}"):
        page = parse_page(client.get(address))
        (link,) = [
            tag["href"]
            for tag in page
            if tag.tag == "a" and tag.text == "History of members and roles"
        ]
        rows = [tag for tag in parse_page(client.get(link)) if "data-decision" in tag]
        assert "Night shift" in rows[0].text


def test_person_of_no_workspace_of_the_owner_cannot_be_added(world: World):
    for person_id in (world.people["rival"].pk, world.people["outsider"].pk, 10**9, "x"):
        page = post(world, f"/groups/{world.group.pk}/add", person=person_id)
        assert "Choose a person." in parse_page(page).text
    assert not world.group.members.exists()


def test_stale_group_page_says_that_a_person_was_added_or_removed(world: World):
    person, path = world.people["reader"], f"/groups/{world.group.pk}"
    post(world, f"{path}/add", person=person.pk)
    notice = f"{person.display_name} is in Night shift already."
    assert notice in parse_page(post(world, f"{path}/add", person=person.pk)).text
    post(world, f"{path}/remove", person=person.pk)
    notice = "This person is no longer in Night shift."
    assert notice in parse_page(post(world, f"{path}/remove", person=person.pk)).text


def test_owner_of_another_workspace_cannot_use_the_group(world: World):
    """A group's key, sent with a workspace of one's own, would let its people in."""
    group = world.group
    path = f"/workspaces/{world.other_workspace.pk}/groups/choose"
    page = world.client("rival").post(path, {"group": group.pk, "role": "10"}, follow=True)
    assert "you don&#x27;t own all of its workspaces" in page.content.decode()
    assert not group.roles.filter(workspace=world.other_workspace).exists()


def test_owner_takes_a_group_out_that_others_manage(world: World):
    group = world.group
    group.roles.create(workspace=world.other_workspace, role=Role.READER)
    client = world.client("owner")
    assert client.get(f"/groups/{group.pk}").status_code == 404
    client.post(f"/workspaces/{world.workspace.pk}/groups/take", {"group": group.pk})
    assert [group_role.workspace for group_role in group.roles.all()] == [world.other_workspace]


def test_removal_of_a_group_asks_and_says_how_many_it_affects(world: World):
    group, path = world.group, f"/workspaces/{world.workspace.pk}/people"
    action = f"/workspaces/{world.workspace.pk}/groups/take"
    form = parse_page(world.client("owner").get(path)).find_one(action=action)
    assert "Remove the group Night shift from Garden? No one's role changes." in form.text
    owner = Actor.from_person(world.people["owner"])
    for name in ("reader", "responder", "owner"):
        group_members.add_person(group, world.people[name], owner)
    groups.give_role(group, world.workspace, Role.AUDITOR, owner)
    form = parse_page(world.client("owner").get(path)).find_one(action=action)
    assert "2 people lose the role that it gives them." in form.text
    (confirmation,) = [tag for tag in form.parents if tag.get("class") == "confirmation"]
    assert confirmation.tag == "details"


@pytest.mark.parametrize("action", ["add", "remove", "delete", "choose"])
def test_change_of_a_group_that_got_a_role_elsewhere_meanwhile_is_refused(
    world: World, action: str, monkeypatch: pytest.MonkeyPatch
):
    """The owner's right to it is checked before the other owner's role for it is there."""
    group, reader = world.group, world.people["reader"]
    candidate = making.person("ada", Role.READER, world.workspace)
    group.members.create(person=reader)
    get_managed = groups.get_managed

    def get_managed_before_the_role(group_id: int, owner_id: int) -> Any:
        summary = get_managed(group_id, owner_id)
        group.roles.get_or_create(workspace=world.other_workspace, role=Role.READER)
        return summary

    monkeypatch.setattr(groups, "get_managed", get_managed_before_the_role)
    data = {"person": reader.pk if action == "remove" else candidate.pk}
    path = f"/groups/{group.pk}/{action}"
    if action == "choose":
        path = f"/workspaces/{world.workspace.pk}/groups/choose"
        data = {"group": group.pk, "role": Role.OWNER}
    page = parse_page(post(world, path, **data))
    assert "or has a role in a workspace that you don't own" in page.text
    assert [member.person for member in group.members.all()] == [reader]
    assert accounts.get_role(candidate.pk, world.other_workspace.pk) is None


def test_name_of_a_second_group_must_differ(world: World):
    post(world, "/groups/new", name="Night shift")
    page = world.client("owner").post("/groups/new", {"name": "Night shift"})
    assert page.status_code == 422
    assert "is or looks like the group" in parse_page(page).text


def test_member_by_a_group_is_marked_and_says_how_to_be_removed(world: World):
    group = world.group
    person = making.person("ada")
    group.members.create(person=person, accepted_at=clock.now())
    Membership.objects.create(person=person, workspace=world.workspace, role=Role.READER)
    client = world.client("owner")
    path = f"/workspaces/{world.workspace.pk}/people"
    (row,) = parse_page(client.get(path)).find_all(**{"data-member": "Ada"})
    assert "Reader by group Night shift" in row.text
    member = Membership.objects.get(person=person)
    page = client.post(f"/memberships/{member.pk}/remove", follow=True)
    assert "Take them out of the group" in parse_page(page).text


def read_role(world: World, name: str) -> tuple[str, str]:
    """Return the role that a member's form has selected, and the text of their row."""
    page = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/people"))
    (row,) = page.find_all(**{"data-member": name})
    (option,) = [tag for tag in page if "selected" in tag and row in tag.parents]
    return option["value"], row.text


@pytest.mark.parametrize("is_member", [True, False], ids=["own role", "by group alone"])
def test_role_by_a_group_is_not_made_a_persons_own(world: World, is_member: bool):
    group, owner = world.group, Actor.from_person(world.people["owner"])
    groups.give_role(group, world.workspace, Role.OWNER, owner)
    person = world.people["responder" if is_member else "outsider"]
    group_members.add_person(group, person, owner)
    if not is_member:
        group_members.accept_group(group.members.get(), person)
    member = Membership.objects.get(person=person)
    selected_value, text = read_role(world, person.display_name)
    assert "Owner by group Night shift" in text
    page = parse_page(post(world, f"/memberships/{member.pk}/role", role=selected_value))
    if is_member:
        notice = "Responder's own role is now Responder. By group Night shift, Responder is Owner."
        assert notice in page.text
    else:
        assert "Choose a role." in page.text
    groups.delete_group(group, owner)
    role = accounts.get_role(person.pk, world.workspace.pk)
    assert role == (Role.RESPONDER if is_member else None)


def test_groups_that_give_a_role_only_together_are_all_named(world: World):
    owner = world.people["owner"]
    for name, role in (("Day", Role.AUDITOR_ONLY), ("Late", Role.READER), ("Rest", Role.RESPONDER)):
        group = groups.create_group(name, owner)
        group_members.add_person(group, world.people["reader"], Actor.from_person(owner))
        groups.give_role(group, world.workspace, role, Actor.from_person(owner))
    selected_value, text = read_role(world, "Reader")
    assert selected_value == str(Role.READER.value)
    assert "Auditor by group Day, Rest" in text


@pytest.mark.parametrize("action", ["remove", "delete", "choose", "take"])
def test_owner_who_ceases_to_be_one_with_a_group_lands_on_the_settings(world: World, action: str):
    group, person = world.group, making.person("ada")
    group.members.create(person=person, accepted_at=clock.now())
    group.roles.update(role=Role.OWNER)
    Membership.objects.create(person=person, workspace=world.workspace, role=Role.OWNER)
    data: dict[str, Any] = {"person": person.pk, "group": group.pk, "role": ""}
    path = f"/groups/{group.pk}/{action}"
    if action in ("choose", "take"):
        path = f"/workspaces/{world.workspace.pk}/groups/{action}"
    response = signed_in(person).post(path, data, follow=True)
    assert response.status_code == 200
    assert response.redirect_chain == [("/settings", 302)]


def test_owner_sees_who_has_not_joined_yet(world: World):
    """Orchard, a second workspace of the owner: the reader is in Garden alone."""
    orchard, reader = making.workspace("Orchard"), world.people["reader"]
    accounts.make_owner(world.people["owner"], orchard)
    page = parse_page(post(world, f"/groups/{world.group.pk}/add", person=reader.pk))
    assert "Added Reader to Night shift. They can join under Account." in page.text
    assert "Reader has not joined yet" in page.text
    assert "not in a session that began with someone else's link" in page.text
    page = parse_page(
        post(
            world,
            f"/workspaces/{orchard.pk}/groups/choose",
            group=world.group.pk,
            role=Role.AUDITOR,
        )
    )
    assert (
        "at least the role Auditor in Orchard. Some people have not joined the group yet."
        in page.text
    )
    assert accounts.get_role(reader.pk, orchard.pk) is None
    client = world.client("owner")
    people_pages = {
        workspace: parse_page(client.get(f"/workspaces/{workspace.pk}/people")).text
        for workspace in (world.workspace, orchard)
    }
    assert "Reader has not joined yet" in people_pages[orchard]
    assert "has not joined yet" not in people_pages[world.workspace], "they are in it"
    group_members.accept_group(world.group.members.get(), reader)
    for path in (f"/groups/{world.group.pk}", f"/workspaces/{orchard.pk}/people"):
        page = parse_page(client.get(path))
        assert "has not joined yet" not in page.text
        assert "someone else's link" not in page.text


def test_group_without_a_role_belongs_to_the_owner_who_took_the_last(world: World):
    """Its maker was removed from the workspace, and people were added since."""
    ben = making.person("ben", Role.OWNER, world.workspace)
    olga = making.person("olga", Role.OWNER, world.workspace)
    group = groups.create_group("Keepers", olga)
    groups.give_role(group, world.workspace, Role.READER, Actor.from_person(olga))
    accounts.remove_member(Membership.objects.get(person=olga, workspace=world.workspace))
    group_members.add_person(group, world.people["reader"], Actor.from_person(ben))
    path = f"/groups/{group.pk}"
    assert signed_in(olga).get(path).status_code == 404
    signed_in(ben).post(f"/workspaces/{world.workspace.pk}/groups/take", {"group": group.pk})
    assert not group.roles.exists()
    assert [signed_in(person).get(path).status_code for person in (olga, ben)] == [404, 200]


def test_group_that_keeps_a_role_keeps_its_maker(world: World):
    owner, elsewhere = world.people["owner"], making.workspace("Orchard")
    accounts.make_owner(owner, elsewhere)
    group = groups.create_group("Keepers", owner)
    for workspace in (world.workspace, elsewhere):
        groups.give_role(group, workspace, Role.READER, Actor.from_person(owner))
    ben = making.person("ben", Role.OWNER, world.workspace)
    signed_in(ben).post(f"/workspaces/{world.workspace.pk}/groups/take", {"group": group.pk})
    assert Group.objects.get().maker == owner
