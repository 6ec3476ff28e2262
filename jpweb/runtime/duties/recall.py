"""Brings back parked runs that wait for nothing any more, however that came about."""

from __future__ import annotations

from jpweb.runtime.crossing import in_background
from jpweb.runtime.signals import announce
from jpweb.store import runs


async def recall_stranded() -> int:
    """Queue the runs that nothing would wake; returns how many."""
    woken = await in_background(runs.recall)
    for key in woken:
        await announce.run(key)
    return len(woken)
