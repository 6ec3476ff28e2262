from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import AsyncMock

import pytest
from django.db import connection

from jpweb.runtime import db_threads
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.periodic import scheduler, update_search_index
from jpweb.store import journal
from jpweb.store.models import Conversation, Passage
from jpweb.store.search import indexer
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.runtime.playing import SOON, wait_for_task
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


def conversations() -> None:
    workspace = making.workspace()
    for n in range(3):
        conversation = making.conversation(workspace)
        journal.append_events(conversation.pk, [making.event(ChatResponse("message", f"word {n}"))])


async def test_index_changed_indexes_all_changed_conversations():
    await run_in_db_thread(conversations)
    assert await update_search_index.index_changed() == 3
    assert await run_in_db_thread(Conversation.objects.filter(needs_indexing=True).count) == 0
    assert await run_in_db_thread(Passage.objects.filter(category="message").count) == 3
    assert await update_search_index.index_changed() == 0


async def test_segments_of_the_index_are_merged_in_a_pause():
    def count_segments() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(DISTINCT segid) FROM store_passage_words_idx")
            return int(cursor.fetchone()[0])

    def append_until_segmented(conversation_id: int) -> None:
        for number in range(64):  # between two appends FTS5 itself may merge all
            if count_segments() > 8:
                return
            event = making.event(ChatResponse("message", f"word {number}"))
            journal.append_events(conversation_id, [event])
            indexer.index_next()

    workspace = await run_in_db_thread(making.workspace)
    conversation = await run_in_db_thread(making.conversation, workspace)
    await run_in_db_thread(append_until_segmented, conversation.pk)
    assert await run_in_db_thread(count_segments) > 8
    await run_in_db_thread(journal.append_events, conversation.pk, [making.event(ChatRequest("?"))])
    assert await update_search_index.index_changed() == 1
    assert await run_in_db_thread(count_segments) < 4


async def test_index_changed_during_a_call_begins_after_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(db_threads, "MAX_WAIT_SECONDS", SOON)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    gate = threading.Event()
    call = asyncio.create_task(run_in_db_thread(gate.wait, SOON))
    steps: list[bool] = []
    monkeypatch.setattr(indexer, "index_next", lambda _: steps.append(call.done()))
    indexing = asyncio.create_task(update_search_index.index_changed())
    await asyncio.sleep(0)
    await run_in_background_thread(gate.set)
    assert await wait_for_task(indexing) == 0
    assert steps == [True]


async def test_conversation_that_changes_without_a_pause_is_indexed_at_intervals(
    monkeypatch: pytest.MonkeyPatch,
):
    pauses: list[bool] = []

    async def wait_for_pause() -> bool:
        return pauses.pop(0)

    def change() -> None:
        for conversation in Conversation.objects.all():
            journal.append_events(
                conversation.pk, [making.event(ChatResponse("message", "Again."))]
            )

    async def index(*next_pauses: bool) -> int:
        await run_in_db_thread(change)
        pauses[:] = (*next_pauses, False)  # the last one is that of merging
        return await update_search_index.index_changed()

    monkeypatch.setattr(db_threads.thread_use, "wait_until_quiet", wait_for_pause)
    monkeypatch.setattr(update_search_index, "REINDEX_SECONDS", SOON)
    await run_in_db_thread(conversations)
    assert await index(False, False, False, False) == 3
    assert await index(False) == 0
    assert pauses == [False], "there is nothing to merge"
    assert await index(True, True, True, True) == 3
    assert await index(True, False) == 1, "the pause ended"
    monkeypatch.setattr(update_search_index, "REINDEX_SECONDS", 0.0)
    assert await index(False, False, False, False) == 3
    assert pauses == []


async def test_long_conversation_is_indexed_to_its_end_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
):
    def append() -> None:
        conversation = making.conversation(making.workspace())
        words = [making.event(ChatResponse("message", f"word {n}")) for n in range(3)]
        journal.append_events(conversation.pk, words)

    monkeypatch.setattr(db_threads.thread_use, "wait_until_quiet", AsyncMock(return_value=False))
    monkeypatch.setattr(update_search_index, "REINDEX_SECONDS", SOON)
    monkeypatch.setattr(indexer, "BATCHES_PER_STEP", 1)
    monkeypatch.setattr(indexer, "BATCH_ENTRIES", 1)
    await run_in_db_thread(append)
    assert await update_search_index.index_changed() == 4, "the last finds no more"
    assert await run_in_db_thread(Passage.objects.filter(category="message").count) == 3


async def test_conversation_that_is_broken_keeps_no_other_from_the_index(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    await run_in_db_thread(conversations)
    newest = await run_in_db_thread(Conversation.objects.order_by("-last_activity", "-id").first)
    assert newest is not None
    real = indexer._build_passages

    def build(key: int, *arguments: Any) -> Any:
        if key == newest.pk:
            raise KeyError("rows that do not fit each other")
        return real(key, *arguments)

    monkeypatch.setattr(indexer, "_build_passages", build)
    assert await update_search_index.index_changed() == 3
    assert await update_search_index.index_changed() == 0
    assert await run_in_db_thread(Passage.objects.filter(category="message").count) == 2
    assert len([r for r in caplog.records if "could not be indexed" in r.message]) == 1


def test_index_changed_is_scheduled_every_second():
    (duty,) = (
        task for task in scheduler.PERIODIC_TASKS if task.work is update_search_index.index_changed
    )
    assert duty.interval_seconds <= 1
