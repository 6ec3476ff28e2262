"""JP's files, read and never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jpweb.store.errors import NoWorkspace
from jpweb.store.jp_files import silo, workspace
from jpweb.store.jp_files.directory_handles import Directory
from tests.store import making
from tests.store.making import read_tree, write_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace_folder = tmp_path / "repository"
    (workspace_folder / ".jp" / "conversations").mkdir(parents=True)
    (workspace_folder / ".jp" / ".id").write_text("# JP's own\nab1z9\n")
    return workspace_folder


def test_find_workspace_finds_the_root_from_subfolders(root: Path):
    deep = root / "src" / "deep"
    deep.mkdir(parents=True)
    for start in (root, deep, root / ".jp", deep / "not there"):
        disk_workspace = workspace.find_workspace(start)
        assert (disk_workspace.root, disk_workspace.jp_id) == (root.resolve(), "ab1z9")


def test_find_workspace_returns_the_nearest_one(root: Path):
    inner = root / "inner"
    (inner / ".jp").mkdir(parents=True)
    assert workspace.find_workspace(inner).root == inner.resolve()


def test_find_workspace_without_jp_folder_asks_for_a_path(tmp_path: Path):
    (tmp_path / ".jp").write_text("a file is none")
    with pytest.raises(NoWorkspace) as error:
        workspace.find_workspace(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert "Give the path" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_path_that_cannot_be_looked_at_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_self: Directory, _name: str) -> Directory:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Directory, "open_subdirectory", refuse)
    with pytest.raises(NoWorkspace, match="Permission denied"):
        workspace.find_workspace(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"TOOLONG", b"ab1z", b"abc 12"])
def test_missing_workspace_id_is_replaced_by_one_of_the_path_unwritten(
    root: Path, content: bytes | None
):
    id_file = root / ".jp" / ".id"
    id_file.unlink() if content is None else id_file.write_bytes(content)
    before = read_tree(root)
    first, second = workspace.find_workspace(root, "ab1z9"), workspace.find_workspace(root)
    assert first.jp_id == second.jp_id
    assert first.jp_id.startswith("~")
    assert len(first.jp_id) <= 16
    assert read_tree(root) == before


def test_iterate_conversations_orders_by_id_and_marks_archived(root: Path):
    write_folder(root, "17000000002-second", [])
    write_folder(root, "17000000001", [])
    write_folder(root, "17000000000-old", [], archived=True)
    conversations = list(workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9")))
    assert [(c.jp_id, c.is_archived) for c in conversations] == [
        (17000000001, False),
        (17000000002, False),
        (17000000000, True),
    ]


@pytest.mark.parametrize(
    "name",
    [
        ".trash",
        "notes",
        "x17000000000-a",
        "\N{ARABIC-INDIC DIGIT ONE}-a",
        "-17",
        "17 -a",
        "9" * 40 + "-big",
        "",
    ],
)
def test_iterate_conversations_skips_folders_that_are_none(root: Path, name: str):
    (root / ".jp" / "conversations" / name).mkdir(exist_ok=True)
    (root / ".jp" / "conversations" / "17000000000-file").write_text("a file")
    assert list(workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9"))) == []


def test_a_live_conversation_hides_an_archived_one_of_its_id(root: Path):
    write_folder(root, "17000000001-live", [])
    write_folder(root, "17000000001-stored", [], archived=True)
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9"))
    assert (conversation.folder.name, conversation.is_archived) == ("17000000001-live", False)


def test_a_folder_that_cannot_be_listed_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_self: Directory) -> list[os.DirEntry[str]]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Directory, "list_entries", refuse)
    monkeypatch.setattr(silo, "find_silo", lambda *_: None)
    with pytest.raises(NoWorkspace, match=r"conversations cannot be read: Permission denied"):
        list(workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9")))


def read_single_conversation(root: Path) -> workspace.DiskConversation:
    (conversation,) = workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9"))
    return conversation


def test_metadata_is_read(root: Path):
    write_folder(
        root,
        "17000000000-x",
        [],
        title="Ein Titel",
        last_activated_at="2026-01-02 03:04:05.5",
        pinned_at="2026-01-03T03:04:05Z",
        labels={"a": "b", "c": 1},
    )
    about = workspace.read_metadata(read_single_conversation(root))
    assert (about.title, about.problem) == ("Ein Titel", "")
    assert about.labels == {"a": "b", "c": "1"}
    assert about.last_activated_at is not None
    assert about.last_activated_at.microsecond == 500_000
    assert about.pinned_at is not None
    assert about.pinned_at.day == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[]", "is not an object"),
        (b"[" * 100_000, "is not JSON"),
        (b"", "is not JSON"),
    ],
    ids=lambda value: str(value)[:10],
)
def test_metadata_that_cannot_be_used_says_why(root: Path, content: bytes, message: str):
    folder = write_folder(root, "17000000000-x", [])
    (folder / "metadata.json").write_bytes(content)
    problem = workspace.read_metadata(read_single_conversation(root)).problem
    assert message in problem
    assert "\n" not in problem


def test_missing_metadata_or_a_folder_in_place_of_it_has_a_problem(root: Path):
    folder = write_folder(root, "17000000000-x", [])
    (folder / "metadata.json").unlink()
    assert "No such file" in workspace.read_metadata(read_single_conversation(root)).problem
    (folder / "metadata.json").mkdir()
    assert "directory" in workspace.read_metadata(read_single_conversation(root)).problem


@pytest.mark.parametrize("odd", [1, None, ["x"], {"x": 1}])
def test_fields_of_another_shape_are_left_out(root: Path, odd: object):
    write_folder(
        root, "17000000000-x", [], title=odd, last_activated_at=odd, pinned_at=odd, labels=[odd]
    )
    about = workspace.read_metadata(read_single_conversation(root))
    assert about == workspace.ConversationMetadata()


@pytest.mark.parametrize("name", ["events.json", "metadata.json"])
def test_the_fingerprint_follows_the_files(root: Path, name: str):
    folder = write_folder(root, "17000000000-x", [])
    before = read_single_conversation(root).fingerprint
    assert read_single_conversation(root).fingerprint == before
    (folder / name).write_bytes(b"[ ]")
    assert read_single_conversation(root).fingerprint != before
    (folder / name).unlink()
    assert "none" in read_single_conversation(root).fingerprint


def test_conversation_ids_convert_to_deciseconds_and_back():
    moment = workspace.get_created_at(17000000005)
    assert moment.isoformat() == "2023-11-14T22:13:20.500000+00:00"
    assert workspace.make_jp_id(moment) == 17000000005
    assert workspace.get_created_at(10**18).year == 1970, "what no clock reaches"


@pytest.fixture
def copies(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a silo that belongs to the workspace."""
    data = tmp_path / "data"
    monkeypatch.setenv("JP_USER_DATA_DIR", str(data))
    silo_folder = data / "workspace" / f"{root.name}-ab1z9"
    (silo_folder / "conversations").mkdir(parents=True)
    return silo_folder


