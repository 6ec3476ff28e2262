"""A program whose checksum is asked for is read without waiting, and up to a size."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tools.mcp import program_file
from jpweb.agent.tools.mcp.program_file import find_program

SERVER = McpServer("bad", "./start", checksum="0" * 64)


def make_fifo(path: Path) -> None:
    os.mkfifo(path, 0o755)


def link_fifo(path: Path) -> None:
    make_fifo(path.with_name("fifo"))
    path.symlink_to("fifo")


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def write_large_file(path: Path) -> None:
    path.touch(0o755)
    os.truncate(path, program_file.MAX_PROGRAM_BYTES + 1)


@pytest.mark.parametrize(
    ("make_file", "message"),
    [
        (make_fifo, "start is not a regular file"),
        (link_fifo, "start is not a regular file"),
        (bind_socket, "start cannot be read: No such device"),
        (write_large_file, "start is larger than 1024 MiB"),
    ],
    ids=["fifo", "link to a fifo", "socket", "too large"],
)
def test_program_that_is_no_file_to_read_is_refused(
    tmp_path: Path, make_file: Callable[[Path], None], message: str
):
    make_file(tmp_path / "start")
    (tmp_path / "start").chmod(0o755)
    with pytest.raises(ToolUnavailable, match=message):
        find_program(SERVER, tmp_path)


def test_program_is_read_no_further_than_its_size_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "start"
    program.write_bytes(b"abc")
    program.chmod(0o755)
    checksums = []
    for size in (3, 2):
        monkeypatch.setattr(program_file, "_check_status", lambda *_, size=size: size)
        with pytest.raises(ToolUnavailable, match="allows only 000") as raised:
            find_program(SERVER, tmp_path)
        checksums.append(str(raised.value))
    assert checksums[0] != checksums[1]
