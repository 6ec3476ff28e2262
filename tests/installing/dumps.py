"""Databases as SQL text, which can be read, compared and kept under version control."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg

from tests.machine.programs import POSTGRES, ensure_program

#: The index of words: a virtual table, whose own tables hold what its content table says as well.
_WORDS = "store_passage_words"
_REBUILT = (
    "INSERT INTO store_passage_words(store_passage_words, rank) VALUES ('rank', 'bm25(1.0, 0.0)')",
    "INSERT INTO store_passage_words(store_passage_words) VALUES ('rebuild')",
)


def dump_sqlite(file: Path) -> str:
    """Return the SQL that makes a copy of a database."""
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        query = "SELECT sql FROM sqlite_master WHERE type = 'trigger' OR name = ?"
        statements = [text for (text,) in copy.execute(f"{query} ORDER BY type DESC", [_WORDS])]
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in copy.execute(triggers).fetchall():
            copy.execute(f"DROP TRIGGER {name}")
        copy.execute(f"DROP TABLE {_WORDS}")
        copy.commit()
        lines = [*copy.iterdump()]
    table = statements.index(next(text for text in statements if "VIRTUAL" in text))
    linking = [statements.pop(table), *_REBUILT, *statements]
    return "\n".join([*lines, *(f"{text};" for text in linking), ""])


def load_sqlite(text: str, file: Path) -> None:
    """Make a database of a dump."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(text)


def dump_postgresql(url: str) -> str:
    """Return the SQL that makes a copy of a database."""
    program = ensure_program(POSTGRES).resolve().parent / "pg_dump"
    options = ("--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=500")
    result = subprocess.run([program, *options, url], check=True, capture_output=True, text=True)
    # Lines for psql alone, such as \restrict, and comments with the version of the server.
    return re.sub(r"^(\\.*|--.*)?\n", "", result.stdout, flags=re.MULTILINE)


def load_postgresql(text: str, url: str) -> None:
    """Fill an empty database with a dump."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(text.encode())
