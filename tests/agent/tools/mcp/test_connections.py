from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from jpweb import data_folder
from jpweb.agent.config import McpServer, ToolConfig
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.mcp import CallLimits, connect_servers, server_connection
from jpweb.agent.tools.mcp.client import McpSession
from jpweb.agent.tools.mcp.elicitation import Elicitation
from tests.agent.tools.local.commands import has_ended, wait_until
from tests.agent.tools.mcp.serving import (
    OLDER,
    SERVER,
    call_tool,
    make_stdio_server,
    make_tool_config,
    over_http,
    refuse_question,
)
from tests.agent.tools.mcp.stalling import serve_stalling
from tests.machine.sizes import mark_proof


async def test_a_server_that_is_a_command_lists_its_tools_and_is_called(tmp_path):
    async with connect_servers([make_stdio_server(file=SERVER)], tmp_path) as connections:
        assert connections.unavailable == {}
        config = connections.make_tool_config(make_tool_config("add"))
        assert config.model_description == "Adds."
        assert config.parameters["properties"]["b"]["default"] == 2
        assert await call_tool(connections, "add", {"a": 1}) == Success("3")


async def test_a_server_that_is_an_address_is_called_with_its_headers(tmp_path, http_url):
    server = McpServer("probe", url=http_url, headers={"X-Probe": "1"})
    async with connect_servers([server], tmp_path) as connections:
        assert await call_tool(connections, "add", {"a": 1, "b": 5}) == Success("6")


async def test_a_server_gets_the_variables_that_are_named_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setenv("NAMED", "n")
    monkeypatch.setenv("JPWEB_SECRET_KEY", "k")
    server = make_stdio_server(variables=("NAMED", "ABSENT"))
    async with connect_servers([server], tmp_path) as connections:
        assert await call_tool(connections, "settings", {"name": "NAMED"}) == Success("n")
        assert await call_tool(connections, "settings", {"name": "ABSENT"}) == Success("unset")
        assert await call_tool(connections, "settings", {"name": "JPWEB_SECRET_KEY"}) == Success(
            "unset"
        )
        assert await call_tool(connections, "settings", {"name": "PATH"}) != Success("unset")


async def test_server_that_is_a_command_has_the_umask_of_its_user(tmp_path, monkeypatch):
    monkeypatch.setattr(data_folder, "USER_UMASK", 0o027)
    async with connect_servers([make_stdio_server()], tmp_path) as connections:
        assert await call_tool(connections, "umask", {}) == Success("0027")


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (McpServer("bad"), "there is no program in its configuration"),
        (McpServer("bad", "no-such-program"), "there is no program no-such-program"),
        (make_stdio_server("broken", name="bad"), "it ended, or the connection to it was lost"),
        (McpServer("bad", url="http://127.0.0.1:9/mcp"), "its address can't be reached"),
        (
            make_stdio_server("{folder}", "1999-01-01", file=OLDER, name="bad"),
            "its reply doesn't follow the protocol",
        ),
        (make_stdio_server(name="bad", checksum="0" * 64), "allows only 0000000000000000"),
        (make_stdio_server(name="bad", checksum="0" * 40), "the SHA-1 of "),
        *mark_proof(
            (McpServer("bad", "./no/such"), "there is no program ./no/such"),
            (McpServer("bad", url="http://[/mcp"), "its address can't be reached"),
            (McpServer("bad", url="ftp://127.0.0.1/"), "its address can't be reached"),
            (McpServer("bad", "/"), "there is no program /"),
        ),
    ],
)
async def test_a_server_that_does_not_start_makes_its_own_tools_unavailable(
    tmp_path, server, message
):
    server = replace(server, arguments=tuple(a.format(folder=tmp_path) for a in server.arguments))
    async with connect_servers([server, make_stdio_server()], tmp_path) as connections:
        assert message in connections.unavailable["bad"]
        with pytest.raises(ToolUnavailable, match="the MCP server bad is not available: "):
            connections.make_tool(make_tool_config("add", "bad"))
        assert await call_tool(connections, "add", {"a": 1}) == Success("3")


