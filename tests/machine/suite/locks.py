"""Detects a write lock left on the test database, before other tests wait for it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from asgiref.sync import SyncToAsync
from django.db import connections

#: Milliseconds that a statement already under way in another thread gets to finish.
LOCK_TIMEOUT_MS = 2_000


class LeftLock(AssertionError):
    """A test has ended and a connection of another thread is still in a transaction."""


def check_no_lock_left() -> None:
    """Raise LeftLock where a connection still locks the test database, and close that connection.

    Without it each later test waits 20 s for the lock and fails.
    """
    name = str(connections["default"].settings_dict["NAME"])
    if connections["default"].vendor != "sqlite" or not Path(name).is_file():
        return
    try:
        _take_write_lock(name)
    except sqlite3.OperationalError as error:
        _close_executor_connection()
        raise LeftLock(
            "A thread's connection is still in a transaction, probably that of a task that "
            f"outlived its event loop: {error}"
        ) from error


def _take_write_lock(name: str) -> None:
    connection = sqlite3.connect(name, timeout=LOCK_TIMEOUT_MS / 1000, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def _close_executor_connection() -> None:
    """Close the connection of asgiref's shared executor thread, which rolls it back."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result(LOCK_TIMEOUT_MS / 1000)
