"""Kept heads: a file outside the database, one signed head a line, the newest last."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jpweb import datafolder
from jpweb.evidence import ledger_verifier
from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.errors import StoreError
from jpweb.store.ledger import sealing, signing

#: Bytes at the end of the file in which the last line is looked for.
_TAIL_BYTES = 4096


def append_head(path: Path) -> dict[str, Any] | None:
    """Append the signed head, unless it is the last one of the file; return it if it was appended.

    The file is readable by its owner alone, and synced; its folder is made where it is missing.
    Raises StoreError if it cannot be written.
    """
    head = sealing.get_head()
    if head.signed_at is None or _read_last_sequence(path) == head.sequence:
        return None
    statement = signing.make_statement(head)
    try:
        _append_line(path, ledger_verifier.encode_canonical(statement))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    return statement


def read_heads(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the heads of a file, and a problem for each line that is none.

    A line may be torn: its process ended, or the disk was full, while it was written. Raises
    StoreError for a file that is unreadable.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield _parse_head(line) or Problem(0, f"{path}, line {number} is no signed head")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error


def _parse_head(line: bytes) -> dict[str, Any] | None:
    try:
        statement = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_head = isinstance(statement, dict) and ledger_verifier.has_head(statement)
    return statement if is_head else None


def _append_line(path: Path, line: str) -> None:
    datafolder.make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line_end = "\n" if is_torn else ""
        file.write(f"{line_end}{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def _read_last_sequence(path: Path) -> int | None:
    """Return the sequence of the last head of the file; None for a new or damaged file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            last_line = file.read().strip().rpartition(b"\n")[2]
        sequence: int = json.loads(last_line)["head"]["sequence"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return sequence
