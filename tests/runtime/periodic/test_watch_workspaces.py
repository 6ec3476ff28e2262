from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.periodic import watch_workspaces
from jpweb.store.choices import FilesState
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import mirror, pass_progress, reader
from jpweb.store.jp_files.mirror import MirrorReport
from jpweb.store.jp_files.pass_progress import FilesReport
from jpweb.store.jp_files.reader import ParsedConversation
from jpweb.store.jp_files.workspace import DiskConversation
from jpweb.store.maintenance import task_leases
from jpweb.store.models import Conversation, MirrorPass, Workspace
from jpweb.stream.events import ChatResponse
from tests.builders import stream
from tests.runtime.playing import SOON, cut_off, eventually, subscribe
from tests.store.making import write_folder

NAME = "17000000000-a-talk"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    write_folder(tmp_path / "repository", NAME, stream(ChatResponse("message", "One")))
    return tmp_path / "repository"


async def test_follow_workspace_publishes_events_that_jp_appends(root: Path):
    await run_in_db_thread(mirror.mirror_workspace, root)
    conversation = await run_in_db_thread(Conversation.objects.get)
    reports: list[MirrorReport] = []
    async with subscribe(publisher.make_conversation_topic(conversation.pk)) as reading:
        task = asyncio.create_task(watch_workspaces.follow_workspace(root, reports.append))
        words = (ChatResponse("message", "One"), ChatResponse("message", "Two"))

        def count_events() -> int:
            return sum(report.event_count for report in reports)

        async def has_grown() -> bool:
            write_folder(root, NAME, stream(*words))
            await asyncio.sleep(0.2)
            row = await run_in_db_thread(Conversation.objects.get)
            return row.entry_count == 2 and count_events() > 0

        await eventually(has_grown)
        assert await reading() == {"kind": "conversation"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert count_events() == 1


async def test_follow_watches_new_conversations_and_no_links(root: Path, tmp_path: Path):
    """A link that a watch followed would report what happens outside."""
    await run_in_db_thread(mirror.mirror_workspace, root)
    outside_folder = write_folder(
        tmp_path / "outside", NAME, stream(ChatResponse("message", "One"))
    )
    (root / ".jp" / "conversations" / "17000000001-linked").symlink_to(outside_folder)
    passes: list[MirrorReport] = []
    watched_paths: list[list[Path]] = []
    real = mirror.list_watched_folders

    def watchable(path: Path) -> list[Path]:
        watched_paths.append(real(path))
        return watched_paths[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mirror, "list_watched_folders", watchable)
        task = asyncio.create_task(watch_workspaces.follow_workspace(root, passes.append))
        try:
            await eventually_watched(watched_paths, 2)
            new = write_folder(root, "17000000002-new", stream(ChatResponse("message", "One")))
            await eventually_watched(watched_paths, 3)
        finally:
            task.cancel()
            await asyncio.wait([task])
    conversations = root / ".jp" / "conversations"
    assert watched_paths[0] == [conversations, conversations / NAME]
    assert watched_paths[-1] == [conversations, conversations / NAME, new]
    assert sum(report.event_count for report in passes) == 1


async def eventually_watched(watched_paths: list[list[Path]], count: int) -> None:
    async def enough() -> bool:
        await asyncio.sleep(0.05)
        return len({*map(tuple, watched_paths)}) >= count - 1 and len(watched_paths) >= count

    await eventually(enough)


async def test_follow_ends_where_the_system_has_no_more_watches(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    async def refuse(*paths: Path, **options: object) -> AsyncIterator[object]:
        if paths:
            raise OSError(28, "No space left on device")
        yield ()

    await run_in_db_thread(mirror.mirror_workspace, root)
    monkeypatch.setattr(watch_workspaces, "awatch", refuse)
    await asyncio.wait_for(watch_workspaces.follow_workspace(root), 20)


async def test_follow_workspace_of_a_folder_without_jp_returns(tmp_path: Path):
    await asyncio.wait_for(watch_workspaces.follow_workspace(tmp_path), 5)


async def test_unchanged_mirror_pass_publishes_nothing(root: Path):
    await run_in_db_thread(mirror.mirror_workspace, root)
    reports: list[MirrorReport] = []
    await watch_workspaces.mirror_changes(root, reports.append)
    assert reports == []


async def test_a_workspace_that_went_away_is_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    await watch_workspaces.mirror_changes(tmp_path / "away", lambda _report: None)
    assert "cannot be mirrored" in caplog.text


async def test_workspace_whose_jp_went_away_is_not_followed_as_the_one_above(root: Path):
    inner = root / "service"
    write_folder(inner, "17000000005-inner", stream(ChatResponse("message", "One")))
    await run_in_db_thread(mirror.mirror_workspace, inner)
    (inner / ".jp").rename(inner / "away")
    await watch_workspaces.mirror_changes(inner, lambda _report: None)
    roots = await run_in_db_thread(lambda: list(Workspace.objects.values_list("root", flat=True)))
    assert roots == [str(inner)]
    await asyncio.wait_for(watch_workspaces.follow_workspace(inner), 20)
    assert await run_in_db_thread(mirror.list_watched_folders, inner) == []


async def describe_files() -> FilesReport:
    def describe() -> FilesReport:
        (report,) = pass_progress.describe_files(Workspace.objects.all()).values()
        return report

    return await run_in_db_thread(describe)


async def test_a_long_pass_records_its_progress_and_its_end(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    """The record goes on while the pass reads one conversation."""
    await run_in_db_thread(mirror.mirror_workspace, root)
    for number in (1, 2):
        write_folder(root, f"1700000000{number}-new", stream(ChatResponse("message", "One")))
    reading_event, go_on_event = Event(), Event()
    real = reader.parse_conversation

    def parse_slowly(folder: DiskConversation, max_elements: int) -> ParsedConversation:
        if folder.folder.name.startswith("17000000002"):
            reading_event.set()
            assert go_on_event.wait(60)
        return real(folder, max_elements)

    monkeypatch.setattr(reader, "parse_conversation", parse_slowly)
    monkeypatch.setattr(watch_workspaces, "HEARTBEAT_SECONDS", 0.02)
    beats: set[datetime] = set()

    def list_beats() -> list[datetime]:
        return list(MirrorPass.objects.values_list("beat_at", flat=True))

    async def beat_twice() -> bool:
        if not reading_event.is_set():
            return False  # earlier records say that less was read
        beats.update(await run_in_db_thread(list_beats))
        return len(beats) > 2

    task = asyncio.create_task(watch_workspaces.mirror_changes(root, lambda _report: None))
    try:
        await eventually(beat_twice)
        assert await describe_files() == FilesReport(FilesState.READING, 2, 3)
    finally:
        go_on_event.set()
        await asyncio.wait_for(task, 60)
    assert await describe_files() == FilesReport(FilesState.FOLLOWED, 3, 3)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError(13, "Permission denied", "/srv/a"), "/srv/a: Permission denied."),
        (ZeroDivisionError(), "An unexpected error (ZeroDivisionError), which the server's log"),
    ],
    ids=["file", "bug"],
)
async def test_a_pass_that_fails_says_why_until_one_succeeds(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
):
    await run_in_db_thread(mirror.mirror_workspace, root)

    def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(mirror, "_read_folders", refuse)
        with pytest.raises(type(error)):
            await watch_workspaces.mirror_changes(root, lambda _report: None)
    report = await describe_files()
    assert report.state == FilesState.FAILED
    assert report.problem.startswith(sentence)
    await watch_workspaces.mirror_changes(root, lambda _report: None)
    assert (await describe_files()).state == FilesState.FOLLOWED


