"""A workspace is added on a page: checked, confirmed, recorded, and followed from then on."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.jp_files import mirror, pass_progress
from jpweb.store.jp_files.pass_progress import PassCounter
from jpweb.store.models import (
    Conversation,
    LedgerEntry,
    Membership,
    MirrorPass,
    Person,
    Workspace,
)
from jpweb.store.people import sessions
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain, sign_in
from tests.web.world import World, signed_in

LIST = "/conversations"
ADD, CHECK, CONFIRM = "/workspaces/add", "/workspaces/add/check", "/workspaces/add/confirm"


@pytest.fixture
def owner(world: World) -> Client:
    return world.client("owner")


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """Return the root of a workspace with one conversation."""
    conversation = tmp_path / "orchard" / ".jp" / "conversations" / "17671120783-beds"
    conversation.mkdir(parents=True)
    (conversation / "events.json").write_text("[]")
    (tmp_path / "orchard" / ".jp" / ".id").write_text("ab3de")
    return tmp_path / "orchard"


def read_problem(client: Client, folder: str, name: str = "") -> str:
    """Return the sentence that refuses a folder; what was typed is still in the form."""
    response = client.post(CHECK, {"folder": folder, "name": name})
    assert response.status_code == 422
    page = parse_page(response)
    assert page.find_one(name="name").get("value") == name
    return page.find_one(id="folder-problem").text


def test_add_workspace_confirmed_is_owned_recorded_and_followed(owner: Client, garden: Path):
    response = owner.post(CHECK, {"folder": str(garden)})
    text = response.content.decode()
    assert "Add “orchard”?" in text
    assert "1 conversation." in text
    assert not Workspace.objects.filter(root=str(garden)).exists()
    response = owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    row = Workspace.objects.get(root=str(garden))
    assert response["Location"] == f"/settings#workspace-{row.pk}"
    assert row.name == "Beds"
    assert Membership.objects.get(workspace=row).role == Role.OWNER
    acts = LedgerEntry.objects.filter(workspace_id=row.pk).values_list("act", "person_id")
    person_id = Person.objects.get(username="owner").pk
    assert set(acts) == {(Act.WORKSPACE_ADDED, person_id), (Act.MEMBER_ADDED, person_id)}
    assert garden in mirror.list_roots()
    mirror.mirror_workspace(garden)
    assert Conversation.objects.filter(workspace=row).count() == 1
    assert Workspace.objects.get(root=str(garden)).name == "Beds"


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("", "Enter the path of a folder"),
        ("garden", "is relative"),
        ("~/garden", "is relative"),
        ("/srv/../etc", "has “..” in it"),
        ("/srv/\0garden", "is not a path"),
        ("/srv/gar\u202eden", "is not a path"),
        ("/" + "a" * 5000, "is not a path"),
        ("/" + "a" * 300, "cannot be opened"),
        ("/no/such/folder", "does not exist"),
    ],
    ids=["empty", "relative", "home", "up", "NUL", "bidi", "huge", "name", "missing"],
)
def test_check_folder_of_a_hostile_path_is_one_sentence(owner: Client, folder: str, sentence: str):
    assert sentence in read_problem(owner, folder)
    assert owner.post(CONFIRM, {"folder": folder}).status_code == 422


def test_check_folder_of_bytes_that_are_not_utf_8_is_refused(owner: Client):
    form = "application/x-www-form-urlencoded"
    response = owner.post(CHECK, b"folder=/srv/%ff%fe", content_type=form)
    assert response.status_code in (400, 422)


def test_check_folder_without_jp_says_which_folder_to_enter(owner: Client, garden: Path):
    assert "is not a JP workspace" in read_problem(owner, str(garden.parent))
    (garden / "shed").mkdir()
    assert f"belongs to the workspace “{garden}”" in read_problem(owner, str(garden / "shed"))
    os.mkfifo(garden / "pipe")
    assert "is not a folder" in read_problem(owner, str(garden / "pipe"))
    assert "is not a folder" in read_problem(owner, str(garden / ".jp" / ".id"))


def test_check_folder_of_a_link_names_its_target(owner: Client, garden: Path):
    link = garden.with_name("link")
    link.symlink_to(garden)
    assert f"is a link to “{garden}”" in read_problem(owner, str(link))
    other = garden.with_name("other")
    other.mkdir()
    (other / ".jp").symlink_to(garden / ".jp")
    assert "is not a JP workspace" in read_problem(owner, str(other))


def test_check_folder_already_added_names_the_workspace(owner: Client, garden: Path):
    owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    assert "already here, as “Beds”" in read_problem(owner, str(garden))
    assert owner.post(CONFIRM, {"folder": str(garden)}).status_code == 422
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    assert "already here, as “Demo”" in read_problem(owner, str(mirror.DEMO_PATH))


def test_check_folder_whose_name_imitates_another_asks_for_one(owner: Client, garden: Path):
    assert "It looks like “Garden”" in read_problem(owner, str(garden), "garden")
    assert "of two scripts" in read_problem(owner, str(garden), "G\u0430rden")


def test_check_folder_outside_of_the_roots_is_not_read(owner: Client, garden: Path, settings: Any):
    settings.WORKSPACE_ROOTS = (garden / "inner",)
    sentence = read_problem(owner, "/no/such/folder")
    assert "is outside of the folders" in sentence
    assert "JPWEB_WORKSPACE_ROOTS" in sentence
    settings.WORKSPACE_ROOTS = (garden.parent,)
    settings.DATA_DIR = garden
    assert "inside jpweb's data folder" in read_problem(owner, str(garden))


def test_add_workspace_without_roots_says_how_to_set_them(
    owner: Client, garden: Path, settings: Any
):
    settings.WORKSPACE_ROOTS = ()
    text = owner.get(ADD).content.decode()
    assert "JPWEB_WORKSPACE_ROOTS=" in text
    assert 'name="folder"' not in text
    response = owner.post(CONFIRM, {"folder": str(garden)})
    assert response.status_code == 422
    assert "be added on this page" in response.content.decode()


def test_add_workspace_in_a_session_made_by_another_is_denied(world: World, garden: Path):
    client = world.client("owner")
    session = client.session
    session[sessions.MAKER_KEY] = world.people["rival"].pk
    session.save()
    assert client.get(ADD).status_code == 403
    assert client.post(CONFIRM, {"folder": str(garden)}).status_code == 403
    assert ADD not in client.get("/settings").content.decode()


def test_add_workspace_by_a_passkey_of_anothers_link_is_denied(world: World, garden: Path):
    co_owner = making.person("olga", Role.OWNER, world.workspace)
    authenticator, client = Authenticator(), at_domain(Client())
    client.post("/sign-in", {"code": accounts.issue_link(world.people["owner"], co_owner)})
    add_passkey(client, authenticator)
    client.post("/sign-out")
    assert sign_in(client, authenticator)["Location"] == "/"
    assert client.get(ADD).status_code == 403
    assert client.post(CONFIRM, {"folder": str(garden)}).status_code == 403


def read_files(client: Client, row: Workspace, path: str = "/settings") -> tuple[str, bool]:
    """Return the words on a workspace's files, and whether the page asks for them again."""
    headers = {"HX-Request": "true"} if path.startswith("/workspaces/") else {}
    response = client.get(path, headers=headers)
    tag = parse_page(response).find_one(id=f"files-{row.pk}")
    return " ".join(tag.text.split()), "hx-get" in tag


