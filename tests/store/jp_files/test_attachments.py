"""Runs in an attached workspace: the files as JP writes them, under JP's lock."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers

from jpweb.runtime import runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store import exports
from jpweb.store.choices import WritePolicy
from jpweb.store.errors import AlreadyRunning, NoWorkspace, StoreError
from jpweb.store.jp_files import attachments, external_appends, locks, mirror, writer
from jpweb.store.models import Conversation, Inquiry, Run, Workspace
from jpweb.stream import wire
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatResponse, Element
from jpweb.stream.inquiry import InquiryRequest
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result
from tests.exporting import join_pieces
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene, wait_for_task
from tests.store import making
from tests.store.jp_files.test_locks import held_by_jp
from tests.store.making import decider, read_tree

TAKE = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("held")
"""
FORMS = [WritePolicy.CURRENT, WritePolicy.COMPATIBLE]
ADDED = [
    make_element(k)
    for k in (make_call("c"), make_inquiry("c.q.1"), make_answer("c.q.1"), make_result("c"))
]


class Attached(Scene):
    """A scene in a workspace with files and a silo."""

    def __init__(self, root: Path, silo: Path) -> None:
        super().__init__()
        (root / ".jp" / "conversations").mkdir(parents=True)
        (root / ".jp" / ".id").write_text("# JP's own\nabcde\n")
        self.silo = silo / "workspace" / "garden-abcde"
        self.silo.mkdir(parents=True)
        self.root = root
        Workspace.objects.filter(pk=self.workspace.pk).update(root=str(root))
        self.workspace.refresh_from_db()
        self.write(WritePolicy.CURRENT)
        self.lock = self.silo / "locks" / f"jp-c{self.conversation.jp_id}.lock"

    def write(self, form: WritePolicy) -> None:
        attachments.set_write_policy(self.workspace, form)

    @property
    def copies(self) -> list[Path]:
        homes = (self.silo / "conversations", self.root / ".jp" / "conversations")
        return [p for home in homes for p in home.glob(f"{self.conversation.jp_id}*")]

    def events(self) -> bytes:
        first, second = [(copy / "events.json").read_bytes() for copy in self.copies]
        assert first == second
        return first

    def on_disk(self) -> list[Element]:
        return [wire.read_element(text) for text in wire.split_array(self.events())]

    def jp_adds(self, *elements: Element) -> None:
        data = making.stream_file([*self.on_disk(), *elements])
        for copy in self.copies:
            (copy / "events.json").write_bytes(data)

    async def row(self) -> Conversation:
        return await run_in_db_thread(Conversation.objects.get, pk=self.conversation.pk)

    async def exported(self) -> bytes:
        row = await self.row()
        return await run_in_db_thread(lambda: join_pieces(exports.export_jp_json(row)))

    async def play_turn(self) -> Run:
        """Let a run end by itself; return its row."""
        run, task = await self.start()
        await wait_for_task(task)
        return await run_in_db_thread(Run.objects.get, pk=run.pk)


@pytest.fixture
def stage(transactional_db: None, tmp_path: Path, no_silo: Path) -> Iterator[Attached]:
    channel_layers.backends.clear()
    yield Attached(tmp_path / "garden", no_silo)
    channel_layers.backends.clear()
    assert run_executor._active_runs == {}


