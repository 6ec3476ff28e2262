"""The program of an MCP server: its path, and its checksum.

Any writer of a workspace may put a FIFO or a device where a program is expected. So it is opened
without waiting, and only a regular file up to a size is read. Links count, as for its start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable

_MIB = 1024 * 1024
#: Bytes of a program whose checksum is verified, at most.
MAX_PROGRAM_BYTES = 1024 * _MIB
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def find_program(config: McpServer, folder: Path) -> str:
    """Return the program's path; its checksum is verified. Raises ToolUnavailable."""
    command = config.command or ""
    candidate = str(folder / command) if "/" in command else command
    path = shutil.which(candidate)
    if path is None:
        raise ToolUnavailable(f"there is no program {command or 'in its configuration'}")
    if config.checksum is None:
        return path
    algorithm = config.checksum_algorithm
    actual_checksum = _compute_checksum(path, algorithm.name)
    if actual_checksum != config.checksum.lower():
        raise ToolUnavailable(
            f"the {algorithm.title} of {path} is {actual_checksum}, "
            f"and the configuration allows only {config.checksum.lower()}"
        )
    return path


def _compute_checksum(path: str, algorithm_name: str) -> str:
    """Return the checksum of a regular file. Raises ToolUnavailable."""
    checksum = hashlib.new(algorithm_name)
    try:
        descriptor = os.open(path, _FILE_FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            remaining_bytes = _check_status(path, os.fstat(descriptor))
            while remaining_bytes and (data := file.read(min(_MIB, remaining_bytes))):
                checksum.update(data)
                remaining_bytes -= len(data)
    except OSError as error:
        raise ToolUnavailable(f"{path} cannot be read: {error.strerror}") from error
    return checksum.hexdigest()


def _check_status(path: str, status: os.stat_result) -> int:
    """Return the size of a program's file. Raises ToolUnavailable."""
    if not stat.S_ISREG(status.st_mode):
        raise ToolUnavailable(f"{path} is not a regular file")
    if status.st_size > MAX_PROGRAM_BYTES:
        limit = MAX_PROGRAM_BYTES // _MIB
        raise ToolUnavailable(f"{path} is larger than {limit} MiB, so it is not verified")
    return status.st_size
