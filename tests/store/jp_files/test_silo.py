"""Where JP keeps the second copies, and which copy counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jpweb.store.jp_files import mirror, silo, workspace
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatResponse, Element
from tests.builders import stream
from tests.store import making
from tests.store.making import folder, tree

ID = "ab1z9"
DS = 17000000000
ONE = stream(ChatResponse("message", "One"))
TWO = stream(ChatResponse("message", "One"), ChatResponse("message", "Two"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "garden"
    (made / ".jp" / "conversations").mkdir(parents=True)
    (made / ".jp" / ".id").write_text(f"# JP's own\n{ID}\n")
    return made


def silo_named(home: Path, name: str, changed: int = 1_000) -> Path:
    made = home / "workspace" / name
    made.mkdir(parents=True)
    (made / "entry").touch()
    making.touch(made / "entry", changed)
    return made


def copy(home: Path, name: str, elements: Sequence[Element], when: int, title: str) -> Path:
    """Put a conversation's folder into a home of conversations, all of it changed at ``when``."""
    made = home / name
    made.mkdir(parents=True)
    (made / "events.json").write_bytes(making.stream_file(elements))
    (made / "metadata.json").write_text(f'{{"title": "{title}"}}')
    for path in made.iterdir():
        making.touch(path, when)
    return made


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
def test_a_folder_of_the_id_or_with_it_behind_a_dash_is_the_silo(
    no_silo: Path, root: Path, name: str
):
    made = silo_named(no_silo, name)
    assert silo.find_silo(root, ID) == made


@pytest.mark.parametrize("name", [f"x{ID}", f"{ID}-garden", "garden-other", "garden"])
def test_a_folder_of_another_name_is_not(no_silo: Path, root: Path, name: str):
    silo_named(no_silo, name)
    assert silo.find_silo(root, ID) is None


def test_a_file_is_no_silo_and_no_data_folder_is_none(no_silo: Path, root: Path):
    assert silo.find_silo(root, ID) is None
    (no_silo / "workspace").mkdir()
    (no_silo / "workspace" / ID).touch()
    assert silo.find_silo(root, ID) is None


def test_of_several_the_one_named_after_the_root_wins_however_old(no_silo: Path, root: Path):
    silo_named(no_silo, f"other-{ID}", 9_000)
    named = silo_named(no_silo, f"garden-{ID}", 1_000)
    silo_named(no_silo, ID, 8_000)
    assert silo.find_silo(root, ID) == named


def test_else_the_newest_by_its_direct_entries(no_silo: Path, root: Path):
    newest = silo_named(no_silo, f"alpha-{ID}", 9_000)
    older = silo_named(no_silo, f"beta-{ID}", 1_000)
    (older / "deep").mkdir()
    (older / "deep" / "new").touch()
    making.touch(older / "deep" / "new", 99_000)
    making.touch(older / "deep", 2_000)
    assert silo.find_silo(root, ID) == newest


def test_of_equally_old_ones_the_larger_path_wins(no_silo: Path, root: Path):
    silo_named(no_silo, f"alpha-{ID}", 5_000)
    larger = silo_named(no_silo, f"beta-{ID}", 5_000)
    assert silo.find_silo(root, ID) == larger


@pytest.mark.django_db
def test_metadata_and_stream_are_taken_from_the_newer_copy_each(no_silo: Path, root: Path):
    own = silo_named(no_silo, f"garden-{ID}") / "conversations"
    here = copy(root / ".jp" / "conversations", f"{DS}-old", TWO, 2_000, "Old")
    there = copy(own, f"{DS}-new", ONE, 1_000, "New")
    making.touch(there / "metadata.json", 3_000)
    before = tree(no_silo), tree(root)
    mirror.mirror_workspace(root)
    talk = Conversation.objects.get()
    assert (talk.title, talk.entry_count) == ("New", 2)
    (found,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (found.folder, found.metadata_folder) == (here, there)
    assert (tree(no_silo), tree(root)) == before


def test_base_config_makes_a_stream_newer_and_a_tie_goes_to_the_silo(no_silo: Path, root: Path):
    own = silo_named(no_silo, f"garden-{ID}") / "conversations"
    here = copy(root / ".jp" / "conversations", str(DS), ONE, 1_000, "a")
    there = copy(own, str(DS), ONE, 1_000, "a")
    (found,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (found.folder, found.metadata_folder) == (there, there)
    (here / "base_config.json").write_text("{}")
    making.touch(here / "base_config.json", 2_000)
    (found,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (found.folder, found.metadata_folder) == (here, there)


@pytest.mark.django_db
def test_the_list_is_the_union_by_id_archived_ones_last(no_silo: Path, root: Path):
    own = silo_named(no_silo, f"garden-{ID}") / "conversations"
    folder(root, f"{DS + 1}-here", ONE)
    copy(own, str(DS), ONE, 1_000, "there")
    copy(own / ".archive", str(DS + 2), ONE, 1_000, "put away there")
    folder(root, str(DS + 3), ONE, archived=True)
    copy(own / ".archive", str(DS + 1), ONE, 9_000, "hidden by the live one")
    found = list(workspace.iterate_conversations(workspace.find_workspace(root, ID)))
    assert [(c.jp_id - DS, c.is_archived) for c in found] == [
        (0, False),
        (1, False),
        (2, True),
        (3, True),
    ]
    mirror.mirror_workspace(root)
    assert Conversation.objects.filter(archived=True).count() == 2


def test_of_an_archived_one_the_workspaces_copy_counts(no_silo: Path, root: Path):
    own = silo_named(no_silo, f"garden-{ID}") / "conversations"
    here = copy(root / ".jp" / "conversations" / ".archive", str(DS), ONE, 1_000, "here")
    copy(own / ".archive", str(DS), TWO, 9_000, "there")
    (found,) = workspace.iterate_conversations(workspace.find_workspace(root, ID))
    assert (found.folder, found.metadata_folder, found.is_archived) == (here, here, True)
