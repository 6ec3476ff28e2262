"""A run that lost JP's lock before its end, and what jp did with the file until it has it again."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from django.conf import settings

from jpweb.runtime import runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import lock_waits, run_executor
from jpweb.store import journal
from jpweb.store import runs as stored
from jpweb.store.choices import RunState
from jpweb.store.errors import NothingToRetry
from jpweb.store.jp_files import attachments, locks, mirror
from jpweb.store.jp_files.attachments import Attachment
from jpweb.store.jp_files.external_appends import CopiesDiverged, RunOvertaken
from jpweb.store.models import Conversation, Inquiry, Run
from jpweb.store.run_queue import jobs
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConfigDelta,
    Element,
    ToolCallRequest,
    TurnStart,
)
from tests.builders import make_element
from tests.runtime import providers
from tests.runtime.playing import eventually, wait_for_task
from tests.store import making
from tests.store.jp_files.test_attachments import Attached, stage

__all__ = ["stage"]

LATER = "2030-02-03 04:05:06.0"
JP_TURN = [
    make_element(TurnStart(), at=LATER),
    make_element(ChatRequest("From a terminal"), at=LATER),
    make_element(ChatResponse("message", "An answer of jp's"), at=LATER),
]
#: Events of the run that the file has.
OPENING = (TurnStart(), ChatRequest("Begin"))


def attach(stage: Attached) -> Attachment:
    attachment = attachments.attach_files(stage.conversation.pk)
    assert attachment is not None
    return attachment


def begin(stage: Attached, *further: ToolCallRequest) -> Run:
    """Begin a run and release its files, ``further`` events unwritten, as a killed server does."""
    attachment = attach(stage)
    events = [making.event(kind) for kind in OPENING]
    run = making.acquire_run(
        stored.start_run(stage.conversation.pk, stage.ada.pk, "scripted", "", events)
    )
    attachment.write_files()
    attachment.release()
    if further:
        journal.append_events(stage.conversation.pk, [making.event(kind) for kind in further], run)
    return run


def jp_writes(stage: Attached, *elements: Element) -> bytes:
    data = making.stream_file(elements)
    for copy in stage.copies:
        (copy / "events.json").write_bytes(data)
    return data


def read_row(stage: Attached) -> Conversation:
    return Conversation.objects.get(pk=stage.conversation.pk)


def list_texts(stage: Attached) -> list[str]:
    return [element.raw for element in journal.read_elements(stage.conversation.pk)]


def test_resumed_run_writes_missing_events(stage: Attached):
    begin(stage, ToolCallRequest("call_1", "vault"))
    assert len(stage.on_disk()) == 2
    attachment = attach(stage)
    attachment.write_files()
    attachment.release()
    assert [element.raw for element in stage.on_disk()] == list_texts(stage)
    assert (len(list_texts(stage)), read_row(stage).problem) == (3, "")


@pytest.mark.parametrize("case", ["rewritten", "continued"])
def test_resumed_run_does_not_overwrite_changes_of_jp(stage: Attached, case: str):
    begin(stage, ToolCallRequest("call_1", "vault"))
    kept_elements = stage.on_disk()[: 2 if case == "continued" else 1]
    data = jp_writes(stage, *kept_elements, *JP_TURN)
    ours = list_texts(stage)
    for _ in range(2):  # also where the server ends before the run does
        with pytest.raises(CopiesDiverged, match="jp changed events that were run here"):
            attach(stage)
    assert (stage.events(), list_texts(stage)) == (data, ours)
    assert "differs" in read_row(stage).problem
    assert not stage.lock.exists()


def test_run_ends_after_a_turn_that_jp_began_and_both_stay(stage: Attached):
    run = begin(stage)
    data = jp_writes(stage, *stage.on_disk(), *JP_TURN)
    mirror.mirror_workspace(stage.root)
    assert len(list_texts(stage)) == 2, "a pass leaves the journal to the run"
    for _ in range(2):  # also where the server ends before the run does
        with pytest.raises(RunOvertaken, match="jp began another turn"):
            attach(stage)
    assert list_texts(stage) == [element.raw for element in stage.on_disk()]
    assert (stage.events(), read_row(stage).problem) == (data, "")
    stored.end_run(run, RunState.FAILED, "It was overtaken.")
    with pytest.raises(NothingToRetry, match="jp began another turn"):
        stored.require_retryable(stage.conversation.pk)
    attach(stage).release()


def test_resumed_run_continues_after_a_configuration_change(stage: Attached):
    begin(stage)
    jp_writes(stage, *stage.on_disk(), make_element(ConfigDelta({}), at=LATER))
    attachment = attach(stage)
    journal.append_events(stage.conversation.pk, [making.event(ChatResponse("message", "Done"))])
    attachment.write_files()
    attachment.release()
    assert [element.tag for element in stage.on_disk()][2:] == ["config_delta", "chat_response"]


async def end_of(run: Run) -> Run:
    async def find_ended() -> Run | None:
        row = await run_in_db_thread(Run.objects.get, pk=run.pk)
        return row if row.ended_at else None

    ended_run: Run = await eventually(find_ended)
    return ended_run


async def begin_and_release(stage: Attached, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Begin a turn, and let the server end while its reply comes."""
    hangs = providers.Hangs()
    providers.use_provider(monkeypatch, hangs)
    run, _ = await stage.start()
    await hangs.said_event.wait()
    await runs.release_runs()
    providers.use_provider(monkeypatch, providers.Says())
    return run


