"""Which tests share a pytest-xdist worker, and in which order they run.

Tests of one file share its fixtures, so a file is a group; so is a package whose server is
expensive to start. Long groups start first, so that no worker is alone with one at the end.
Once Playwright runs in a worker's thread no other event loop can, so a worker that has begun with
groups that drive a browser stays with them. The first worker begins with them at once: they need
the processor, and most others wait for something. Groups of a folder share a server, which each
worker starts for itself: a worker prefers the folders that it has, then those that nobody has.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Packages whose tests share one server, or what they have parsed: they stay in one worker.
SHARED_PACKAGES = (
    "tests/architecture",
    "tests/browser/browsing",
    "tests/browser/reading/live",
    "tests/browser/workshop",
    "tests/chaos",
)
#: Files outside ``tests/browser`` that drive one.
BROWSER_FILES = frozenset({"tests/machine/test_browsing.py"})
#: Groups that take longest, the longest first; they start before the others of their kind.
LONG_GROUPS = (
    "tests/chaos",
    "tests/load/test_benchmarks.py",
    "tests/security/test_hostile_workspace.py",
    "tests/store/postgresql/test_core.py",
    "tests/web/test_access.py",
    "tests/cli/test_backup.py",
    "tests/architecture",
    "tests/cli/test_serve.py",
    "tests/installing/test_upgrade.py",
    "tests/cli/test_gc_tuning.py",
    "tests/installing/test_reinstalling.py",
    "tests/browser/workshop",
    "tests/browser/reading/test_accessibility.py",
    "tests/browser/browsing",
    "tests/browser/reading/test_keys.py",
    "tests/browser/asking/test_reconnecting.py",
    "tests/browser/asking/test_canary.py",
    "tests/browser/reading/test_windows.py",
)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Gives whole groups to workers, in the order of the tests.

    xdist's own ``loadgroup`` writes the group into ``item._nodeid``, which pytest 9.2 ignores.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        #: The folders of tests that drive a browser, by the worker that has begun with them.
        self._folders_by_worker: dict[Any, set[str]] = {}
        #: The worker that begins with them. Once it has ended, no other is the first.
        self._first_worker: Any = None

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if self._first_worker is None and len(self.nodes) > 1:
            self._first_worker = self.nodes[0]
        group = choose_group(
            list(self.workqueue),
            node is self._first_worker or node in self._folders_by_worker,
            self._folders_by_worker.get(node, set()),
            set().union(*self._folders_by_worker.values()),
        )
        if group is None:
            node.shutdown()
            return
        if drives_browser(group):
            self._folders_by_worker.setdefault(node, set()).add(find_folder(group))
        self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)


def choose_group(
    groups: list[str], is_browser_worker: bool, own_folders: Set[str], all_folders: Set[str]
) -> str | None:
    """Return the next group for a worker, or None where those that are left suit others alone.

    ``own_folders`` are those of the browser groups that it has had, ``all_folders`` of anyone.
    """
    suited = [group for group in groups if drives_browser(group) == is_browser_worker]
    if not suited and not is_browser_worker:
        suited = groups

    def rank(group: str) -> tuple[bool, bool]:
        folder = find_folder(group)
        return drives_browser(group) and folder not in own_folders, folder in all_folders

    return min(suited, key=rank, default=None)


def arrange_items(items: list[pytest.Item]) -> None:
    """Sort groups: long ones first, those that drive a browser last.

    Raises UsageError where a group drives one that is not known to.
    """
    for group in {find_group(item.nodeid) for item in items if uses_browser(item)}:
        if not drives_browser(group):
            raise pytest.UsageError(f"{group} drives a browser: name it in BROWSER_FILES")

    def rank(item: pytest.Item) -> tuple[bool, int]:
        group = find_group(item.nodeid)
        place = LONG_GROUPS.index(group) if group in LONG_GROUPS else len(LONG_GROUPS)
        return drives_browser(group), place

    items.sort(key=rank)


def find_group(node_id: str) -> str:
    """Return the group of a test: its package where that shares a server, else its file."""
    path = node_id.partition("::")[0]
    return next((package for package in SHARED_PACKAGES if path.startswith(f"{package}/")), path)


def find_folder(group: str) -> str:
    """Return the folder below ``tests/browser`` whose tests share a server with the group's."""
    return "/".join(group.split("/")[:3])


def drives_browser(group: str) -> bool:
    """Tell whether a group drives a browser, so that its worker runs no other groups later."""
    return group.startswith("tests/browser/") or group in BROWSER_FILES


def uses_browser(item: pytest.Item) -> bool:
    """Tell whether a test drives a browser in its own thread."""
    return "browser" in getattr(item, "fixturenames", ())


def make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Return the scheduler for ``pytest_xdist_make_scheduler``."""
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)
