"""A real process with a call that waits for a secret."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db import connections

from jpweb.store.models import Inquiry
from tests.machine.serving import ROOT

CHILD = """
import asyncio, hashlib, sys
import django
django.setup()
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.broadcast import channel_layer, local_bus
from jpweb.runtime.inquiries import resolution
from jpweb.store import inquiries

async def main(key):
    ready = asyncio.Event()
    local_bus.add_subscriber(
        local_bus.make_kind_topic(local_bus.RESYNC), lambda _: ready.set()
    )
    reader = asyncio.create_task(channel_layer.receive_signals())
    await ready.wait()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    given = await resolution.wait_for_secret(
        await run_in_db_thread(inquiries.get_inquiry, key)
    )
    print(hashlib.sha256(given.encode()).hexdigest(), flush=True)
    reader.cancel()

asyncio.run(main(int(sys.argv[1])))
"""


class Child:
    """A process of its own with a call that waits for a secret, once it is told to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def wait(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"wait\n")
        await self.process.stdin.drain()

    async def read_line(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().strip()

    async def logged(self) -> str:
        assert self.process.stderr is not None
        return (await asyncio.wait_for(self.process.stderr.read(), 30)).decode()


def database_url() -> str:
    """Return the address of the database that the test has."""
    params = connections["default"].settings_dict
    if connections["default"].vendor == "sqlite":
        return f"sqlite:///{params['NAME']}"
    account = f"{params['USER']}:{params['PASSWORD']}@{params['HOST']}:{params['PORT']}"
    return f"postgres://{account}/{params['NAME']}"


@asynccontextmanager
async def run_child(row: Inquiry, url: str, data: Path) -> AsyncIterator[Child]:
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
        "DATABASE_URL": database_url(),
        "REDIS_URL": url,
        "JPWEB_DATA": str(data),
        "JPWEB_SECRET_KEY": settings.SECRET_KEY,
        "JPWEB_LOG_LEVEL": "DEBUG",
    }
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(row.pk), cwd=ROOT, env=env,
        stdin=pipe, stdout=pipe, stderr=pipe,
    )  # fmt: skip
    try:
        running_child = Child(process)
        assert await running_child.read_line() == "ready", await running_child.logged()
        yield running_child
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
