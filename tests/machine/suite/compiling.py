"""Test files are compiled by one worker of pytest-xdist each, not by every worker."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path

import pytest

#: What importing a broken test file raises.
BROKEN_FILE_ERRORS = (
    ImportError,
    SyntaxError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
)


def compile_own_share(config: pytest.Config) -> None:
    """Import the test files, those first that other workers come to last.

    In a fresh clone pytest rewrites the assertions of every file and keeps the result beside it.
    Workers that begin at the same file do that at the same time, each for itself: 19 s of
    processor time a worker instead of 8.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    for module in begin_at_share(list_test_modules(config.rootpath), number, worker["workercount"]):
        with suppress(*BROKEN_FILE_ERRORS):  # collection meets the same error, and reports it
            importlib.import_module(module)


def begin_at_share(modules: list[str], number: int, count: int) -> list[str]:
    """Return all modules in a circle that begins at part ``number`` of ``count``."""
    start = len(modules) * number // count
    return modules[start:] + modules[:start]


def list_test_modules(root: Path) -> list[str]:
    """Return the names of the test files' modules, sorted."""
    return sorted(
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in (root / "tests").rglob("test_*.py")
    )
