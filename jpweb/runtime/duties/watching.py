"""Follows the files of mirrored workspaces, so that a running ``jp`` is on the page at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch

from jpweb.runtime.crossing import in_background
from jpweb.runtime.signals import announce
from jpweb.store import conversations
from jpweb.store.disk import mirror
from jpweb.store.disk.mirror import Report
from jpweb.store.errors import StoreError

logger = logging.getLogger(__name__)

#: Milliseconds of quiet after which changed files are read.
QUIET = 100
#: Milliseconds between two looks at files that nothing was reported of.
LOOK = 10_000


def _log(report: Report) -> None:
    for line in report.problems:
        logger.warning("%s", line)


async def follow(root: Path, tell: Callable[[Report], None] = _log) -> None:
    """Mirror a workspace whenever its files change; ends when they can no longer be watched.

    ``tell`` gets the report of every pass that found something.
    """
    while folders := await in_background(mirror.watchable, root):
        if not await _follow_folders(root, folders, tell):
            return


async def _follow_folders(root: Path, folders: list[Path], tell: Callable[[Report], None]) -> bool:
    """Mirror while the folders are these; returns whether others are to be watched now.

    Each is watched by itself: a watch that descends follows links out of the workspace.
    """
    # A look now and then as well: what changed before the watch began, or was not reported.
    changes = awatch(
        *folders,
        step=QUIET // 2,
        debounce=QUIET * 4,
        rust_timeout=LOOK,
        yield_on_timeout=True,
        recursive=False,
    )
    async with aclosing(changes):
        upcoming = asyncio.ensure_future(anext(changes))
        try:
            await asyncio.sleep(0)  # the watch begins, so that nothing is missed meanwhile
            while True:
                await refresh(root, tell)
                if await in_background(mirror.watchable, root) != folders:
                    return True
                await upcoming
                upcoming = asyncio.ensure_future(anext(changes))
        except StopAsyncIteration:
            return False
        except OSError as error:
            logger.info("%s cannot be watched: %s", root, error)
            return False
        finally:
            upcoming.cancel()
            await asyncio.wait([upcoming])


async def refresh(root: Path, tell: Callable[[Report], None]) -> None:
    """Read what changed in a workspace and tell those who look at it."""
    try:
        home, report = await in_background(mirror.mirror, root)
    except StoreError as problem:
        logger.warning("%s cannot be mirrored: %s", root, problem)
        return
    if report.changed or report.gone:
        tell(report)
    gone = await in_background(conversations.gone, home.pk) if report.gone else []
    for conversation_id in (*report.changed, *gone):
        await announce.conversation(conversation_id)
