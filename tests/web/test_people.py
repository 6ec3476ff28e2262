from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.maintenance import deactivation
from jpweb.store.models import LedgerEntry, Membership, Person, SignInLink, Workspace
from jpweb.store.people import invitations
from tests.store import making
from tests.store.people.grouping import make_group
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


def post(world: World, path: str, **data: Any) -> Any:
    return world.client("owner").post(path, data)


def invite(world: World, **data: Any) -> Any:
    return post(world, f"/workspaces/{world.workspace.pk}/people/invite", **data)


def read_link(response: Any) -> str:
    return parse_page(response).find_one(**{"data-link": ""}).text


def code_of(link: str, page: str) -> str:
    """Return the code of a link, which browsers keep to themselves."""
    address, mark, code = link.partition("#")
    assert (address, mark) == (f"http://testserver/{page}", "#")
    return code


def roles(world: World) -> dict[str, int]:
    memberships = Membership.objects.filter(workspace=world.workspace)
    return dict(memberships.values_list("person__username", "role"))


def test_the_page_lists_who_is_here_the_highest_role_first(world: World):
    page = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/people"))
    names = [tag["data-member"] for tag in page if "data-member" in tag]
    assert names == ["Owner", "Auditor", "Responder", "Auditor only", "Reader"]
    selects = [tag for tag in page.find_all(name="role") if tag.parents[-2].tag == "td"]
    inside = [tag for tag in page if tag.parents and tag.parents[-1] in selects]
    selected_roles = [tag.text for tag in inside if "selected" in tag]
    assert selected_roles == names
    assert "no-store" not in page.text


def test_an_invitation_shows_a_link_once_and_it_works(world: World):
    response = invite(world, name="Eve <b>", role="20")
    assert "no-store" in response["Cache-Control"]
    data = {"code": code_of(read_link(response), "join"), "do": "join"}
    assert "Eve <b>" not in roles(world)
    visitor = Client()
    assert visitor.post("/join", data)["Location"] == "/"
    assert "Eve <b>" in parse_page(visitor.get("/")).text
    person = Person.objects.get(first_name="Eve <b>")
    assert roles(world)[person.username] == Role.RESPONDER
    page = parse_page(world.client("owner").get(f"/workspaces/{world.workspace.pk}/people"))
    assert not page.find_all(**{"data-link": ""})


def test_invite_of_an_existing_and_a_new_name_answers_alike(world: World):
    """Otherwise any owner could ask who has an account."""
    answers = []
    for name in ("rival", "nobody"):
        response = invite(world, name=name, role="10")
        page = parse_page(response)
        answers.append(
            (
                response.status_code,
                page.find_one(**{"class": "notice info"}).text.replace(name, "")[:90],
            )
        )
        assert "rival" not in roles(world)
        post(
            world,
            f"/workspaces/{world.workspace.pk}/people/withdraw",
            invitation=page.find_one(name="invitation")["value"],
        )
    assert answers[0] == answers[1]


def test_withdraw_of_an_invitation_ends_its_link(world: World):
    code = code_of(read_link(invite(world, name="Eve", role="10")), "join")
    client = world.client("owner")
    path = f"/workspaces/{world.workspace.pk}/people"
    invited = parse_page(client.get(path)).find_one(name="invitation")["value"]
    page = client.post(f"{path}/withdraw", {"invitation": invited}, follow=True)
    assert "Withdrew the invitation for Eve" in parse_page(page).text
    assert Client().post("/join", {"code": code}).status_code == 403
    second_response = client.post(f"{path}/withdraw", {"invitation": invited}, follow=True)
    assert "This invitation no longer exists" in parse_page(second_response).text


@pytest.mark.parametrize(
    "data",
    [{}, {"name": "Eve"}, {"role": "20"}, {"name": " ", "role": "20"}]
    + [{"name": "Eve", "role": role} for role in ("25", "-1", "owner", "²", "9" * 5000)]
    + [{"name": "reader", "role": "40"}, {"name": "READER", "role": "40"}]
    + [{"name": name, "role": "40"} for name in ("a\0b", "c" * 151, "e\u202eve", "\uff25ve")],
)
def test_an_invitation_that_cannot_be_is_refused(world: World, data: dict[str, str]):
    before, people = roles(world), Person.objects.count()
    response = invite(world, **data)
    assert response.status_code == 422
    assert parse_page(response).find_one(role="alert").text
    assert (roles(world), Person.objects.count()) == (before, people)


def test_refused_invitation_stays_in_the_form_beside_its_problem(world: World):
    page = parse_page(invite(world, name="e\u202eve", role="30"))
    field = page.find_one(id="id_name")
    assert (field["value"], field["aria-invalid"]) == ("e\u202eve", "true")
    assert "invisible character" in page.find_one(id=field["aria-describedby"]).text
    role = page.find_one(id="id_role")
    assert [tag["value"] for tag in page if role in tag.parents and "selected" in tag] == ["30"]