async def test_a_server_that_does_not_answer_in_time_is_unavailable(tmp_path):
    server = make_stdio_server("silent", name="bad")
    async with connect_servers([replace(server, start_seconds=0.5)], tmp_path) as connections:
        assert connections.unavailable == {"bad": "it did not answer within 0.5 seconds"}


COMPLAINING = """
import os, sys
sys.stderr.write("x" * int(sys.argv[1]) + f" refused: {os.environ['TOKEN']}; " + "y" * 70 + chr(10))
"""


FLOODING = """
import sys, time
from pathlib import Path
sys.stderr.write("x" * 10_000_000 + " the end")
sys.stderr.flush()
Path("flooded").touch()
while not Path("seen").exists():
    time.sleep(0.01)
"""


def list_unnamed_sizes() -> list[int]:
    """Return the bytes of each deleted file that this process holds open."""
    files = [path for path in Path("/proc/self/fd").iterdir() if path.is_file()]
    return [path.stat().st_size for path in files if str(path.readlink()).endswith("(deleted)")]


async def test_server_stderr_is_kept_in_no_file_but_for_its_end(tmp_path, caplog):
    server = McpServer("bad", sys.executable, ("-c", FLOODING))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:

        async def connect() -> None:
            async with connect_servers([server], tmp_path):
                pass

        group.create_task(connect())
        await wait_until((tmp_path / "flooded").exists)
        assert max(list_unnamed_sizes(), default=0) < 1_000_000
        (tmp_path / "seen").touch()
    assert caplog.text.rstrip().endswith("xxx the end")


@pytest.mark.parametrize("before", [0, 65470, *mark_proof(65400, 65460, 65480, 100_000)])
async def test_server_stderr_is_only_logged_and_its_keys_are_redacted(
    tmp_path, monkeypatch, caplog, before
):
    monkeypatch.setenv("TOKEN", "ghp_0123456789abcdef")
    server = McpServer(
        "bad", sys.executable, ("-c", COMPLAINING, str(before)), variables=("TOKEN",)
    )
    async with connect_servers([server], tmp_path) as connections:
        (problem,) = connections.unavailable.values()
    assert problem == "it ended, or the connection to it was lost"
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    message = record.getMessage()
    assert message.startswith("MCP server bad is not available: it ended")
    assert message.endswith("[redacted]; " + "y" * 70)
    assert "cdef" not in caplog.text


@pytest.mark.parametrize("value", ["Bearer CANARÄ", "Bearer CANA\nRY", "CANA\0RY"])
async def test_a_header_that_cannot_be_sent_is_named_and_not_shown(tmp_path, caplog, value):
    server = McpServer("bad", url="http://127.0.0.1:9/mcp", headers={"X-Key": value})
    async with connect_servers([server], tmp_path) as connections:
        assert connections.unavailable == {
            "bad": "its header 'X-Key' contains characters that can't be sent"
        }
    assert "CANA" not in caplog.text


async def test_the_name_of_a_header_is_checked_as_well(tmp_path):
    server = McpServer("bad", url="http://127.0.0.1:9/mcp", headers={"X Key": "1"})
    async with connect_servers([server], tmp_path) as connections:
        assert "its header 'X Key'" in connections.unavailable["bad"]


async def test_space_around_a_header_is_not_sent(tmp_path, http_url):
    server = McpServer("probe", url=http_url, headers={"X-Probe": " 1\n", "X-Empty": ""})
    async with connect_servers([server], tmp_path) as connections:
        assert await call_tool(connections, "add", {"a": 1}) == Success("3")


async def test_a_program_that_cannot_be_run_says_why(tmp_path):
    server = McpServer("bad", sys.executable, (SERVER,))
    async with connect_servers([server], tmp_path / "away") as connections:
        assert connections.unavailable == {"bad": "it can't be reached: No such file or directory"}


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
async def test_a_program_with_the_right_checksum_is_started_from_the_workspace(tmp_path, algorithm):
    program = tmp_path / "start"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o700)
    checksum = hashlib.new(algorithm, program.read_bytes()).hexdigest().upper()
    server = McpServer("probe", "./start", make_stdio_server().arguments, checksum=checksum)
    async with connect_servers([server], tmp_path) as connections:
        assert connections.unavailable == {}


