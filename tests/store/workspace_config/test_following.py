from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store.choices import Act, FilesState
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import mirror
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import LedgerEntry, Workspace
from jpweb.store.workspace_config import following
from tests.store import making
from tests.store.making import write_folder


def set_following(workspace: Workspace, *, is_followed: bool) -> None:
    actor = Actor.from_person(making.person())
    following.set_following(workspace.pk, actor, is_followed=is_followed)
    workspace.refresh_from_db()


def test_stopped_workspace_is_in_no_watch_until_it_is_resumed(db: None, tmp_path: Path):
    write_folder(tmp_path, "17000000000-a-talk", [])
    workspace, _ = mirror.mirror_workspace(tmp_path)
    set_following(workspace, is_followed=False)
    assert mirror.list_roots() == []
    assert mirror.read_files_state(workspace) == FilesState.STOPPED
    set_following(workspace, is_followed=True)
    assert mirror.list_roots() == [Path(workspace.root)]
    assert mirror.read_files_state(workspace) == FilesState.FOLLOWED


def test_set_following_records_a_ledger_entry_only_for_a_change(db: None):
    workspace = making.workspace()
    for is_followed in (True, False, False, True):
        set_following(workspace, is_followed=is_followed)
    entries = LedgerEntry.objects.filter(act=Act.SETTING_CHANGED).order_by("pk")
    values = [json.loads(entry.text)["details"] for entry in entries]
    assert values == [{"setting": "following", "value": value} for value in ("off", "on")]


def test_demo_is_neither_stopped_nor_resumed(db: None):
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH)
    with pytest.raises(StoreError, match="demo is part of jpweb"):
        set_following(demo, is_followed=False)
    assert Workspace.objects.get().is_followed
