"""Kept heads: a file outside the database, one signed head a line, the newest last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jpweb import data_folder
from jpweb.evidence import ledger_verifier
from jpweb.evidence.ledger_verifier import Problem, UnreadableFile
from jpweb.store.errors import StoreError
from jpweb.store.ledger import sealing, signing

#: Bytes at the end of the file in which the last line is looked for.
_TAIL_BYTES = 4096


def make_statement() -> dict[str, Any] | None:
    """Return the signed head; None for an empty ledger."""
    head = sealing.get_head()
    return None if head.signed_at is None else signing.make_statement(head)


def append_head(path: Path, statement: dict[str, Any]) -> None:
    """Append a signed head to the file, unless its last line is this one.

    The file is readable by its owner alone, and synced; its folder is made where it is missing.
    Raises StoreError if it cannot be written.
    """
    line = ledger_verifier.encode_canonical(statement)
    if _read_last_line(path) == line.encode():
        return
    try:
        _append_line(path, line)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error


def read_heads(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield as ``ledger_verifier.read_heads``. Raises StoreError for a file that is unreadable."""
    try:
        yield from ledger_verifier.read_heads(path)
    except UnreadableFile as error:
        raise StoreError(str(error)) from error


def _append_line(path: Path, line: str) -> None:
    data_folder.make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line_end = "\n" if is_torn else ""
        file.write(f"{line_end}{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def _read_last_line(path: Path) -> bytes:
    """Return the last line of the file; an empty one of a file that is new or cannot be read."""
    try:
        if not path.is_file():  # opening a named pipe would wait for its writer
            return b""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read().strip().rpartition(b"\n")[2]
    except OSError:
        return b""