@pytest.mark.parametrize(
    ("tool", "pattern"),
    [
        (make_tool_config("add", "other"), "no MCP server other is configured"),
        (make_tool_config("none"), "the MCP server probe has no tool none"),
        (ToolConfig("own", "", {}), "own is not a tool of an MCP server"),
    ],
)
async def test_a_tool_that_no_server_offers_is_unavailable(tmp_path, tool, pattern):
    async with connect_servers([make_stdio_server()], tmp_path) as connections:
        with pytest.raises(ToolUnavailable, match=pattern):
            connections.make_tool_config(tool)


async def test_the_listing_is_read_page_by_page(tmp_path):
    server = make_stdio_server(str(tmp_path), file=OLDER)
    async with connect_servers([server], tmp_path) as connections:
        assert connections.make_tool_config(make_tool_config("hang")).parameters["properties"] == {}


@pytest.mark.parametrize("is_address", [False, True], ids=["command", "address"])
async def test_servers_end_with_the_block_and_calls_then_fail(tmp_path, http_url, is_address):
    command = make_stdio_server(variables=("X",))
    server = McpServer("probe", url=http_url) if is_address else command
    async with connect_servers([server], tmp_path) as connections:
        tool = connections.make_tool(make_tool_config("add"))
    outcome = await tool.execute({"a": 1}, {}, None)  # type: ignore[arg-type]  # it asks nothing
    assert outcome == Failed(
        "The call to the MCP server probe failed: it is no longer connected; "
        "the next turn connects it again"
    )


async def test_a_server_that_ends_in_the_middle_fails_its_calls_alone(tmp_path):
    async with connect_servers(
        [make_stdio_server(), make_stdio_server(name="other")], tmp_path
    ) as connections:
        for _ in range(2):
            outcome = await call_tool(connections, "end")
            assert isinstance(outcome, Failed)
            assert outcome.message.startswith("The call to the MCP server probe failed: ")
        other_tool = connections.make_tool(make_tool_config("add", "other"))
        assert await other_tool.execute({"a": 1}, {}, None) == Success("3")  # type: ignore[arg-type]  # it asks nothing


async def test_an_address_that_ends_in_the_middle_fails_its_calls(tmp_path, caplog):
    with over_http() as url:
        async with connect_servers([McpServer("probe", url=url)], tmp_path) as connections:
            for _ in range(2):
                assert isinstance(await call_tool(connections, "end"), Failed)
            assert await call_tool(connections, "end") == Failed(
                "The call to the MCP server probe failed: its address can't be reached"
            )
    assert len(caplog.records) == 3  # the loss, and two attempts to connect


LOST = Failed("The call to the MCP server probe failed: it ended, or the connection to it was lost")


async def test_an_address_that_loses_a_call_is_connected_again_for_the_next_ones(tmp_path, caplog):
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            server.dropped.add("tools/call")
            assert await call_tool(connections, "add", {"size": 1}) == LOST
            calls = (call_tool(connections, "add", {"size": size}) for size in (1, 2))
            assert await asyncio.gather(*calls) == [Success("x"), Success("xx")]
    assert server.methods.count("initialize") == 2
    assert "MCP server probe is not available: its address can't be reached" in caplog.text


async def test_address_that_forgot_its_session_gets_another_for_the_next_call(tmp_path):
    async with serve_stalling() as server, asyncio.timeout(20):
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            server.has_restarted = True
            assert await call_tool(connections, "add", {"size": 1}) == Failed(
                "The call to the MCP server probe failed: Session terminated"
            )
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")
    assert server.methods.count("initialize") == 2


