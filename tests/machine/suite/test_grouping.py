from __future__ import annotations

import pytest

from tests.machine.suite.grouping import find_group


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