def test_settings_say_how_far_reading_is_and_then_followed(owner: Client, garden: Path):
    owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    row = Workspace.objects.get(root=str(garden))
    assert read_files(owner, row) == ("Reading conversations: 0 of 1", True)
    pass_progress.record_progress(garden, PassCounter(1200, 4000))
    polled = f"/workspaces/{row.pk}/files?was_reading=1"
    for path in ("/settings", polled):
        assert read_files(owner, row, path) == ("Reading conversations: 1,200 of 4,000", True)
    pass_progress.record_end(garden, PassCounter(4000, 4000))
    ended = "Reading finished: 4,000 conversations. Show them"
    assert read_files(owner, row, polled) == (ended, False)
    assert read_files(owner, row) == ("Followed", False)
    (garden / ".jp").rename(garden / "moved")
    assert read_files(owner, row) == (
        "Not followed: the folder or its .jp is missing",
        False,
    )


def test_list_of_none_but_the_demo_says_how_far_reading_is(owner: Client, garden: Path):
    owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    row = Workspace.objects.get(root=str(garden))
    newcomer = signed_in(making.person("newcomer", Role.READER, row))
    assert read_files(newcomer, row, LIST) == ("Reading conversations: 0 of 1", True)
    text = newcomer.get(LIST).text
    assert "No conversations yet: they are still being read." in text
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    reader = Person.objects.get(username="newcomer")
    Membership.objects.create(person=reader, workspace=demo, role=Role.READER)
    assert read_files(newcomer, row, LIST) == ("Reading conversations: 0 of 1", True)
    pass_progress.record_end(garden, PassCounter(1, 1))
    assert f'id="files-{row.pk}"' not in newcomer.get(LIST).text


def test_people_page_polls_until_files_are_followed(owner: Client, garden: Path):
    owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    row = Workspace.objects.get(root=str(garden))
    MirrorPass.objects.update(beat_at=F("beat_at") - timedelta(minutes=1))  # asks again, slowly
    page = parse_page(owner.get(f"/workspaces/{row.pk}/people"))
    polled = page.find_one(id=f"files-{row.pk}")["hx-get"]
    pass_progress.record_end(garden, PassCounter(1, 1))
    assert read_files(owner, row, polled) == ("", False)


def test_settings_show_that_reading_stopped_and_when_it_continues(owner: Client, garden: Path):
    owner.post(CONFIRM, {"folder": str(garden), "name": "Beds"})
    row = Workspace.objects.get(root=str(garden))
    MirrorPass.objects.update(beat_at=F("beat_at") - timedelta(minutes=1))
    text, is_live = read_files(owner, row)
    assert text.startswith("Reading stopped at 0 of 1 conversations. It continues by itself once")
    assert is_live


def test_settings_give_the_reason_of_a_failure_to_owners_alone(world: World, garden: Path):
    Workspace.objects.filter(pk=world.workspace.pk).update(root=str(garden))
    pass_progress.record_end(garden, PassCounter(), f"{garden} is on fire", ["a: refused"])
    for path in ("/settings", f"/workspaces/{world.workspace.pk}/files"):
        text, is_live = read_files(world.client("owner"), world.workspace, path)
        assert text.startswith(f"Reading failed. {garden} is on fire. Fix this on the server")
        assert text.endswith("1 note about its filesa: refused")
        assert is_live
        text, is_live = read_files(world.client("reader"), world.workspace, path)
        assert text == "Reading failed. An owner of Garden sees the reason here."
    assert (
        "is on fire" in world.client("owner").get(f"/workspaces/{world.workspace.pk}/people").text
    )
