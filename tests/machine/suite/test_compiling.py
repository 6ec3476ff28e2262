from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.suite.compiling import begin_at_share, list_test_modules


@pytest.mark.parametrize(
    ("number", "expected"), [(0, ["a", "b", "c"]), (1, ["b", "c", "a"]), (2, ["c", "a", "b"])]
)
def test_begin_at_share_rotates_the_modules_of_a_worker(number: int, expected: list[str]) -> None:
    assert begin_at_share(["a", "b", "c"], number, 3) == expected


def test_list_test_modules_names_test_files_as_pytest_imports_them(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "web"
    folder.mkdir(parents=True)
    for name in ("test_page.py", "world.py"):
        (folder / name).touch()
    assert list_test_modules(tmp_path) == ["tests.web.test_page"]