def second_process(lock: Path) -> str:
    words = [sys.executable, "-c", TAKE, str(lock)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


async def test_run_with_writing_off_changes_no_file(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    await run_in_db_thread(stage.write, WritePolicy.OFF)
    before = read_tree(stage.root), read_tree(stage.silo)
    providers.use_provider(monkeypatch, providers.Says())
    assert await run_in_db_thread(attachments.attach_files, stage.conversation.pk) is None
    assert (await stage.play_turn()).state == "done"
    assert (read_tree(stage.root), read_tree(stage.silo)) == before


async def test_running_turn_writes_its_files_and_holds_the_lock(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    _, task = await stage.start("Let us begin")
    await stage.get_question()
    signature = json.loads(stage.lock.read_text())
    assert (signature["pid"], signature["session"]) == (os.getpid(), "jpweb")
    assert second_process(stage.lock) == "held"

    async def is_written() -> bool:
        return stage.events() == await stage.exported()

    await runs_eventually(is_written)
    assert [copy.name for copy in stage.copies] == [f"{stage.conversation.jp_id}-a-talk"] * 2
    for copy in stage.copies:
        names = {path.name for path in copy.iterdir()}
        assert names == {"metadata.json", "base_config.json", "events.json"}
        assert (copy / "base_config.json").read_bytes() == writer.SMALLEST_BASE_CONFIG
        about = json.loads((copy / "metadata.json").read_text())
        assert about["title"] == "A talk"
        assert "last_activated_at" in about
    assert stage.on_disk()[-1].tag == "inquiry_request"
    await runs.stop_run(stage.conversation.pk, decider(stage.ada))
    await wait_for_task(task)
    assert not stage.lock.exists()


async def runs_eventually(look: Any) -> None:
    async with asyncio.timeout(10):
        while not await look():  # noqa: ASYNC110  # it is looked for on disk
            await asyncio.sleep(0.01)


async def test_ended_run_leaves_the_export_on_disk_and_no_lock(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    hangs = providers.Hangs()
    ways = {
        "done": providers.Says(),
        "failed": providers.Says(providers.fail_run),
        "stopped": hangs,
    }
    for state, provider in ways.items():
        providers.use_provider(monkeypatch, provider)
        run, task = await stage.start()
        if provider is hangs:
            await hangs.said_event.wait()
            await runs.stop_run(stage.conversation.pk, decider(stage.ada))
        await wait_for_task(task)
        assert (await run_in_db_thread(Run.objects.get, pk=run.pk)).state == state
        assert stage.events() == await stage.exported()
        assert not stage.lock.exists()
    assert (await stage.row()).problem == ""
    assert stage.events().endswith(b"\n]\n")


async def test_start_run_is_refused_while_jp_holds_the_lock(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attachments, "LOCK_TIMEOUT_SECONDS", 0.1)
    with (
        held_by_jp(stage.lock) as pid,
        pytest.raises(locks.LockHeld, match=f"in use by process {pid}"),
    ):
        await stage.start()
    assert await run_in_db_thread(Run.objects.count) == 0
    assert await stage.exported() == b"[]\n"
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"


async def test_start_run_refuses_a_second(stage: Attached, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attachments, "LOCK_TIMEOUT_SECONDS", 0.1)
    providers.use_provider(monkeypatch, providers.Hangs())
    _, task = await stage.start()
    with pytest.raises(AlreadyRunning):
        await stage.start()
    assert stage.lock.exists()
    await runs.stop_run(stage.conversation.pk, decider(stage.ada))
    await wait_for_task(task)
    assert await run_in_db_thread(Run.objects.count) == 1


@pytest.mark.parametrize("step", ["jp_files.attachments.attach_files", "runs.start_run"])
async def test_cancelled_start_of_a_run_leaves_no_lock_and_no_run(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, step: str
):
    entered, go_on = threading.Event(), threading.Event()
    module, _, name = f"jpweb.store.{step}".rpartition(".")
    done_by = getattr(importlib.import_module(module), name)

    def slowly(*words: Any, **options: Any) -> Any:
        result = done_by(*words, **options)
        entered.set()
        assert go_on.wait(SOON)
        return result

    providers.use_provider(monkeypatch, providers.Says())
    monkeypatch.setattr(f"{module}.{name}", slowly)
    request = asyncio.create_task(stage.start())
    await asyncio.to_thread(entered.wait, SOON)
    assert stage.lock.exists()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    go_on.set()

    async def is_over() -> bool:
        return (
            not stage.lock.exists()
            and await run_in_db_thread(Run.objects.exists)
            and not run_executor._active_runs
        )

    await runs_eventually(is_over)
    assert (await run_in_db_thread(Run.objects.get)).state == "done"


async def test_failed_start_of_a_run_releases_the_lock(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    def breaks(*_args: Any, **_options: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("jpweb.store.runs.start_run", breaks)
        with pytest.raises(ZeroDivisionError):
            await stage.start()
    assert not stage.lock.exists()


async def test_failed_end_of_a_run_releases_the_lock(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    def breaks(*_args: Any) -> None:
        raise ZeroDivisionError

    providers.use_provider(monkeypatch, providers.Says())
    with monkeypatch.context() as patched:
        patched.setattr("jpweb.store.runs.end_run", breaks)
        run, task = await stage.start()
        await wait_for_task(task)
    assert not stage.lock.exists()
    assert (await run_in_db_thread(Run.objects.get, pk=run.pk)).state == "failed"


async def test_cancelled_run_releases_the_lock(stage: Attached, monkeypatch: pytest.MonkeyPatch):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    _, task = await stage.start()
    await provider.said_event.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait_for_task(task)
    assert not stage.lock.exists()


async def test_start_run_first_imports_events_that_jp_appended(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    before = len(stage.on_disk())
    stage.jp_adds(*ADDED)
    await stage.play_turn()
    elements = await stage.elements()
    assert [e.raw for e in elements[before : before + 4]] == [e.raw for e in ADDED]
    assert stage.events() == await stage.exported()
    row = await run_in_db_thread(Inquiry.objects.get)
    assert (row.inquiry_id, row.state, row.position) == ("c.q.1", "answered", before + 1)


async def test_start_run_refuses_diverged_copies_and_keeps_both(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    data, jp_raw = stage.events(), making.stream_file([make_element(ChatResponse("message", "No"))])
    for copy in stage.copies:
        (copy / "events.json").write_bytes(jp_raw)
    with pytest.raises(external_appends.CopiesDiverged):
        await stage.start()
    assert (await stage.exported(), stage.events()) == (data, jp_raw)
    assert "differs" in (await stage.row()).problem
    assert await run_in_db_thread(Run.objects.count) == 1
    assert not stage.lock.exists()


@pytest.mark.parametrize("error", [OSError(28, "It is full"), writer.FilesChanged("It is gone.")])
async def test_failure_to_write_files_is_recorded_and_the_run_continues(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    calls: list[None] = []

    def fail(*_args: Any) -> None:
        calls.append(None)
        raise error

    providers.use_provider(monkeypatch, providers.Says())
    with monkeypatch.context() as patched:
        patched.setattr(writer, "write_conversation", fail)
        assert (await stage.play_turn()).state == "done"
    problem = f"No longer saved to {stage.root}: {error}"
    assert (await stage.row()).problem == problem.rstrip(".")
    assert (len(calls), stage.copies, stage.lock.exists()) == (1, [], False)
    assert (await stage.play_turn()).state == "done"
    assert stage.events() == await stage.exported(), "the next run writes all of it"


async def test_start_run_is_refused_when_the_workspace_folder_is_missing(stage: Attached):
    stage.root.rename(stage.root.with_name("away"))
    with pytest.raises(NoWorkspace):
        await stage.start()
    assert await run_in_db_thread(Run.objects.count) == 0


async def test_a_silo_that_cannot_be_written_is_refused(stage: Attached):
    (stage.silo / "locks").write_text("no folder")
    with pytest.raises(StoreError, match="Can't use"):
        await stage.start()
    assert await run_in_db_thread(Run.objects.count) == 0


@pytest.mark.parametrize("form", FORMS)
async def test_written_file_reads_back_as_the_run_in_each_write_policy(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, form: WritePolicy
):
    await run_in_db_thread(stage.write, form)
    providers.use_provider(monkeypatch)
    _, task = await stage.start()
    for _ in range(3):
        await resolution.decline_inquiry((await stage.get_question()).pk, decider(stage.eve))
    await resolution.answer_inquiry(
        (await stage.get_question()).pk, "canary-9c", decider(stage.eve)
    )
    await wait_for_task(task)
    responses = [v for v in json.loads(stage.events()) if v["type"] == "inquiry_response"]
    older = form is WritePolicy.COMPATIBLE
    assert [v["outcome"] for v in responses] == ["cancelled"] * 3 + ["redacted"]
    assert [v.get("answer", "none") for v in responses] == [None if older else "none"] * 4
    assert bool(wire.find_incompatibilities(stage.on_disk())) is not older
    kinds = [e.kind for e in stage.on_disk() if isinstance(e.kind, InquiryRequest)]
    assert isinstance(kinds[-1].question.answer_type, Secret)
    assert [e.kind for e in stage.on_disk()] == [e.kind for e in await stage.elements()]
    assert b"canary-9c" not in stage.events()
    _, report = await run_in_db_thread(mirror.mirror_workspace, stage.root)
    assert (report.problems, report.changed_ids) == ([], [])
    await run_in_db_thread(stage.write, FORMS[1 - FORMS.index(form)])
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"
    assert (await stage.row()).problem == ""
    assert bool(wire.find_incompatibilities(stage.on_disk())) is older


@pytest.mark.django_db
def test_the_demo_is_refused():
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    assert not attachments.is_attachable(workspace)
    for form in FORMS:
        with pytest.raises(StoreError, match="read-only"):
            attachments.set_write_policy(workspace, form)
    attachments.set_write_policy(workspace, WritePolicy.OFF)
    assert Workspace.objects.get(pk=workspace.pk).writing == "off"


@pytest.mark.django_db
def test_workspace_without_files_cannot_be_attached_but_detached():
    workspace = making.workspace()
    with pytest.raises(NoWorkspace):
        attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    attachments.set_write_policy(workspace, WritePolicy.OFF)