async def test_a_refused_folder_of_conversations_is_a_sentence_on_the_page(root: Path):
    await run_in_db_thread(mirror.mirror_workspace, root)
    conversations = root / ".jp" / "conversations"
    conversations.rename(root / "moved")
    conversations.symlink_to(root / "moved")
    await watch_workspaces.mirror_changes(root, lambda _report: None)
    failed = await describe_files()
    assert failed.state == FilesState.FAILED
    assert str(conversations) in failed.problem
    await asyncio.wait_for(watch_workspaces.follow_workspace(root), 20)
    assert await describe_files() == failed


async def test_passes_on_a_file_system_that_hangs_leave_threads_for_task_leases(
    monkeypatch: pytest.MonkeyPatch,
):
    thread_count, starts, go_on = 2, Semaphore(0), Event()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_count))

    def hang(_root: Path, **_options: object) -> None:
        starts.release()
        assert go_on.wait(SOON)
        raise StoreError("The test is over.")

    monkeypatch.setattr(mirror, "mirror_workspace", hang)
    monkeypatch.setattr(pass_progress, "record_progress", lambda *_: None)
    monkeypatch.setattr(pass_progress, "record_end", lambda *_: None)
    passes = [
        asyncio.create_task(watch_workspaces.mirror_changes(Path(f"/{n}"), lambda _report: None))
        for n in range(thread_count)
    ]
    try:
        for _ in passes:
            while not starts.acquire(blocking=False):  # noqa: ASYNC110  another thread releases it
                await asyncio.sleep(0.01)
        renewal = run_in_background_thread(task_leases.acquire_or_renew_all, ["expiry"], "me", 15)
        assert await asyncio.wait_for(renewal, SOON / 2) == {"expiry"}
    finally:
        go_on.set()
        await asyncio.gather(*passes)


