"""Runs the passes that a server makes in the background to their ends."""

from __future__ import annotations

from jpweb.store.search import indexer
from jpweb.store.suspected_secrets import scanner

MAX_STEPS = 100


def index_all() -> int:
    """Index all changed conversations; returns the number of steps."""
    steps = 0
    while indexer.index_next() is not None:
        steps += 1
        assert steps < MAX_STEPS
    return steps


def scan_all() -> int:
    """Search all new events for secrets; returns the number of steps."""
    steps = 0
    while scanner.scan_next() is not None:
        steps += 1
        assert steps < MAX_STEPS
    return steps
