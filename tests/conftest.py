"""What every test gets: the machine's fixtures, a Hypothesis profile, a group, browsers last."""

from __future__ import annotations

import signal
from collections.abc import Generator

import pytest
from django.db import connections
from hypothesis import settings

from tests.machine.grouping import arrange_items, group_items
from tests.machine.locks import check_no_lock_left
from tests.machine.sizes import IS_PROOF

pytest_plugins = ["tests.machine.fixtures"]

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("proof", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("proof" if IS_PROOF else "quick")


# A shell ignores SIGINT for what it starts in the background, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put the test database into a file: one in memory locks without waiting between threads."""
    if connections["default"].vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        connections.databases["default"]["TEST"]["NAME"] = str(file)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Group tests for pytest-xdist before it reads the groups; arrange them after the shuffle."""
    group_items(items)
    yield
    arrange_items(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Fail the test that leaves a lock on the database, not all that come after it."""
    yield
    check_no_lock_left()
