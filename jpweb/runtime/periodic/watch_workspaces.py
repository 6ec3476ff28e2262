"""Watches the files of mirrored workspaces, so that pages follow a running ``jp``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path

from watchfiles import awatch

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.supervisor import run_periodically
from jpweb.runtime.tasks import cancel_and_wait
from jpweb.store import conversations
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import mirror
from jpweb.store.jp_files.mirror import MirrorReport

logger = logging.getLogger(__name__)

#: Seconds between two queries for new workspaces, and until one is followed again that could not
#: be watched.
WORKSPACE_POLL_SECONDS = 10.0
#: Milliseconds without a change after which changed files are mirrored (debounce).
QUIET_MS = 100
#: Milliseconds without a reported change after which all files are checked.
FULL_SCAN_INTERVAL_MS = 10_000


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
                    WORKSPACE_POLL_SECONDS,
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
    while folders := await run_in_background_thread(mirror.list_watched_folders, root):
        if not await _follow_folders(root, folders, on_report):
            return


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
                if await run_in_background_thread(mirror.list_watched_folders, root) != folders:
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
    """Mirror the changes of a workspace and publish them."""
    try:
        workspace, report = await run_in_background_thread(mirror.mirror_workspace, root)
    except StoreError as error:
        logger.warning("%s cannot be mirrored: %s", root, error)
        return
    if report.changed_ids or report.removed:
        on_report(report)
    removed_ids = (
        await run_in_background_thread(conversations.list_removed_ids, workspace.pk)
        if report.removed
        else []
    )
    for conversation_id in (*report.changed_ids, *removed_ids):
        await publisher.publish_conversation_changed(conversation_id)
