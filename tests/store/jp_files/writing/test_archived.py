"""An archived conversation of an attached workspace takes no turn until it is unarchived."""

from __future__ import annotations

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import runs
from jpweb.store.choices import RunState, WritePolicy
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments, metadata_file, mirror
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.models import Conversation, Run
from tests.runtime import providers
from tests.store import making
from tests.store.jp_files.test_attachments import Attached, stage

__all__ = ["stage"]


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch) -> None:
    providers.use_provider(monkeypatch, providers.Says())


async def set_archived(stage: Attached, *, is_archived: bool) -> None:
    change = MetadataChange(archived=is_archived)
    await run_in_db_thread(metadata_file.apply_change, stage.conversation.pk, change)


async def read_obstacle(stage: Attached) -> str:
    rows = Conversation.objects.select_related("workspace")
    row = await run_in_db_thread(rows.get, pk=stage.conversation.pk)
    return attachments.get_turn_obstacle(row)


async def refuse_turn(stage: Attached) -> None:
    """Check that a turn is refused, with the reason that the page gives too."""
    with pytest.raises(StoreError, match=r"is archived\. Unarchive it first"):
        await stage.play_turn()
    assert await read_obstacle(stage) == attachments.ARCHIVED_TEXT


async def test_turn_of_an_archived_conversation_is_refused(stage: Attached):
    await stage.play_turn()
    await set_archived(stage, is_archived=True)
    await refuse_turn(stage)
    assert await run_in_db_thread(Run.objects.count) == 1
    await set_archived(stage, is_archived=False)
    assert await read_obstacle(stage) == ""
    assert (await stage.play_turn()).state == "done"
    assert stage.events() == await stage.exported()
    assert (await stage.row()).problem == ""


async def test_turn_is_refused_where_jp_archived_since_the_last_pass(stage: Attached):
    await stage.play_turn()
    for copy in stage.copies:
        (copy.parent / ".archive").mkdir()
        copy.rename(copy.parent / ".archive" / copy.name)
    await refuse_turn(stage)
    assert await run_in_db_thread(Run.objects.count) == 1


async def test_conversation_archived_before_its_first_turn_is_not_written(stage: Attached):
    await set_archived(stage, is_archived=True)
    await refuse_turn(stage)
    assert stage.copies == []
    await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert (await stage.row()).archived
    await set_archived(stage, is_archived=False)
    assert (await stage.play_turn()).state == "done"


async def test_conversation_whose_turn_waits_is_not_archived(stage: Attached):
    await stage.play_turn()
    run = await run_in_db_thread(making.start_run, stage.conversation)
    with pytest.raises(StoreError, match=r"Answer its questions or stop it, then archive\.$"):
        await set_archived(stage, is_archived=True)
    assert not (await stage.row()).archived
    assert all(copy.parent.name != ".archive" for copy in stage.copies)
    await run_in_db_thread(runs.end_run, run, RunState.DONE)
    await set_archived(stage, is_archived=True)


async def test_archived_conversation_of_the_database_alone_takes_turns(stage: Attached):
    await run_in_db_thread(stage.write, WritePolicy.OFF)
    await set_archived(stage, is_archived=True)
    assert await read_obstacle(stage) == ""
    assert (await stage.play_turn()).state == "done"
