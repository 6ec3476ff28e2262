from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import connection

from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread, thread_use
from tests.runtime.playing import SOON, wait_for_task

pytestmark = pytest.mark.django_db(transaction=True)


def _line() -> Any:
    connection.ensure_connection()
    return connection.connection


def _open() -> Any:
    return connection.connection


async def test_the_connection_that_all_share_is_kept():
    line = await run_in_db_thread(_line)
    assert await run_in_db_thread(_open) is line


async def test_background_thread_keeps_its_connection():
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    line = await run_in_background_thread(_line)
    assert await run_in_background_thread(_open) is line


async def test_failed_connection_is_checked_again():
    line = await run_in_db_thread(_line)

    def fail() -> None:
        connection.errors_occurred = True
        raise LookupError

    with pytest.raises(LookupError):
        await run_in_db_thread(fail)
    assert await run_in_db_thread(_open) is line, "a file is still there"


async def test_request_connection_is_kept_for_the_next_call():
    async with ThreadSensitiveContext():
        line = await run_in_db_thread(_line)
        assert await run_in_db_thread(_open) is line


async def test_wait_until_quiet_during_a_call_returns_after_it():
    gate = threading.Event()
    call = asyncio.create_task(run_in_db_thread(gate.wait, SOON))
    waiting = asyncio.create_task(thread_use.wait_until_quiet(SOON))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    await wait_for_task(waiting)
    assert call.done()


async def test_wait_until_quiet_gives_up_during_a_long_call():
    gate = threading.Event()
    call = asyncio.create_task(run_in_db_thread(gate.wait, SOON))
    await asyncio.sleep(0)
    await thread_use.wait_until_quiet(0.01)
    assert not call.done()
    gate.set()
    await call
