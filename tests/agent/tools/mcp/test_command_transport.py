from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from anyio import EndOfStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from jpweb.agent.tools.mcp.command_transport import OutputEnd, run_command
from tests.agent.tools.local.commands import wait_until

#: Prints its process id, closes its input where it is told to, and ends when it is killed.
DEAF_SERVER = """
import os, sys, time
print(os.getpid(), file=sys.stderr, flush=True)
if sys.argv[1:]:
    os.close(0)
time.sleep(60)
"""
#: More than a pipe holds.
LARGE_REQUEST = SessionMessage(
    JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params={"name": "x" * 500_000})
)


def run_deaf_server(folder: Path, errors: OutputEnd, *arguments: str):
    command = [sys.executable, "-c", DEAF_SERVER, *arguments]
    return run_command(command, {}, folder, errors, pytest.fail)


async def test_messages_end_where_the_server_closes_its_input(tmp_path):
    errors = OutputEnd(100)
    async with asyncio.timeout(30), run_deaf_server(tmp_path, errors, "close") as streams:
        await streams[1].send(LARGE_REQUEST)
        with pytest.raises(EndOfStream):
            await streams[0].receive()


async def test_write_to_an_ended_server_logs_no_traceback(tmp_path, caplog):
    errors = OutputEnd(100)
    async with asyncio.timeout(30), run_deaf_server(tmp_path, errors) as streams:
        await streams[1].send(LARGE_REQUEST)
        await wait_until(lambda: errors.decode().endswith("\n"))
        os.kill(int(errors.decode()), signal.SIGKILL)
        with pytest.raises(EndOfStream):
            await streams[0].receive()
    gc.collect()
    assert caplog.text == ""
