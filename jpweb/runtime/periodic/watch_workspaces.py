"""Watches the files of mirrored workspaces, so that pages follow a running ``jp``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from watchfiles import awatch

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread, run_in_file_thread
from jpweb.runtime.supervisor import run_periodically
from jpweb.runtime.tasks import cancel_and_wait
from jpweb.store import conversations
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import mirror, pass_progress
from jpweb.store.jp_files.mirror import MirrorReport
from jpweb.store.jp_files.pass_progress import PassCounter

logger = logging.getLogger(__name__)

#: Seconds between two queries for workspaces that are new, or no longer followed.
WORKSPACE_POLL_SECONDS = 1.0
#: Seconds until a workspace is followed again that could not be watched.
RETRY_SECONDS = 10.0
#: Milliseconds without a change after which changed files are mirrored (debounce).
QUIET_MS = 100
#: Milliseconds without a reported change after which all files are checked.
FULL_SCAN_INTERVAL_MS = 10_000
#: Seconds between two records of the progress of a pass.
HEARTBEAT_SECONDS = 1.0


def _log_problems(report: MirrorReport) -> None:
    for line in report.problems:
        logger.warning("%s", line)


async def follow_workspaces() -> None:
    """Follow the files of every mirrored workspace, also of those added later."""
    tasks_by_root: dict[Path, asyncio.Task[None]] = {}
    try:
        while True:
            roots = await run_in_background_thread(mirror.list_roots)
            for removed_root in tasks_by_root.keys() - set(roots):
                await cancel_and_wait(tasks_by_root.pop(removed_root))
            for root in set(roots) - tasks_by_root.keys():
                coroutine = run_periodically(
                    f"following {root}",
                    partial(follow_workspace, root),
                    RETRY_SECONDS,
                    DATABASE_UNAVAILABLE,
                )
                tasks_by_root[root] = asyncio.create_task(coroutine)
            await asyncio.sleep(WORKSPACE_POLL_SECONDS)
    finally:
        await cancel_and_wait(*tasks_by_root.values())


async def follow_workspace(
    root: Path, on_report: Callable[[MirrorReport], None] = _log_problems
) -> None:
    """Mirror a workspace whenever its files change; end when they can no longer be watched.

    ``on_report`` gets the report of every pass that changed something.
    """
    while folders := await run_in_file_thread(mirror.list_watched_folders, root):
        if not await _follow_folders(root, folders, on_report):
            return
    await run_in_background_thread(pass_progress.record_unwatched, root)


async def _follow_folders(
    root: Path, folders: list[Path], on_report: Callable[[MirrorReport], None]
) -> bool:
    """Mirror while these folders exist; return whether the set of folders has changed.

    Each folder is watched by itself: a recursive watch follows links out of the workspace.
    """
    # Also yields on timeout, for changes before the watch began and for lost reports.
    changes = awatch(
        *folders,
        step=QUIET_MS // 2,
        debounce=QUIET_MS * 4,
        rust_timeout=FULL_SCAN_INTERVAL_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    async with aclosing(changes):
        next_change = asyncio.ensure_future(anext(changes))
        try:
            await asyncio.sleep(0)  # start watching before the first pass reads the files
            while True:
                await mirror_changes(root, on_report)
                if await run_in_file_thread(mirror.list_watched_folders, root) != folders:
                    return True
                await next_change
                next_change = asyncio.ensure_future(anext(changes))
        except StopAsyncIteration:
            return False
        except OSError as error:
            logger.info("%s cannot be watched: %s", root, error)
            return False
        finally:
            next_change.cancel()
            await asyncio.wait([next_change])


async def mirror_changes(root: Path, on_report: Callable[[MirrorReport], None]) -> None:
    """Mirror the changes of a workspace and publish them; record the progress and the result."""
    counter = PassCounter()
    async with _record_heartbeats(root, counter):
        (result,) = await asyncio.gather(
            run_in_file_thread(
                mirror.mirror_workspace, root, progress=counter.set_counts, is_root=True
            ),
            return_exceptions=True,
        )
    if isinstance(result, BaseException):
        await _record_error(root, counter, result)
        return
    workspace, report = result
    await run_in_background_thread(pass_progress.record_end, root, counter, notes=report.notes)
    if report.changed_ids or report.removed:
        on_report(report)
    removed_ids = (
        await run_in_background_thread(conversations.list_removed_ids, workspace.pk)
        if report.removed
        else []
    )
    for conversation_id in (*report.changed_ids, *removed_ids):
        await publisher.publish_conversation_changed(conversation_id)


@asynccontextmanager
async def _record_heartbeats(root: Path, counter: PassCounter) -> AsyncIterator[None]:
    """Record the progress of the pass in the block about once a second; a short one has none.

    Another thread writes it than the pass, which may read one conversation for minutes.
    """
    end_event = asyncio.Event()

    async def record_until_end() -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(end_event.wait(), HEARTBEAT_SECONDS)
                return
            with suppress(*DATABASE_UNAVAILABLE):
                await run_in_background_thread(pass_progress.record_progress, root, counter)

    recording = asyncio.create_task(record_until_end())
    try:
        yield
    finally:
        end_event.set()
        await recording


async def _record_error(root: Path, counter: PassCounter, error: BaseException) -> None:
    """Record the error that ended a pass, and raise it unless it is one of the files."""
    if isinstance(error, DATABASE_UNAVAILABLE):
        raise error  # nothing can be recorded; run_periodically begins the pass again
    if isinstance(error, StoreError):
        logger.warning("%s cannot be mirrored: %s", root, error)
        problem = str(error)
    elif isinstance(error, OSError) and error.filename:
        problem = f"{error.filename}: {error.strerror}"
    else:
        problem = f"An unexpected error ({type(error).__name__}), which the server's log describes."
    await run_in_background_thread(pass_progress.record_end, root, counter, problem)
    if not isinstance(error, StoreError):
        raise error