async def test_problems_are_lines_in_the_log(root: Path, caplog: pytest.LogCaptureFixture):
    (root / ".jp" / "conversations" / NAME / "events.json").write_text("{")
    await watch_workspaces.mirror_changes(root, watch_workspaces._log_problems)
    assert f"{NAME}: events.json" in caplog.text


async def test_stopped_workspace_is_left_alone_and_catches_up_when_resumed(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    def set_followed(is_followed: bool) -> None:
        Workspace.objects.update(is_followed=is_followed)

    def count_conversations() -> int:
        return Conversation.objects.count()

    async def has_two() -> bool:
        await asyncio.sleep(0.05)
        return await run_in_db_thread(count_conversations) == 2

    await run_in_db_thread(mirror.mirror_workspace, root)
    monkeypatch.setattr(watch_workspaces, "WORKSPACE_POLL_SECONDS", 0.05)
    await run_in_db_thread(set_followed, False)
    passes: list[int] = []
    real = mirror.list_roots

    def listed() -> list[Path]:
        passes.append(len(real()))
        return real()

    monkeypatch.setattr(mirror, "list_roots", listed)
    task = asyncio.create_task(watch_workspaces.follow_workspaces())
    write_folder(root, "17000000002-new", stream(ChatResponse("message", "One")))
    await several(passes)
    assert not any(passes)
    assert await run_in_db_thread(count_conversations) == 1
    await run_in_db_thread(set_followed, True)
    await eventually(has_two)
    await cut_off(task)


async def several(passes: list[int]) -> None:
    """Return after three more passes."""
    until = len(passes) + 3

    async def has_reached() -> bool:
        return len(passes) >= until

    await eventually(has_reached)


async def broken(end_event: asyncio.Event) -> None:
    await end_event.wait()
    raise ZeroDivisionError("broken")


@pytest.fixture
def _polls_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_workspaces, "WORKSPACE_POLL_SECONDS", 0.01)
    monkeypatch.setattr(watch_workspaces, "RETRY_SECONDS", 0.01)


@pytest.mark.usefixtures("_polls_quickly")
async def test_the_files_of_each_workspace_are_followed_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    roots, end_event = [Path("/a"), Path("/b")], asyncio.Event()
    followed_roots, started_roots, passes = list[Path](), list[Path](), list[int]()

    async def follow(root: Path) -> None:
        started_roots.append(root)
        followed_roots.append(root)
        try:
            await broken(end_event)
        finally:
            followed_roots.remove(root)

    def follows_exactly(*expected: str) -> Any:
        async def is_followed() -> bool:
            return {str(root) for root in followed_roots} == set(expected)

        return is_followed

    def listed() -> list[Path]:
        passes.append(len(roots))
        return list(roots)

    monkeypatch.setattr(mirror, "list_roots", listed)
    monkeypatch.setattr(watch_workspaces, "follow_workspace", follow)
    task = asyncio.create_task(watch_workspaces.follow_workspaces())
    await eventually(follows_exactly("/a", "/b"))
    roots[:] = [Path("/b"), Path("/c")]
    await eventually(follows_exactly("/b", "/c"))
    await several(passes)
    assert sorted(map(str, started_roots)) == ["/a", "/b", "/c"]
    end_event.set()
    await eventually(follows_exactly())
    end_event.clear()
    await eventually(follows_exactly("/b", "/c"))
    assert "following /b failed" in caplog.text
    await cut_off(task)
    assert followed_roots == []