def copy(home: Path, name: str, when: int) -> Path:
    """Write a conversation's folder straight into a silo."""
    folder = write_folder(home / "made", name, [])
    target = home / "conversations" / name
    folder.rename(target)
    for path in target.iterdir():
        making.set_mtime(path, when)
    return target


def test_find_workspace_finds_the_silo_and_writes_nothing(copies: Path, root: Path):
    before = read_tree(copies)
    assert workspace.find_workspace(root, "ab1z9").silo == copies
    assert read_tree(copies) == before


def test_a_silo_of_another_workspace_is_not_ours(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    assert workspace.find_workspace(root, "ab1z9").silo is None
    (tmp_path / "data" / "workspace" / "other-zzzzz").mkdir(parents=True)
    assert workspace.find_workspace(root, "ab1z9").silo is None


def test_conversation_is_read_from_its_newer_copy_on_a_tie_the_silo(copies: Path, root: Path):
    workspace_copy = write_folder(root, "17000000000-x", [])
    silo_copy = copy(copies, "17000000000-x", 2_000)
    for path in workspace_copy.iterdir():
        making.set_mtime(path, 1_000)
    assert read_single_conversation(root).folder == silo_copy
    making.set_mtime(workspace_copy / "events.json", 3_000)
    assert (
        read_single_conversation(root).folder,
        read_single_conversation(root).metadata_folder,
    ) == (workspace_copy, silo_copy)
    making.set_mtime(workspace_copy / "events.json", 2_000)
    assert read_single_conversation(root).folder == silo_copy


def test_a_conversation_that_only_the_silo_has_is_found(copies: Path, root: Path):
    copy(copies, "17000000001-only", 1_000)
    write_folder(root, "17000000002-here", [])
    conversations = workspace.iterate_conversations(workspace.find_workspace(root, "ab1z9"))
    assert [conversation.jp_id for conversation in conversations] == [17000000001, 17000000002]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"JP_USER_DATA_DIR": "/a/jp"}, "/a/jp"),
        ({"XDG_DATA_HOME": "/share"}, "/share/jp"),
        ({"XDG_DATA_HOME": "relative"}, "/people/ada/.local/share/jp"),
        ({}, "/people/ada/.local/share/jp"),
    ],
)
def test_user_data_dir_is_where_jp_has_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
):
    for name in ("JP_USER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/people/ada")
    monkeypatch.setattr("sys.platform", "linux")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert silo.get_user_data_dir() == Path(expected)


def test_user_data_dir_on_macos_is_in_library(monkeypatch: pytest.MonkeyPatch):
    for name in ("JP_USER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/people/ada")
    monkeypatch.setattr("sys.platform", "darwin")
    assert silo.get_user_data_dir() == Path("/people/ada/Library/Application Support/jp")


def test_workspace_silo_is_the_one_of_its_name_or_the_newest(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    homes = tmp_path / "data" / "workspace"
    for name, when in (("old-ab1z9", 1_000), ("new-ab1z9", 2_000), ("ab1z9", 500)):
        (homes / name / "conversations").mkdir(parents=True)
        making.set_mtime(homes / name / "conversations", when)
    assert workspace.find_workspace(root, "ab1z9").silo == homes / "new-ab1z9"
    (homes / f"{root.name}-ab1z9").mkdir()
    assert workspace.find_workspace(root, "ab1z9").silo == homes / f"{root.name}-ab1z9"
