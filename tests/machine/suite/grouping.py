"""Which tests share a pytest-xdist worker, and in which order they run.

Tests of one file share its fixtures, so a file is a group; so is a package whose server is
expensive to start. Long groups start first, so that no worker is alone with one at the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Packages whose tests share one server: their tests stay in one worker.
SHARED_PACKAGES = (
    "tests/browser/browsing",
    "tests/browser/reading/live",
    "tests/browser/workshop",
    "tests/chaos",
)
#: Groups that take longest, the longest first; they start before the others of their kind.
LONG_GROUPS = (
    "tests/chaos",
    "tests/browser/workshop",
    "tests/browser/reading/test_windows.py",
    "tests/browser/reading/test_accessibility.py",
    "tests/browser/asking/test_canary.py",
    "tests/browser/browsing",
    "tests/browser/asking/test_reconnecting.py",
)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Gives whole groups to workers, in the order of the tests.

    xdist's own ``loadgroup`` writes the group into ``item._nodeid``, which pytest 9.2 ignores.
    """

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)


def arrange_items(items: list[pytest.Item]) -> None:
    """Sort groups: long ones first, those that use a browser last.

    Once Playwright runs in a thread, no other event loop can.
    """
    browser_groups = {find_group(item.nodeid) for item in items if uses_browser(item)}

    def rank(item: pytest.Item) -> tuple[bool, int]:
        group = find_group(item.nodeid)
        place = LONG_GROUPS.index(group) if group in LONG_GROUPS else len(LONG_GROUPS)
        return group in browser_groups, place

    items.sort(key=rank)


def find_group(node_id: str) -> str:
    """Return the group of a test: its package where that shares a server, else its file."""
    path = node_id.partition("::")[0]
    return next((package for package in SHARED_PACKAGES if path.startswith(f"{package}/")), path)


def uses_browser(item: pytest.Item) -> bool:
    """Tell whether a test drives a browser in its own thread."""
    return "browser" in getattr(item, "fixturenames", ())


def make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Return the scheduler for ``pytest_xdist_make_scheduler``."""
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)
