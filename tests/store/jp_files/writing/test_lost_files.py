"""Files of a conversation run here that vanish, or lack the end of its journal."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.choices import WritePolicy
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import attachments, mirror, workspace, writer
from jpweb.store.models import Conversation, Run, Workspace
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
    with pytest.raises(NoWorkspace, match="garden is no longer a JP workspace"):
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


@pytest.mark.parametrize("policy", [WritePolicy.CURRENT, WritePolicy.OFF])
async def test_conversation_that_jp_deleted_is_marked_until_it_is_there_again(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, policy: WritePolicy
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    places = {copy: stage.root.parent / f"away{n}" for n, copy in enumerate(stage.copies)}
    for copy, place in places.items():
        copy.rename(place)
    _, report = await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert (report.removed, (await stage.row()).removed_at is not None) == (1, True)
    assert (await read_obstacle(stage)).startswith("jp deleted this conversation")
    assert (await run_in_db_thread(mirror.mirror_workspace, stage.root))[1].removed == 0
    await run_in_db_thread(stage.write, policy)
    for copy, place in places.items():
        place.rename(copy)
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert ((await stage.row()).removed_at, await read_obstacle(stage)) == (None, "")
    assert (await stage.play_turn()).state == "done"


async def read_obstacle(stage: Attached) -> str:
    rows = Conversation.objects.select_related("workspace")
    row = await run_in_db_thread(rows.get, pk=stage.conversation.pk)
    return attachments.get_turn_obstacle(row)


async def test_conversation_that_lost_its_files_while_writing_is_off_takes_turns(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    await run_in_db_thread(stage.write, WritePolicy.OFF)
    for copy in stage.copies:
        shutil.rmtree(copy)
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert ((await stage.row()).removed_at, await read_obstacle(stage)) == (None, "")
    assert (await stage.play_turn()).state == "done"


async def test_conversation_written_after_the_folders_were_listed_is_not_marked(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    monkeypatch.setattr(workspace, "iterate_conversations", lambda *_: iter(()))
    _, report = await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert (report.removed, (await stage.row()).removed_at) == (0, None)


async def test_conversation_in_a_refused_folder_is_not_marked(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    for number, copy in enumerate(stage.copies):
        copy.rename(stage.root.parent / f"away{number}")
        copy.symlink_to(stage.root.parent / f"away{number}")
    _, report = await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert (report.removed, (await stage.row()).removed_at) == (0, None)


async def test_conversation_deleted_where_no_pass_looks_is_not_written_again(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    await run_in_db_thread(Workspace.objects.update, is_followed=False)
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    for copy in stage.copies:
        shutil.rmtree(copy)
    with pytest.raises(StoreError, match="jp deleted this conversation"):
        await stage.play_turn()
    assert stage.copies == []


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
