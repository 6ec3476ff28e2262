"""User-local copies that are not there for an account are not taken for deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatRequest, ChatResponse, Element, TurnStart
from tests.builders import make_element
from tests.store.making import set_mtime, write_folder

pytestmark = pytest.mark.django_db
LOCAL, BOTH = "17000000000-local", "17000000001-both"
TURN = [make_element(TurnStart()), make_element(ChatRequest("Hello"))]
GROWN = [*TURN, make_element(ChatResponse("message", "Hello!"))]
OLDER, NEWER = 1_700_000_000, 1_800_000_000


def write_at(parent: Path, name: str, elements: list[Element], moment: int) -> None:
    folder = write_folder(parent, name, elements, title=f"{name} at {moment}")
    for path in folder.iterdir():
        set_mtime(path, moment)


@pytest.fixture
def root(tmp_path: Path, no_silo: Path) -> Path:
    """Return a workspace whose silo has one conversation alone, and of another the newer copy."""
    root, silo = tmp_path / "garden", no_silo / "workspace" / "garden-abcde"
    (silo / ".jp").mkdir(parents=True)
    write_at(silo, LOCAL, TURN, OLDER)
    write_at(silo, BOTH, GROWN, NEWER)
    (silo / ".jp" / "conversations").rename(silo / "conversations")
    write_at(root, BOTH, TURN, OLDER)
    (root / ".jp" / ".id").write_text("abcde")
    assert mirror.mirror_workspace(root)[1].problems == []
    return root


def hide_silo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "of another user"))


def read_rows() -> list[tuple[str, int, bool]]:
    rows = Conversation.objects.order_by("jp_id")
    return [(row.title, row.entry_count, row.removed_at is not None) for row in rows]


def test_pass_without_the_silo_changes_nothing_and_notes_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = read_rows()
    assert before == [(f"{LOCAL} at {OLDER}", 2, False), (f"{BOTH} at {NEWER}", 3, False)]
    with monkeypatch.context() as patched:
        hide_silo(patched, tmp_path)
        _, report = mirror.mirror_workspace(root)
        assert read_rows() == before
        assert (report.removed, report.changed_ids) == (0, [])
        assert [note.partition(",")[0] for note in report.notes] == ["The user-local copies"]
    assert mirror.mirror_workspace(root)[1].problems == []


def test_pass_without_the_silo_reads_newer_copies(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hide_silo(monkeypatch, tmp_path)
    write_at(root, BOTH, [*GROWN, *TURN], NEWER + 1)
    mirror.mirror_workspace(root)
    assert read_rows()[1] == (f"{BOTH} at {NEWER + 1}", 5, False)


def test_conversation_that_jp_deleted_from_the_silo_is_marked(root: Path, no_silo: Path):
    (no_silo / "workspace" / "garden-abcde" / "conversations" / LOCAL).rename(root / "away")
    assert mirror.mirror_workspace(root)[1].removed == 1
    assert [is_removed for *_, is_removed in read_rows()] == [True, False]
