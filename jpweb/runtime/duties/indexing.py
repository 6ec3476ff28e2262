"""Indexes what changed, so that search finds it a moment later."""

from __future__ import annotations

from jpweb.runtime.crossing import in_background
from jpweb.store.finding import index


async def index_due() -> int:
    """Bring every conversation that changed up to date; returns how many looks that took.

    A stretch at a time: what changes meanwhile is newer, and comes first.
    """
    looks = 0
    while await in_background(index.step) is not None:
        looks += 1
    return looks
