"""Where JP keeps the second copies, and which copy counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import mirror, silo, workspace
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatResponse, Element
from tests.builders import stream
from tests.store import making
from tests.store.making import read_tree, write_folder

ID = "ab1z9"
DS = 17000000000
ONE = stream(ChatResponse("message", "One"))
MOUNT = {"rule_path": "vendor/lib", "canonical_target": "/srv/lib", "approved_at": "2026-09-01"}
TWO = stream(ChatResponse("message", "One"), ChatResponse("message", "Two"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace_folder = tmp_path / "garden"
    (workspace_folder / ".jp" / "conversations").mkdir(parents=True)
    (workspace_folder / ".jp" / ".id").write_text(f"# JP's own\n{ID}\n")
    return workspace_folder


def silo_named(home: Path, name: str, changed_at: int = 1_000) -> Path:
    silo_folder = home / "workspace" / name
    silo_folder.mkdir(parents=True)
    (silo_folder / "entry").touch()
    making.set_mtime(silo_folder / "entry", changed_at)
    return silo_folder


def copy(home: Path, name: str, elements: Sequence[Element], when: int, title: str) -> Path:
    """Put a conversation's folder into a home of conversations, all of it changed at ``when``."""
    copy_folder = home / name
    copy_folder.mkdir(parents=True)
    (copy_folder / "events.json").write_bytes(making.stream_file(elements))
    (copy_folder / "metadata.json").write_text(f'{{"title": "{title}"}}')
    for path in copy_folder.iterdir():
        making.set_mtime(path, when)
    return copy_folder


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"JP_USER_DATA_DIR": "/own", "XDG_DATA_HOME": "/shared"}, "/own"),
        ({"JP_USER_DATA_DIR": "relative"}, "relative"),
        ({"JP_USER_DATA_DIR": "", "XDG_DATA_HOME": "/shared"}, "/shared/jp"),
        ({"XDG_DATA_HOME": "relative", "HOME": "/at"}, "/at/.local/share/jp"),
        ({"HOME": "/at"}, "/at/.local/share/jp"),
    ],
)
def test_the_first_rule_that_applies_names_the_data_folder(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("JP_USER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert silo.get_user_data_dir() == Path(expected)


@pytest.mark.parametrize("name", [ID, f"garden-{ID}", f"renamed-since-{ID}", f"-{ID}"])
def test_find_silo_takes_a_folder_named_id_or_ending_in_dash_id(
    no_silo: Path, root: Path, name: str
):
    silo_folder = silo_named(no_silo, name)
    assert silo.find_silo(root, ID) == silo_folder


@pytest.mark.parametrize("name", [f"x{ID}", f"{ID}-garden", "garden-other", "garden"])
def test_a_folder_of_another_name_is_not(no_silo: Path, root: Path, name: str):
    silo_named(no_silo, name)
    assert silo.find_silo(root, ID) is None


def test_a_file_is_no_silo_and_no_data_folder_is_none(no_silo: Path, root: Path):
    assert silo.find_silo(root, ID) is None
    (no_silo / "workspace").mkdir()
    (no_silo / "workspace" / ID).touch()
    assert silo.find_silo(root, ID) is None


def test_find_silo_prefers_the_name_of_the_root_to_newer_silos(no_silo: Path, root: Path):
    silo_named(no_silo, f"other-{ID}", 9_000)
    silo_folder = silo_named(no_silo, f"garden-{ID}", 1_000)
    silo_named(no_silo, ID, 8_000)
    assert silo.find_silo(root, ID) == silo_folder


def test_find_silo_prefers_the_newest_by_direct_entries(no_silo: Path, root: Path):
    newest = silo_named(no_silo, f"alpha-{ID}", 9_000)
    older = silo_named(no_silo, f"beta-{ID}", 1_000)
    (older / "deep").mkdir()
    (older / "deep" / "new").touch()
    making.set_mtime(older / "deep" / "new", 99_000)
    making.set_mtime(older / "deep", 2_000)
    assert silo.find_silo(root, ID) == newest


def test_find_silo_of_equal_age_prefers_the_larger_path(no_silo: Path, root: Path):
    silo_named(no_silo, f"alpha-{ID}", 5_000)
    larger = silo_named(no_silo, f"beta-{ID}", 5_000)
    assert silo.find_silo(root, ID) == larger


@pytest.mark.django_db
def test_metadata_and_stream_are_taken_from_the_newer_copy_each(no_silo: Path, root: Path):
    silo_conversations = silo_named(no_silo, f"garden-{ID}") / "conversations"
    workspace_copy = copy(root / ".jp" / "conversations", f"{DS}-old", TWO, 2_000, "Old")
    silo_copy = copy(silo_conversations, f"{DS}-new", ONE, 1_000, "New")
    making.set_mtime(silo_copy / "metadata.json", 3_000)
    before = read_tree(no_silo), read_tree(root)
    mirror.mirror_workspace(root)
    row = Conversation.objects.get()
    assert (row.title, row.entry_count) == ("New", 2)
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (conversation.folder, conversation.metadata_folder) == (workspace_copy, silo_copy)
    assert (read_tree(no_silo), read_tree(root)) == before


def test_base_config_counts_for_the_newer_copy_and_a_tie_is_the_silos(no_silo: Path, root: Path):
    silo_conversations = silo_named(no_silo, f"garden-{ID}") / "conversations"
    workspace_copy = copy(root / ".jp" / "conversations", str(DS), ONE, 1_000, "a")
    silo_copy = copy(silo_conversations, str(DS), ONE, 1_000, "a")
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (conversation.folder, conversation.metadata_folder) == (silo_copy, silo_copy)
    (workspace_copy / "base_config.json").write_text("{}")
    making.set_mtime(workspace_copy / "base_config.json", 2_000)
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (conversation.folder, conversation.metadata_folder) == (workspace_copy, silo_copy)


@pytest.mark.django_db
def test_the_list_is_the_union_by_id_archived_ones_last(no_silo: Path, root: Path):
    silo_conversations = silo_named(no_silo, f"garden-{ID}") / "conversations"
    write_folder(root, f"{DS + 1}-here", ONE)
    copy(silo_conversations, str(DS), ONE, 1_000, "there")
    copy(silo_conversations / ".archive", str(DS + 2), ONE, 1_000, "put away there")
    write_folder(root, str(DS + 3), ONE, archived=True)
    copy(silo_conversations / ".archive", str(DS + 1), ONE, 9_000, "hidden by the live one")
    conversations = list(workspace.iterate_conversations(workspace.find_workspace(root, ID)))
    assert [(c.jp_id - DS, c.is_archived) for c in conversations] == [
        (0, False),
        (1, False),
        (2, True),
        (3, True),
    ]
    mirror.mirror_workspace(root)
    assert Conversation.objects.filter(archived=True).count() == 2


def test_archived_conversation_is_read_from_the_workspace_copy(no_silo: Path, root: Path):
    silo_conversations = silo_named(no_silo, f"garden-{ID}") / "conversations"
    workspace_copy = copy(root / ".jp" / "conversations" / ".archive", str(DS), ONE, 1_000, "here")
    copy(silo_conversations / ".archive", str(DS), TWO, 9_000, "there")
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (conversation.folder, conversation.metadata_folder, conversation.is_archived) == (
        workspace_copy,
        workspace_copy,
        True,
    )


def write_approvals(folder: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "approvals.json").write_text(text)
    return folder


def test_targets_are_those_that_jps_user_approved(tmp_path: Path):
    silo_folder = write_approvals(tmp_path, {"mounts": [MOUNT]})
    assert silo.read_approved_targets(silo_folder) == {"vendor/lib": "/srv/lib"}


def test_read_approved_targets_without_a_file_is_empty(tmp_path: Path):
    assert silo.read_approved_targets(None) == {}
    assert silo.read_approved_targets(tmp_path) == {}


@pytest.mark.parametrize(
    "content", ["", "[" * 100_000, [], {"mounts": 1}, {"mounts": [{"rule_path": "a"}]}, '"text"']
)
def test_read_approved_targets_of_a_malformed_file_warns_and_is_empty(
    tmp_path: Path, content: Any, caplog: pytest.LogCaptureFixture
):
    silo_folder = write_approvals(tmp_path, content)
    assert silo.read_approved_targets(silo_folder) == {}
    assert "Approvals in" in caplog.text


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    write_approvals(other, {"mounts": [MOUNT]})
    silo_folder = tmp_path / "silo"
    silo_folder.mkdir()
    (silo_folder / "approvals.json").symlink_to(other / "approvals.json")
    assert silo.read_approved_targets(silo_folder) == {}
