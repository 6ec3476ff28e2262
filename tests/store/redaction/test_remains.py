"""What was redacted is in no file of the database once its remains are erased."""

from __future__ import annotations

import os
import secrets
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jpweb.store.backups import schemas, snapshot
from jpweb.store.models import Conversation, Person, Workspace
from jpweb.store.redaction import remains
from jpweb.store.redaction.remains import NotErased
from jpweb.stream.events import ChatRequest
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.redaction.canary import CANARY, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
only_postgresql = pytest.mark.skipif(
    os.environ.get("JPWEB_TEST_VENDOR") is None,
    reason="SQLite has neither roles nor rows that it keeps for others",
)


def read_database() -> bytes:
    """Return the bytes of the database's files; SQLite's with those of its write-ahead log."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("CHECKPOINT")
            cursor.execute(
                "SELECT pg_read_binary_file(pg_relation_filepath(oid)) FROM pg_class"
                " WHERE pg_relation_filepath(oid) IS NOT NULL AND NOT relisshared"
            )
            return b"".join(bytes(row[0]) for row in cursor.fetchall())
    name = str(connection.settings_dict["NAME"])
    if "memory" in name:
        data: bytes = connection.connection.serialize()
        return data
    paths = [path for path in (name, f"{name}-wal") if Path(path).exists()]
    # Another process reads them: where one closes a file, it loses all its locks on that file.
    return subprocess.run(["cat", *paths], check=True, capture_output=True).stdout


@contextmanager
def hold_snapshot() -> Iterator[None]:
    """Hold a snapshot as a backup does that has read no table yet that is rewritten."""
    with snapshot._open_snapshot() as source:
        schemas.read_migrations(source)
        yield


def test_erase_remains_leaves_nothing_on_disk(
    workspace: Workspace, conversation: Conversation, ada: Person
):
    is_sqlite = connection.vendor == "sqlite"
    # Does not compress, so PostgreSQL keeps it as it is, in the TOAST table.
    filler = secrets.token_urlsafe(9_000)
    long = making.mirrored_conversation(workspace, ChatRequest(f"{filler} {CANARY} {filler}"))
    with connection.cursor() as cursor:
        if is_sqlite:
            cursor.execute("PRAGMA secure_delete=OFF")  # Debian's library has it on
        else:
            cursor.execute("ANALYZE")  # the statistics have values of columns
    redact(conversation, ada, "", CANARY)
    redact(long, ada, "", CANARY)
    index_all()
    assert CANARY.encode() in read_database()
    statement_limits: list[str] = []

    def note_limit(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("VACUUM") and not is_sqlite:
            row = connection.connection.execute("SHOW statement_timeout").fetchone()
            statement_limits.append(row[0])
        return execute(sql, *arguments)

    with connection.execute_wrapper(note_limit):
        remains.erase_remains()
    assert CANARY.encode() not in read_database()
    assert not has_secret(dump_tables(), CANARY)
    assert set(statement_limits) == (set() if is_sqlite else {"0"})


@pytest.mark.skipif(
    os.environ.get("JPWEB_TEST_VENDOR") is not None, reason="of a file; PostgreSQL's has its own"
)
def test_erase_remains_fails_while_another_process_reads_the_database(
    conversation: Conversation, ada: Person
):
    redact(conversation, ada, "", CANARY)
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM store_person").fetchone()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 50")
        try:
            with pytest.raises(NotErased, match=r"reads the database.*Stop jpweb and backups"):
                remains.erase_remains()
        finally:
            connection.close()  # and with it the short timeout
    remains.erase_remains()
    assert CANARY.encode() not in read_database()


@only_postgresql
def test_erase_remains_fails_while_an_older_snapshot_is_open(
    conversation: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    with hold_snapshot(), monkeypatch.context() as patch:
        patch.setattr(remains, "OLDER_TRANSACTION_SECONDS", 0.2)
        redact(conversation, ada, "", CANARY)
        with pytest.raises(NotErased, match=r"for process \d+, which may still read it.*again"):
            remains.erase_remains()
    remains.erase_remains()
    assert CANARY.encode() not in read_database()


@only_postgresql
def test_erase_remains_fails_while_a_snapshot_may_read_old_statistics(
    conversation: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    redact(conversation, ada, "", CANARY)
    held_snapshots: list[None] = []

    def hold_from_first_table_on(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("VACUUM") and not held_snapshots:
            held_snapshots.append(stack.enter_context(hold_snapshot()))
            patch.setattr(remains, "OLDER_TRANSACTION_SECONDS", 0.2)
        return execute(sql, *arguments)

    with (
        ExitStack() as stack,
        monkeypatch.context() as patch,
        connection.execute_wrapper(hold_from_first_table_on),
        pytest.raises(NotErased, match="for process"),
    ):
        remains.erase_remains()
    remains.erase_remains()
    assert CANARY.encode() not in read_database()


@only_postgresql
def test_erase_remains_says_which_table_a_role_may_not_rewrite(workspace: Workspace):
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE jpweb_no_owner")
        cursor.execute("SET ROLE jpweb_no_owner")
        try:
            with pytest.raises(NotErased, match=r'"store_\w+".*owner of the database'):
                remains.erase_remains()
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE jpweb_no_owner")
