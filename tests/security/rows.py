"""Reads rows of a running server's database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from tests.machine.serving import Server
from tests.machine.templates import SQLITE_FILE


def query(server: Server, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(server.data / SQLITE_FILE)) as reader:
        return reader.execute(statement, values).fetchall()


def find_conversation(server: Server, source: str) -> int:
    """Return the key of the conversation that was mirrored from a folder."""
    ((key,),) = query(server, "SELECT id FROM store_conversation WHERE source = ?", source)
    return int(key)


def find_workspace(server: Server, root: str) -> int:
    """Return the key of the workspace with a root; the demo's is ``demo``."""
    ((key,),) = query(server, "SELECT id FROM store_workspace WHERE root = ?", root)
    return int(key)