async def test_server_that_starts_again_resumes_an_unchanged_run(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run = await begin_and_release(stage, monkeypatch)
    await wait_for_task(await stage.resume(run))
    assert (await end_of(run)).state == "done"
    assert stage.events() == await stage.exported()


async def test_run_that_jp_overtook_fails_once_and_the_next_turn_follows(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run = await begin_and_release(stage, monkeypatch)
    expected = [*stage.on_disk(), *JP_TURN]
    await run_in_db_thread(jp_writes, stage, *expected)
    await run_executor.check_and_recover()
    ended_run = await end_of(run)
    assert (ended_run.state, "jp began another turn" in ended_run.problem) == ("failed", True)
    assert stage.on_disk() == expected
    await run_executor.check_and_recover()
    assert run_executor._active_runs == {}
    assert (await stage.play_turn()).state == "done"
    assert stage.on_disk()[: len(expected)] == expected
    assert stage.events() == await stage.exported()


async def test_run_whose_events_jp_changed_fails_and_says_so(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run = await begin_and_release(stage, monkeypatch)
    data = await run_in_db_thread(jp_writes, stage, *JP_TURN)
    await run_executor.check_and_recover()
    ended_run = await end_of(run)
    assert (ended_run.state, "differs" in ended_run.problem) == ("failed", True)
    assert stage.events() == data
    with pytest.raises(CopiesDiverged):
        await stage.start()
    with pytest.raises(CopiesDiverged):
        await runs.retry_turn(stage.conversation, stage.ada)


async def test_question_of_a_run_that_jp_overtook_is_closed(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, _ = await stage.start()
    row = await stage.get_question()
    await runs.release_runs()
    expected = [*stage.on_disk(), *JP_TURN]
    await run_in_db_thread(jp_writes, stage, *expected)
    await run_executor.check_and_recover()
    assert (await end_of(run)).state == "failed"
    assert (await stage.reload(row)).state != "open"
    assert not await run_in_db_thread(Inquiry.objects.filter(state="open").exists)
    assert list(await stage.elements()) == stage.on_disk() == expected
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"


async def test_retry_after_a_turn_of_jp_that_no_pass_has_read_starts_no_run(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    failed_run = await run_in_db_thread(begin, stage)
    await run_in_db_thread(stored.end_run, failed_run, RunState.FAILED, "It broke.")
    expected = [*stage.on_disk(), *JP_TURN]
    await run_in_db_thread(jp_writes, stage, *expected)
    providers.use_provider(monkeypatch, providers.Says())
    with pytest.raises(NothingToRetry, match="jp began another turn"):
        await runs.retry_turn(stage.conversation, stage.ada)
    assert await run_in_db_thread(Run.objects.get) == failed_run
    assert not stage.lock.exists()
    assert list(await stage.elements()) == stage.on_disk() == expected


async def test_queued_message_precedes_later_events_of_jp_in_the_file(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    with monkeypatch.context() as patched:
        patched.setattr(settings, "RUN_MODE", "workers")
        patched.setattr(jobs, "enqueue_job", lambda _run_id: None)
        run = await runs.start_turn(stage.conversation, stage.ada, "Begin")
    expected = [*stage.on_disk(), *JP_TURN]
    assert [element.tag for element in expected[:3]] == ["turn_start", "chat_request", "turn_start"]
    await run_in_db_thread(jp_writes, stage, *expected)
    await run_executor.execute_run(run.pk)
    assert "jp began another turn" in (await end_of(run)).problem
    assert (await stage.play_turn()).state == "done"
    assert stage.on_disk()[: len(expected)] == expected
    assert stage.events() == await stage.exported()


async def take_over_while_locked(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, session: str
) -> tuple[Run, ExitStack]:
    """Let this process take a run over whose files a living process has locked."""
    monkeypatch.setattr(attachments, "LOCK_TIMEOUT_SECONDS", 0.05)
    run = await begin_and_release(stage, monkeypatch)
    monkeypatch.setattr(locks, "LOCK_SESSION", session)
    stack = ExitStack()
    stack.enter_context(locks.hold_lock(stage.silo, stage.root / ".jp", stage.conversation.jp_id))
    monkeypatch.setattr(locks, "LOCK_SESSION", "jpweb")
    await run_executor.execute_run(run.pk)
    return await run_in_db_thread(Run.objects.get, pk=run.pk), stack


async def test_run_resumes_once_its_last_process_has_released_the_files(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run, stack = await take_over_while_locked(stage, monkeypatch, "jpweb")
    with stack:
        assert (run.state, run.problem, run.phase) == ("queued", "", "replying")
        assert run.resume_count == 1, "only the process that let go of it counts"
    await wait_for_task(await stage.resume(run))
    assert (await end_of(run)).state == "done"
    assert stage.events() == await stage.exported()


async def test_run_whose_files_jpweb_keeps_locked_for_long_fails_and_says_so(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run, stack = await take_over_while_locked(stage, monkeypatch, "jpweb")
    with stack:
        monkeypatch.setattr(lock_waits, "MAX_WAIT_LEASES", 0)
        await run_executor.execute_run(run.pk)
        ended_run = await end_of(run)
    assert (ended_run.state, "session jpweb" in ended_run.problem) == ("failed", True)


async def test_run_whose_files_jp_has_locked_fails_at_once(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    run, stack = await take_over_while_locked(stage, monkeypatch, "terminal")
    with stack:
        assert (run.state, "session terminal" in run.problem) == ("failed", True)