def test_a_new_link_for_a_member_works(world: World):
    response = post(world, f"/memberships/{world.member('reader').pk}/link")
    assert "no-store" in response["Cache-Control"]
    visitor = Client()
    visitor.post("/sign-in", {"code": read_link(response)})
    assert "Reader" in parse_page(visitor.get("/")).text


def test_sign_in_link_of_a_member_of_other_workspaces_is_refused(world: World):
    Membership.objects.create(
        person=world.people["reader"], workspace=world.other_workspace, role=Role.READER
    )
    response = post(world, f"/memberships/{world.member('reader').pk}/link")
    assert response.status_code == 422
    assert not parse_page(response).find_all(**{"data-link": ""})


@pytest.mark.parametrize("action", ["invite", "link"])
def test_a_link_above_the_hourly_limit_is_refused(world: World, action: str, monkeypatch: Any):
    monkeypatch.setattr(invitations, "MAX_LINKS_PER_HOUR", 0)
    if action == "invite":
        response = invite(world, name="Eve", role="10")
    else:
        response = post(world, f"/memberships/{world.member('reader').pk}/link")
    assert response.status_code == 422
    assert "within an hour" in parse_page(response).find_one(role="alert").text


def test_people_pages_name_a_deactivated_member(world: World):
    person, owner = world.people["reader"], world.people["owner"]
    group = make_group("Night shift", owner, person)
    deactivation.deactivate_person(person)
    client = world.client("owner")
    page = parse_page(client.get(f"/workspaces/{world.workspace.pk}/people"))
    rows = {tag["data-member"]: " ".join(tag.text.split()) for tag in page if "data-member" in tag}
    assert rows["Reader"].startswith("Reader (deactivated)")
    assert [name for name, text in rows.items() if "(deactivated)" in text] == ["Reader"]
    assert [name for name, text in rows.items() if "New sign-in link" not in text] == ["Reader"]
    page = parse_page(client.get(f"/groups/{group.pk}"))
    text = " ".join(page.find_one(**{"data-person": "Reader"}).text.split())
    assert text.startswith("Reader (deactivated) has not joined")


def test_a_link_for_a_deactivated_member_is_refused(world: World):
    member = Membership.objects.get(person=world.people["reader"], workspace=world.workspace)
    deactivation.deactivate_person(member.person)
    page = parse_page(post(world, f"/memberships/{member.pk}/link"))
    assert "Reader is deactivated" in page.find_one(role="alert").text
    assert not SignInLink.objects.exists()


def test_a_role_is_changed(world: World):
    post(world, f"/memberships/{world.member('reader').pk}/role", role="30")
    assert roles(world)["reader"] == Role.AUDITOR


def test_page_leads_to_the_changes_of_roles_in_its_workspace(world: World):
    post(world, f"/memberships/{world.member('reader').pk}/role", role="30")
    client = world.client("owner")
    page = parse_page(client.get(f"/workspaces/{world.workspace.pk}/people"))
    (link,) = [
        tag["href"] for tag in page if tag.tag == "a" and tag.text == "History of members and roles"
    ]
    assert link == f"/audit/decisions?kind=rights&workspace={world.workspace.pk}"
    (row,) = [tag for tag in parse_page(client.get(link)) if "data-decision" in tag]
    assert "Role changed" in row.text


@pytest.mark.parametrize("role", ["", "25", "x", "9" * 5000])
def test_change_role_to_an_invalid_role_is_refused(world: World, role: str):
    before = roles(world)
    response = post(world, f"/memberships/{world.member('reader').pk}/role", role=role)
    assert response.status_code == 302
    assert roles(world) == before


@pytest.mark.parametrize(("action", "data"), [("role", {"role": "10"}), ("remove", {})])
def test_the_last_owner_stays(world: World, action: str, data: dict[str, str]):
    response = post(world, f"/memberships/{world.member('owner').pk}/{action}", **data)
    assert roles(world)["owner"] == Role.OWNER
    page = parse_page(world.client("owner").get(response["Location"]))
    assert roles(world)["owner"] == Role.OWNER
    assert page.find_all(**{"data-member": "Owner"})


@pytest.mark.parametrize(("action", "data"), [("role", {"role": "10"}), ("remove", {})])
def test_owner_can_leave_when_another_owner_stays(world: World, action: str, data: dict[str, str]):
    making.person("second", Role.OWNER, world.workspace)
    post(world, f"/memberships/{world.member('owner').pk}/{action}", **data)
    assert roles(world).get("owner", 0) < Role.OWNER