async def test_address_that_is_away_fails_calls_until_it_can_be_connected_again(tmp_path):
    async with serve_stalling() as server, asyncio.timeout(20):
        config = McpServer("probe", url=server.url, start_seconds=0.5)
        async with connect_servers([config], tmp_path) as connections:
            server.dropped.add("tools/call")
            assert await call_tool(connections, "add", {"size": 1}) == LOST
            server.stalled.add("initialize")
            assert await call_tool(connections, "add", {"size": 1}) == Failed(
                "The call to the MCP server probe failed: it did not answer within 0.5 seconds"
            )
            server.stalled.remove("initialize")
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")


async def test_call_cancelled_while_connecting_leaves_the_next_one_to_connect(tmp_path):
    async with serve_stalling() as server, asyncio.timeout(20):
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            server.dropped.add("tools/call")
            assert await call_tool(connections, "add", {"size": 1}) == LOST
            server.stalled.add("initialize")
            call = asyncio.create_task(call_tool(connections, "add", {"size": 1}))
            while server.methods[-1] != "initialize":  # noqa: ASYNC110  the server has no event
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            server.stalled.remove("initialize")
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")


async def test_result_of_two_mebibytes_arrives_and_a_longer_one_is_refused(tmp_path):
    async with serve_stalling() as answering:
        server = McpServer("probe", url=answering.url)
        async with connect_servers([server], tmp_path) as connections:
            outcome = await call_tool(connections, "add", {"size": 2**21})
            assert isinstance(outcome, Success), outcome
            assert len(outcome.content) == 2**21
            outcome = await call_tool(connections, "add", {"size": 2**22 + 1})
            assert isinstance(outcome, Failed)
            assert "longer than 4194304 characters" in outcome.message


@pytest.mark.parametrize(
    "stalled",
    [("DELETE",), ("tools/call", "notifications/cancelled", "DELETE")],
    ids=["at its end", "since the call"],
)
async def test_close_does_not_wait_for_a_server_that_ignores_session_end(tmp_path, stalled):
    async with serve_stalling(*stalled) as server, asyncio.timeout(None) as limit:
        async with connect_servers(
            [McpServer("probe", url=server.url)], tmp_path, limits=CallLimits(seconds=0.1)
        ) as connections:
            await call_tool(connections, "add")
            limit.reschedule(asyncio.get_running_loop().time() + 20)
        assert "DELETE" in server.methods  # a GET of its session may come last


async def test_server_that_lists_no_tools_in_time_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setattr(server_connection, "_SESSION_END_SECONDS", 0.1)
    async with serve_stalling("tools/list", "DELETE") as server, asyncio.timeout(20):
        config = McpServer("bad", url=server.url, start_seconds=2.0)
        async with connect_servers([config], tmp_path) as connections:
            assert connections.unavailable == {"bad": "it did not answer within 2 seconds"}


@pytest.mark.parametrize("argument", ["stdio", "silent"])
async def test_a_cancelled_turn_leaves_no_server(tmp_path, argument):
    program = tmp_path / "start"
    program.write_text(f'#!/bin/sh\necho $$ > part; mv part pid\nexec {sys.executable} "$@"\n')
    program.chmod(0o700)
    server = McpServer("probe", str(program), make_stdio_server(argument).arguments)

    async def turn() -> None:
        async with connect_servers([server], tmp_path):
            await asyncio.Event().wait()

    task = asyncio.create_task(turn())
    await wait_until((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert has_ended(pid)


async def test_call_that_waited_for_its_slot_connects_a_lost_session_again():
    client: Any = SimpleNamespace(protocol_version=max(HANDSHAKE_PROTOCOL_VERSIONS))
    connection_count = 0

    async def reconnect() -> None:
        nonlocal connection_count
        connection_count += 1
        session._client = client

    async def call_next() -> bool:
        async with session.hold_call_slot(Elicitation(refuse_question, lambda _: None)):
            return session.is_connected

    session = McpSession(reconnect)
    session._client = client
    async with session.hold_call_slot(Elicitation(refuse_question, lambda _: None)):
        waiting_call = asyncio.create_task(call_next())
        await asyncio.sleep(0)
        session._client = None
    assert await waiting_call
    assert connection_count == 1
