"""Which tests share a pytest-xdist worker, and in which order they run.

Tests of one file share its fixtures, so a file is a group; so is a package whose server is
expensive to start. The order keeps both workers busy to the end: what waits for other processes
runs beside what computes, and long groups come before short ones.
"""

from __future__ import annotations

import pytest

#: Packages whose tests share one server: their tests stay in one worker.
SHARED_PACKAGES = ("tests/browser/browsing", "tests/chaos")
#: Files whose tests take long, the longest first. They start before the others of their kind.
LONG_GROUPS = ("tests/chaos",)


def group_items(items: list[pytest.Item]) -> None:
    """Mark each test with the group that one worker runs."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(find_group(item.nodeid)))


def arrange_items(items: list[pytest.Item]) -> None:
    """Sort tests: long groups first, browsers last.

    Once Playwright runs in a thread, no other event loop can.
    """
    items.sort(key=_rank)


def find_group(node_id: str) -> str:
    """Return the group of a test: its package where that shares a server, else its file."""
    path = node_id.partition("::")[0]
    return next((package for package in SHARED_PACKAGES if path.startswith(f"{package}/")), path)


def uses_browser(item: pytest.Item) -> bool:
    """Tell whether a test drives a browser in its own thread."""
    return "browser" in getattr(item, "fixturenames", ())


def _rank(item: pytest.Item) -> tuple[bool, int]:
    group = find_group(item.nodeid)
    rank = LONG_GROUPS.index(group) if group in LONG_GROUPS else len(LONG_GROUPS)
    return uses_browser(item), rank
