from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import connection

from jpweb.runtime.crossing import in_background, in_store

pytestmark = pytest.mark.django_db(transaction=True)


def _line() -> Any:
    connection.ensure_connection()
    return connection.connection


def _open() -> Any:
    return connection.connection


async def test_the_connection_that_all_share_is_kept():
    line = await in_store(_line)
    assert await in_store(_open) is line


async def test_in_background_keeps_the_connection_of_its_thread():
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    line = await in_background(_line)
    assert await in_background(_open) is line


async def test_one_that_failed_is_looked_at_again():
    line = await in_store(_line)

    def fail() -> None:
        connection.errors_occurred = True
        raise LookupError

    with pytest.raises(LookupError):
        await in_store(fail)
    assert await in_store(_open) is line, "a file is still there"


async def test_that_of_a_request_ends_with_what_it_was_for():
    async with ThreadSensitiveContext():
        assert await in_store(_line) is not None
        assert await in_store(_open) is None
