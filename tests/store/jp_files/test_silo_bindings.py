"""User-local copies count for the root that was first seen with their id, or was confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.choices import Role, WritePolicy
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import attachments, metadata_file, mirror, silo_bindings
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.models import Conversation, Workspace
from jpweb.stream.events import ChatResponse
from tests.builders import stream
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
ID = "ab1z9"
SECRET = "17000000001-private"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """Return a workspace, another one that copied its id, and the user-local copies."""
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    silo = tmp_path / "data" / "workspace" / f"garden-{ID}"
    secret_folder = write_folder(
        tmp_path / "scratch", SECRET, stream(ChatResponse("message", "Private"))
    )
    (silo / "conversations").mkdir(parents=True)
    secret_folder.rename(silo / "conversations" / SECRET)
    roots = tmp_path / "garden", tmp_path / "thief"
    for number, root in enumerate(roots):
        write_folder(root, f"1700000010{number}-own", stream(ChatResponse("message", "Own")))
        (root / ".jp" / ".id").write_text(ID)
    return (*roots, silo)


def sources(workspace: Workspace) -> list[str]:
    return sorted(workspace.conversations.filter(removed_at=None).values_list("source", flat=True))


def test_copied_id_gets_no_copies_and_says_so(places: tuple[Path, Path, Path]):
    garden, thief, silo = places
    workspace, report = mirror.mirror_workspace(garden)
    assert (sources(workspace), report.problems) == ([SECRET, "17000000100-own"], [])
    workspace, report = mirror.mirror_workspace(thief)
    assert sources(workspace) == ["17000000101-own"]
    assert report.problems == [
        f"The user-local copies in {silo} are not read: the id {ID} is not confirmed for this "
        "folder. An owner can confirm it on the page “People”."
    ]
    assert silo / "conversations" not in mirror.list_watched_folders(thief)
    assert silo / "conversations" / SECRET in mirror.list_watched_folders(garden)


def test_id_changed_later_gets_no_copies(places: tuple[Path, Path, Path]):
    _, thief, _ = places
    (thief / ".jp" / ".id").write_text("zzzzz")
    workspace, _ = mirror.mirror_workspace(thief)
    (thief / ".jp" / ".id").write_text(ID)
    second_workspace, report = mirror.mirror_workspace(thief)
    assert (second_workspace.pk, sources(second_workspace), len(report.problems)) == (
        workspace.pk,
        ["17000000101-own"],
        1,
    )


def test_copies_that_jp_last_used_elsewhere_are_not_bound(places: tuple[Path, Path, Path]):
    garden, thief, silo = places
    (silo / "storage").symlink_to(garden / ".jp")
    workspace, _ = mirror.mirror_workspace(thief)
    assert sources(workspace) == ["17000000101-own"]
    (silo / "storage").unlink()
    (silo / "storage").symlink_to(silo / "nowhere" / ".jp")
    assert silo_bindings.find_unbound(workspace) is not None


def test_copies_whose_storage_is_the_root_are_bound(places: tuple[Path, Path, Path]):
    garden, _, silo = places
    (silo / "storage").symlink_to(garden / ".jp")
    assert sources(mirror.mirror_workspace(garden)[0]) == [SECRET, "17000000100-own"]


def test_confirmed_copies_are_read(places: tuple[Path, Path, Path]):
    garden, thief, _ = places
    victim, _ = mirror.mirror_workspace(garden)
    workspace, _ = mirror.mirror_workspace(thief)
    owner = making.person("owner", Role.OWNER, workspace)
    making.person("other", Role.OWNER, victim)
    with pytest.raises(StoreError, match="owns both"):
        silo_bindings.confirm_silo(workspace, owner, ID)
    victim.memberships.create(person=owner, role=Role.OWNER)
    with pytest.raises(StoreError, match="nothing to confirm"):
        silo_bindings.confirm_silo(workspace, owner, "zzzzz")
    silo_bindings.confirm_silo(workspace, owner, ID)
    assert sources(mirror.mirror_workspace(thief)[0]) == [SECRET, "17000000101-own"]
    workspace.refresh_from_db()
    with pytest.raises(StoreError, match="nothing to confirm"):
        silo_bindings.confirm_silo(workspace, owner, ID)


def test_unconfirmed_silo_blocks_writing_to_workspace_files(places: tuple[Path, Path, Path]):
    garden, thief, silo = places
    mirror.mirror_workspace(garden)
    workspace, _ = mirror.mirror_workspace(thief)
    with pytest.raises(StoreError, match="Nothing was written"):
        attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    Workspace.objects.filter(pk=workspace.pk).update(writing=WritePolicy.CURRENT)
    before = making.read_tree(thief), making.read_tree(silo)
    conversation = Conversation.objects.get(workspace=workspace)
    with pytest.raises(StoreError, match="Nothing was written"):
        metadata_file.apply_change(conversation.pk, MetadataChange(title="Mine"))
    assert (making.read_tree(thief), making.read_tree(silo)) == before


def test_demo_claims_no_copies():
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH)
    assert silo_bindings.find_unbound(workspace) is None
    with pytest.raises(NoWorkspace, match="no folder of its own"):
        silo_bindings.find_bound(workspace)
