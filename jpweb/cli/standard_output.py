"""Standard output: an error of writing to it, such as of a full disk, ends a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class OutputError(Exception):
    """Standard output cannot be written."""


def write_text(text: str) -> None:
    """Write a text to standard output. Raises OutputError, or BrokenPipeError without a reader."""
    with _translate_errors():
        sys.stdout.write(text)


def write_bytes(data: bytes) -> int:
    """Write bytes as ``write_text`` does, and return their number."""
    with _translate_errors():
        return sys.stdout.buffer.write(data)


def flush_output() -> None:
    """Write the buffers. Raises as ``write_text``."""
    with _translate_errors():
        sys.stdout.flush()


def discard_output() -> None:
    """Drop the buffers: Python would write it at exit, and print a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"Standard output cannot be written: {error.strerror}.") from error
