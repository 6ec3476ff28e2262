from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator

import pytest
from asgiref.sync import SyncToAsync
from django.db import connection, connections

from tests.machine.suite.locks import LeftLock, check_no_lock_left

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def interrupted_connection() -> Iterator[None]:
    """Leave the executor thread a connection that was interrupted before it had autocommit.

    pytest-django does that to a thread that connects between two tests.
    """

    def connect_and_write() -> None:
        connection = connections["default"]
        connection.connection = connection.get_new_connection(connection.get_connection_params())
        connection.connection.execute("CREATE TABLE left_open (n)")
        connection.connection.execute("INSERT INTO left_open VALUES (1)")

    SyncToAsync.single_thread_executor.submit(connect_and_write).result()
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS left_open")


def test_lock_of_an_interrupted_connection_is_reported_and_ended(interrupted_connection: None):
    with pytest.raises(LeftLock, match="database is locked"):
        check_no_lock_left()
    check_no_lock_left()


def test_lock_that_is_released_in_time_is_no_error():
    name = str(connections["default"].settings_dict["NAME"])
    second_connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
    second_connection.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.05, second_connection.close)
    release.start()
    check_no_lock_left()
    release.join()
