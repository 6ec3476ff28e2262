from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.machine.sizes import IS_PROOF
from tests.machine.suite.grouping import (
    GroupScheduling,
    arrange_items,
    choose_group,
    find_folder,
    find_group,
)


@pytest.mark.parametrize(
    ("node_id", "group"),
    [
        ("tests/web/test_people.py::test_a[x::y]", "tests/web/test_people.py"),
        ("tests/browser/browsing/test_lists.py::test_a", "tests/browser/browsing"),
    ],
    ids=["file", "package that shares a server"],
)
def test_find_group_groups_tests_by_expensive_fixtures(node_id: str, group: str):
    assert find_group(node_id) == group


def make_item(node_id: str, *fixtures: str) -> Any:
    return SimpleNamespace(nodeid=node_id, fixturenames=list(fixtures))


def test_arrange_items_puts_a_file_with_one_browser_test_last():
    items = [
        make_item("tests/browser/b.py::test_page", "browser"),
        make_item("tests/browser/b.py::test_loop"),
        make_item("tests/a.py::test_loop"),
        make_item("tests/chaos/test_c.py::test_kill"),
    ]
    arrange_items(items)
    assert [item.nodeid for item in items] == [
        "tests/chaos/test_c.py::test_kill",
        "tests/a.py::test_loop",
        "tests/browser/b.py::test_page",
        "tests/browser/b.py::test_loop",
    ]


def test_arrange_items_refuses_a_browser_in_an_unnamed_file():
    with pytest.raises(pytest.UsageError, match=r"tests/a\.py drives a browser"):
        arrange_items([make_item("tests/a.py::test_page", "browser")])


@pytest.mark.parametrize(
    ("groups", "is_browser_worker", "expected"),
    [
        (["tests/a.py", "tests/browser/b.py"], True, "tests/browser/b.py"),
        (["tests/browser/b.py", "tests/a.py"], False, "tests/a.py"),
        (["tests/browser/b.py"], False, "tests/browser/b.py"),
        (["tests/a.py"], True, None),
    ],
    ids=["browser worker", "other worker", "only browsers left", "no browser left"],
)
def test_choose_group_keeps_browsers_in_their_workers(
    groups: list[str], is_browser_worker: bool, expected: str | None
):
    assert choose_group(groups, is_browser_worker, set(), set()) == expected


READING, ASKING, NOTIFYING = (
    f"tests/browser/{name}/test_a.py" for name in ("reading", "asking", "notifying")
)


@pytest.mark.parametrize(
    ("own", "everybody", "expected"),
    [
        ([], [], READING),
        ([ASKING], [ASKING], ASKING),
        ([], [READING], ASKING),
        ([NOTIFYING], [READING, ASKING, NOTIFYING], NOTIFYING),
        ([], [READING, ASKING, NOTIFYING], READING),
    ],
    ids=["first", "own folder", "folder of nobody", "own of all", "no other left"],
)
def test_choose_group_prefers_the_folders_whose_server_a_worker_has(
    own: list[str], everybody: list[str], expected: str
):
    own_folders, all_folders = set(map(find_folder, own)), set(map(find_folder, everybody))
    groups = [READING, ASKING, NOTIFYING]
    assert choose_group(groups, bool(own), own_folders, all_folders) == expected


class FakeWorker:
    """A worker of xdist that notes what it is to run."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw")
        self.shutting_down = False
        self.groups: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.groups += [NODE_IDS[index].partition("::")[0] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


NODE_IDS = [
    "tests/browser/reading/test_a.py::test_a",
    *(f"tests/test_{letter}.py::test_{number}" for letter in "abcd" for number in range(3)),
]


def make_scheduling(*workers: FakeWorker) -> GroupScheduling:
    """Return a scheduling that has given its first groups to these workers."""
    config: Any = SimpleNamespace(
        getvalue=lambda name: [f"{len(workers)}*popen"],
        option=SimpleNamespace(loadscopereorder=False),
    )
    scheduling = GroupScheduling(config, None)
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        scheduling.add_node_collection(worker, NODE_IDS)
    scheduling.schedule()
    return scheduling


def test_workers_share_the_rest_after_the_browser_worker_has_ended():
    browser_worker, second, third = workers = [FakeWorker() for _ in range(3)]
    scheduling = make_scheduling(*workers)
    assert browser_worker.shutting_down
    scheduling.mark_test_complete(browser_worker, 0)
    scheduling.remove_node(browser_worker)
    for worker in (second, third):
        for node_id in NODE_IDS:
            if node_id.startswith(worker.groups[0]):
                scheduling.mark_test_complete(worker, NODE_IDS.index(node_id))
    assert [sorted(set(worker.groups)) for worker in workers] == [
        ["tests/browser/reading/test_a.py"],
        ["tests/test_a.py", "tests/test_c.py"],
        ["tests/test_b.py", "tests/test_d.py"],
    ]


def test_number_of_workers_without_affinity_follows_the_cores(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
):
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # macOS has none
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert conftest.pytest_xdist_auto_num_workers(pytestconfig) == (7 if IS_PROOF else 9)