def test_removed_member_loses_access_at_once(world: World):
    client = world.client("reader")
    assert client.get(f"/conversations/{world.conversation.pk}").status_code == 200
    post(world, f"/memberships/{world.member('reader').pk}/remove")
    assert client.get(f"/conversations/{world.conversation.pk}").status_code == 404
    assert Person.objects.filter(username="reader").exists()


@pytest.mark.parametrize(("action", "data"), [("role", {"role": "30"}), ("remove", {})])
def test_people_page_reports_a_member_removed_meanwhile(
    world: World, action: str, data: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    get_membership = accounts.get_membership

    def get_before_the_removal(membership_id: int) -> Membership | None:
        member = get_membership(membership_id)
        Membership.objects.filter(pk=membership_id).delete()
        return member

    monkeypatch.setattr(accounts, "get_membership", get_before_the_removal)
    path = f"/memberships/{world.member('reader').pk}/{action}"
    page = parse_page(world.client("owner").post(path, data, follow=True))
    assert "Reader is no longer in Garden." in page.text
    assert "is now" not in page.text
    assert "Removed" not in page.text


def test_people_page_shows_the_refusal_after_the_redirect(world: World):
    client = world.client("owner")
    response = client.post(f"/memberships/{world.member('owner').pk}/remove")
    assert "needs at least one owner" in parse_page(client.get(response["Location"])).text


@pytest.mark.parametrize(("action", "data"), [("role", {"role": "20"}), ("remove", {})])
def test_owner_who_ceases_to_be_one_lands_on_the_settings(
    world: World, action: str, data: dict[str, str]
):
    person = making.person("second", Role.OWNER, world.workspace)
    member = Membership.objects.get(person=person)
    response = signed_in(person).post(f"/memberships/{member.pk}/{action}", data, follow=True)
    assert response.status_code == 200
    assert response.redirect_chain == [("/settings", 302)]
    assert "Second" in parse_page(response).find_one(**{"class": "notice success"}).text


@pytest.mark.parametrize("writing", ["", "novel", "OFF"])
def test_unknown_write_policy_is_refused(world: World, writing: str):
    client = world.client("owner")
    address = f"/workspaces/{world.workspace.pk}/writing"
    page = parse_page(client.post(address, {"writing": writing}, follow=True))
    assert "Choose one of the options" in page.text


def test_writing_can_be_turned_off(world: World):
    client = world.client("owner")
    address = f"/workspaces/{world.workspace.pk}/writing"
    page = parse_page(client.post(address, {"writing": "off"}, follow=True))
    assert f"Save web conversations to {world.workspace.root}: No." in page.text
    world.workspace.refresh_from_db()
    assert world.workspace.writing == "off"


def test_owner_stops_following_and_settings_say_so(world: World):
    client = world.client("owner")
    address = f"/workspaces/{world.workspace.pk}/following"
    page = parse_page(client.post(address, {"following": "stop"}, follow=True))
    assert "is no longer followed" in page.text
    assert "Follow again" in page.text
    assert "Not followed: an owner stopped it" in parse_page(client.get("/settings")).text
    page = parse_page(client.post(address, {"following": "resume"}, follow=True))
    assert "is followed again" in page.text
    assert "Stop following" in page.text


def test_choice_of_following_that_is_none_is_refused(world: World):
    client = world.client("owner")
    address = f"/workspaces/{world.workspace.pk}/following"
    page = parse_page(client.post(address, {"following": "pause"}, follow=True))
    assert "Choose one of the options" in page.text
    world.workspace.refresh_from_db()
    assert world.workspace.is_followed


def test_copies_of_another_id_are_confirmed_by_an_owner(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data" / "workspace" / "garden-ab1z9").mkdir(parents=True)
    (tmp_path / "garden" / ".jp").mkdir(parents=True)
    (tmp_path / "garden" / ".jp" / ".id").write_text("ab1z9")
    Workspace.objects.filter(pk=world.workspace.pk).update(root=str(tmp_path / "garden"))
    path = f"/workspaces/{world.workspace.pk}/people"
    page = parse_page(world.client("owner").get(path))
    assert page.find_one(name="jp_id")["value"] == "ab1z9"
    response = world.client("owner").post(
        f"/workspaces/{world.workspace.pk}/copies", {"jp_id": "ab1z9"}, follow=True
    )
    assert "now reads the user-local copies" in parse_page(response).text
    assert not parse_page(response).find_all(name="jp_id")
    assert Workspace.objects.get(pk=world.workspace.pk).copies_id == "ab1z9"
    entry = LedgerEntry.objects.get(act=Act.SETTING_CHANGED)
    assert (entry.person_id, entry.workspace_id) == (world.people["owner"].pk, world.workspace.pk)
    second_response = world.client("owner").post(
        f"/workspaces/{world.workspace.pk}/copies", {"jp_id": "ab1z9"}, follow=True
    )
    assert "There is nothing to confirm" in parse_page(second_response).text
