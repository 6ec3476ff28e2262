"""Files of a conversation run here that vanish, or lack the end of its journal."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import mirror, writer
from jpweb.store.models import Run
from tests.runtime import providers
from tests.store.jp_files.test_attachments import Attached, stage
from tests.store.making import read_tree

__all__ = ["stage"]


async def test_workspace_without_its_jp_is_not_the_one_above_it(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    outer = stage.root.parent / ".jp"
    (outer / "conversations").mkdir(parents=True)
    (stage.root / ".jp").rename(stage.root / "away")
    before = read_tree(outer)
    providers.use_provider(monkeypatch, providers.Says())
    with pytest.raises(NoWorkspace, match="garden is no JP workspace any more"):
        await stage.play_turn()
    assert read_tree(outer) == before
    assert await run_in_db_thread(Run.objects.count) == 0


async def test_conversation_that_jp_deleted_is_not_written_again(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    for copy in stage.copies:
        shutil.rmtree(copy)
    with pytest.raises(StoreError, match="jp deleted this conversation"):
        await stage.play_turn()
    assert stage.copies == []
    assert await run_in_db_thread(Run.objects.count) == 1


async def test_failure_to_save_is_shown_until_the_file_has_all_events(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    write, calls = writer.write_conversation, list[None]()

    def fail_later(*args: Any) -> Any:
        calls.append(None)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(*args)

    providers.use_provider(monkeypatch, providers.Says())
    with monkeypatch.context() as patched:
        patched.setattr(writer, "write_conversation", fail_later)
        await stage.play_turn()
    for _ in range(2):
        await run_in_db_thread(mirror.mirror_workspace, stage.root)
        assert (await stage.row()).problem.startswith("No longer saved to")
    await stage.play_turn()
    assert (await stage.row()).problem == ""
    assert stage.events() == await stage.exported()
