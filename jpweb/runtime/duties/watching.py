"""Follows the files of mirrored workspaces, so that a running ``jp`` is on the page at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
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
    homes = await in_background(mirror.watchable, root)
    if not homes:
        return
    # A look now and then as well: what changed before the watch began, or was not reported.
    async for _ in awatch(
        *homes, step=QUIET // 2, debounce=QUIET * 4, rust_timeout=LOOK, yield_on_timeout=True
    ):
        await refresh(root, tell)


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
