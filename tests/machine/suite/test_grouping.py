from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.machine.suite.grouping import arrange_items, find_group


@pytest.mark.parametrize(
    ("node_id", "group"),
    [
        ("tests/web/test_list.py::test_a[x::y]", "tests/web/test_list.py"),
        ("tests/browser/browsing/test_lists.py::test_a", "tests/browser/browsing"),
    ],
    ids=["file", "package that shares a server"],
)
def test_find_group_returns_what_shares_expensive_fixtures(node_id: str, group: str):
    assert find_group(node_id) == group


def test_arrange_items_puts_a_file_with_one_browser_test_last():
    items: Any = [
        SimpleNamespace(nodeid="tests/b.py::test_page", fixturenames=["browser"]),
        SimpleNamespace(nodeid="tests/b.py::test_loop", fixturenames=[]),
        SimpleNamespace(nodeid="tests/a.py::test_loop", fixturenames=[]),
        SimpleNamespace(nodeid="tests/chaos/test_c.py::test_kill", fixturenames=[]),
    ]
    arrange_items(items)
    assert [item.nodeid for item in items] == [
        "tests/chaos/test_c.py::test_kill",
        "tests/a.py::test_loop",
        "tests/b.py::test_page",
        "tests/b.py::test_loop",
    ]


def test_number_of_workers_without_affinity_is_one_more_than_cores(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
):
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # macOS has none
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert conftest.pytest_xdist_auto_num_workers(pytestconfig) == 8
