"""Kept heads: a file outside the database, one signed head a line, the newest last."""

from __future__ import annotations

import json
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
