"""What every test gets: the machine's fixtures, a Hypothesis profile, a place in the order."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.db import connections
from hypothesis import settings, strategies
from xdist import plugin as xdist_plugin

from jpweb.cli import gc_tuning
from tests.machine.sizes import IS_PROOF
from tests.machine.suite.compiling import compile_own_share
from tests.machine.suite.grouping import arrange_items, make_scheduler
from tests.machine.suite.locks import check_no_lock_left
from tests.machine.suite.patches import compile_under_patches
from tests.machine.suite.shortcuts import (
    begin_one_session,
    empty_filled_tables,
    remember_versions,
    reuse_static_files,
    skip_permissions,
    store_page_contexts,
)
from tests.machine.templates import (
    begin_migrated_sqlite,
    copy_migrated_sqlite,
    remove_templates,
    share_templates,
)

pytest_plugins = ["tests.machine.fixtures"]

settings.register_profile("quick", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("proof", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("proof" if IS_PROOF else "quick")


# Containers often forbid bytecode. Without it each server compiles 300 modules of ours, and every
# process of pytest rewrites all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The configuration of whoever runs the tests stays out of them.
os.environ["JP_GLOBAL_CONFIG_DIR"] = f"{os.devnull}/jp"
for variable in [name for name in os.environ if name.startswith("JP_CFG_")]:
    del os.environ[variable]

# As in a server; at Python's default, collecting took a tenth of the time.
gc_tuning.collect_rarely()

# All workers of xdist copy the same templates.
share_templates()

# A shell ignores SIGINT for what it starts in the background, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put the test database into a file: one in memory locks without waiting between threads.

    On PostgreSQL, let many threads wait for each other on a slow machine.
    """
    database = connections.databases["default"]
    if connections["default"].vendor == "sqlite":
        folder, name = tmp_path_factory.mktemp("database"), "test.sqlite3"
        copy_migrated_sqlite(folder, name)
        database["TEST"]["NAME"] = str(folder / name)
    else:
        database["OPTIONS"]["pool"]["timeout"] = 60


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Migrate the copy of the template, which has all migrations, instead of an empty database.

    Under ``--reuse-db`` the copy is PostgreSQL's, and a session that ends late may not be in it.
    """
    return connections["default"].vendor == "sqlite" or request.config.getoption("reuse_db")


@pytest.fixture(scope="session", autouse=True)
def shortcuts(django_test_environment: None) -> Iterator[None]:
    """Share between tests what Django's test tools repeat for each."""
    skip_permissions()
    with pytest.MonkeyPatch.context() as patch:
        reuse_static_files(patch)
        remember_versions(patch)
        begin_one_session(patch)
        store_page_contexts(patch)
        empty_filled_tables(patch)
        yield


@pytest.fixture
def monkeypatch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Patch for one test, also what compiled queries would keep."""
    compile_under_patches(monkeypatch)
    return monkeypatch


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return two workers more than there are cores, whom tests that wait leave idle.

    With three more, what each starts for itself took 55 s of 1,060 s of processor time: 609 s
    instead of 586. Under ``make proof`` tests compute, in coverage and a full browser.
    """
    return int(xdist_plugin.pytest_xdist_auto_num_workers(config)) + (0 if IS_PROOF else 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Migrate while workers collect: each waits for that database before its first test.

    Hypothesis, too, finds once for all of them which characters UTF-8 has: it takes 1.7 s.
    """
    begin_migrated_sqlite()
    threading.Thread(target=strategies.text().validate).start()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole groups of tests to workers."""
    return make_scheduler(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Share the work of compiling between workers."""
    compile_own_share(session.config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Arrange tests after the shuffle."""
    arrange_items(items)


def pytest_collection_finish() -> None:
    """Set what was collected aside: looking through it again and again took 6 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Fail the test that leaves a lock on the database, not all that come after it."""
    yield
    check_no_lock_left()


def pytest_unconfigure() -> None:
    """Leave no template behind."""
    remove_templates()
