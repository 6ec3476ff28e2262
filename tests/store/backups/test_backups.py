"""Backups of a database, written and restored in one process."""

from __future__ import annotations

import hashlib
import json
import stat
import tempfile
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from jpweb.store import accounts, conversations
from jpweb.store.backups import restoration, schemas, snapshot, tables
from jpweb.store.choices import Act
from jpweb.store.errors import (
    DatabaseInUse,
    DatabaseNotEmpty,
    DatabaseUnavailable,
    InvalidBackup,
    SchemaMismatch,
)
from jpweb.store.jp_files import mirror
from jpweb.store.ledger import sealing, verification
from jpweb.store.maintenance import task_leases
from jpweb.store.models import (
    AnswerLink,
    Inquiry,
    Invitation,
    LedgerEntry,
    Passage,
    Person,
    SignIn,
    SignInLink,
    Workspace,
)
from jpweb.store.search import indexer
from tests.store import making
from tests.store.background_passes import index_all

pytestmark = pytest.mark.django_db(transaction=True)

#: Conversations that begin while the first rows are read, so before those of later tables.
ROWS_WRITTEN_MEANWHILE = 3

Rows: TypeAlias = dict[str, list[list[Any]]]
#: Changes the members of a backup's zip.
Change: TypeAlias = Callable[[dict[str, bytes]], None]


def ignore_progress(_done: int, _total: int) -> None:
    pass


def read_everything() -> Rows:
    """Return all rows that a backup has."""
    models = tables.list_models()
    return {model.__name__: list(tables.read_rows(connection, model)) for model in models}


def rewrite(file: Path, change: Change) -> Path:
    """Change the members of a backup."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def change_manifest(**fields: Any) -> Change:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"]) | fields
        members["manifest.json"] = json.dumps(manifest).encode()

    return change


@pytest.fixture
def full() -> Person:
    """Mirror the demo, and have a turn that waits for an answer; return who began it."""
    owner = accounts.get_or_create_owner()
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    accounts.make_owner(owner, workspace)
    conversation = making.conversation(workspace, "A waiting turn", owner)
    making.question(making.start_run(conversation, owner), text="Apply “Bäume”\\u0000?")
    index_all()
    return owner


@pytest.fixture
def waiting_turn(transactional_db: None) -> Person:
    """Have a turn that waits for an answer and nothing else; return who began it."""
    owner = accounts.get_or_create_owner()
    workspace = making.workspace("Garden")
    accounts.make_owner(owner, workspace)
    conversation = making.conversation(workspace, "A waiting turn", owner)
    making.question(making.start_run(conversation, owner))
    return owner


@pytest.fixture
def full_backup(full: Person, tmp_path: Path) -> Path:
    return write_backup(tmp_path)


@pytest.fixture
def backup(waiting_turn: Person, tmp_path: Path) -> Path:
    return write_backup(tmp_path)


def read_restored() -> Rows:
    """Return all rows that a restored backup had: all but the entry of the restoration."""
    LedgerEntry.objects.get(act=Act.RESTORED).delete()
    return read_everything()


def write_backup(folder: Path) -> Path:
    file = folder / "jpweb.backup"
    snapshot.write_backup(file, ignore_progress)
    return file


def test_restored_rows_equal_the_saved_ones(full_backup: Path):
    saved = read_everything()
    Inquiry.objects.all().delete()
    accounts.get_or_create_owner().delete()
    restoration.restore_backup(full_backup, ignore_progress, replace=True)
    assert read_restored() == saved
    assert len(saved["JournalEntry"]) > 150


def test_restoration_is_an_entry_of_the_restored_ledger_which_verifies(backup: Path):
    sealing.seal_entries()
    rows = tables.count_rows(connection)
    restoration.restore_backup(backup, ignore_progress, replace=True)
    entry = LedgerEntry.objects.latest("pk")
    content = json.loads(entry.text)
    assert (entry.act, content["by"]) == (Act.RESTORED, {"kind": "operator"})
    assert content["details"]["file"] == backup.name
    assert content["details"]["replaced_rows"] == rows
    sealing.seal_entries()
    assert list(verification.find_problems()) == []


def test_manifest_names_version_engine_and_migration(backup: Path):
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["jpweb"] == metadata.version("jpweb")
    assert manifest["engine"] == connection.vendor
    assert manifest["migration"] == schemas.get_newest_migration()


def test_new_rows_follow_the_restored_keys(backup: Path):
    newest = max(Workspace.objects.values_list("pk", flat=True))
    restoration.restore_backup(backup, ignore_progress, replace=True)
    assert making.workspace().pk > newest


def test_restored_conversations_are_found_once_indexed(full_backup: Path):
    passage_count = Passage.objects.count()
    restoration.restore_backup(full_backup, ignore_progress, replace=True)
    assert (Passage.objects.count(), indexer.count_pending() > 0) == (0, True)
    index_all()
    assert Passage.objects.count() == passage_count


def test_backup_holds_no_link_session_password_or_key(waiting_turn: Person, tmp_path: Path):
    secrets = [f"secret{number}" for number in range(6)]
    moment = timezone.now()
    SignInLink.objects.create(person=waiting_turn, token_hash=secrets[0], expires_at=moment)
    question = Inquiry.objects.get(state="open", run__isnull=False)
    AnswerLink.objects.create(
        inquiry=question, person=waiting_turn, token_hash=secrets[1], expires_at=moment
    )
    SignIn.objects.create(key_hash=secrets[2], data="x", person=waiting_turn, expires_at=moment)
    Invitation.objects.create(
        workspace=Workspace.objects.all()[0],
        name="eve",
        role=10,
        inviter=waiting_turn,
        token_hash=secrets[5],
        expires_at=moment,
    )
    Person.objects.update(password=secrets[3])
    Inquiry.objects.filter(pk=question.pk).update(waiter="host#1", seal_key=secrets[4])
    file = tmp_path / "file"
    snapshot.write_backup(file, ignore_progress)
    with zipfile.ZipFile(file) as archive:
        text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "A waiting turn" in text
    assert [secret for secret in secrets if secret in text] == []


def test_backup_holds_one_moment_of_the_database(waiting_turn: Person, tmp_path: Path):
    workspace = Workspace.objects.get()

    def write_more(done: int, _total: int) -> None:
        if done <= ROWS_WRITTEN_MEANWHILE:
            conversations.create_conversation(workspace, "Too late", waiting_turn.pk)

    before = read_everything()
    manifest = snapshot.write_backup(tmp_path / "file", write_more)
    assert manifest.rows == sum(map(len, before.values()))
    restoration.restore_backup(tmp_path / "file", ignore_progress, replace=True)
    assert read_restored() == before


def test_backup_file_has_mode_600_and_no_temporary_file_stays(backup: Path):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert list(backup.parent.glob(f".{backup.name}*")) == []


def test_failed_backup_keeps_the_file_that_was_there(backup: Path):
    before = backup.read_bytes()

    def fail(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        snapshot.write_backup(backup, fail)
    assert backup.read_bytes() == before
    assert list(backup.parent.glob(f".{backup.name}*")) == []


def test_backup_into_a_missing_folder_is_one_line(waiting_turn: Person, tmp_path: Path):
    with pytest.raises(InvalidBackup, match=r"nowhere/file cannot be written: No such file"):
        snapshot.write_backup(tmp_path / "nowhere" / "file", ignore_progress)


def test_newer_backup_is_refused(backup: Path):
    rewrite(backup, change_manifest(migration="0999_later", jpweb="9.1"))
    with pytest.raises(SchemaMismatch, match=r"of a newer jpweb \(9\.1\)\. Install that"):
        restoration.restore_backup(backup, ignore_progress)


def test_database_with_rows_is_refused_without_replace(backup: Path):
    with pytest.raises(
        DatabaseNotEmpty, match=r"holds \d+ rows already\. Use an empty one, or --force"
    ):
        restoration.restore_backup(backup, ignore_progress)


def test_database_of_an_older_jpweb_is_refused_before_it_is_migrated(backup: Path):
    newest = schemas.get_newest_migration()
    MigrationRecorder(connection).record_unapplied("store", newest)
    try:
        with pytest.raises(DatabaseNotEmpty, match=r"of an older jpweb\. Use an empty one"):
            restoration.restore_backup(backup, ignore_progress)
        task_leases.acquire_or_renew("expiry", "another", 60)
        with pytest.raises(DatabaseInUse, match="jpweb is running on this database"):
            restoration.restore_backup(backup, ignore_progress, replace=True)
        assert newest not in schemas.read_migrations(connection)
    finally:
        MigrationRecorder(connection).record_applied("store", newest)


def test_database_of_a_running_jpweb_is_refused(backup: Path):
    task_leases.acquire_or_renew("expiry", "another", 60)
    with pytest.raises(DatabaseInUse, match="jpweb is running on this database"):
        restoration.restore_backup(backup, ignore_progress, replace=True)


def test_migrations_of_a_newer_jpweb_are_not_backed_up(
    waiting_turn: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    migrations = schemas.list_migrations()
    monkeypatch.setattr(schemas, "list_migrations", lambda: migrations[:-1])
    with pytest.raises(SchemaMismatch, match="is of a newer jpweb"):
        snapshot.write_backup(tmp_path / "file", ignore_progress)
    monkeypatch.setattr(schemas, "list_migrations", lambda: [*migrations, "0999_later"])
    with pytest.raises(SchemaMismatch, match="is of an older jpweb"):
        snapshot.write_backup(tmp_path / "file", ignore_progress)
    monkeypatch.setattr(schemas, "read_migrations", lambda _: set())
    with pytest.raises(DatabaseUnavailable, match="There is nothing to back up"):
        snapshot.write_backup(tmp_path / "file", ignore_progress)


def drop_table(members: dict[str, bytes]) -> None:
    del members["tables/store_turn.jsonl"]


def drop_manifest(members: dict[str, bytes]) -> None:
    del members["manifest.json"]


def change_row(members: dict[str, bytes]) -> None:
    members["tables/store_workspace.jsonl"] = b"[]\n"


def break_manifest(members: dict[str, bytes]) -> None:
    members["manifest.json"] = b'{"format": 1}'


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (drop_table, "is damaged: store_turn is missing"),
        (drop_manifest, "is not a jpweb backup: it holds no manifest"),
        (change_row, "is damaged: store_workspace is not as it was written"),
        (break_manifest, "has a damaged manifest"),
        (change_manifest(format=2), "is of a newer jpweb"),
    ],
    ids=["no table", "no manifest", "other row", "broken manifest", "newer format"],
)
def test_damaged_backup_is_one_line_and_changes_nothing(backup: Path, change: Change, line: str):
    before = read_everything()
    rewrite(backup, change)
    with pytest.raises(InvalidBackup, match=line) as problem:
        restoration.restore_backup(backup, ignore_progress, replace=True)
    assert "\n" not in str(problem.value)
    assert read_everything() == before


@pytest.mark.parametrize("content", [b"", b"no zip", None], ids=["empty", "text", "cut"])
def test_file_that_is_no_zip_is_one_line(backup: Path, content: bytes | None):
    backup.write_bytes(backup.read_bytes()[:-100] if content is None else content)
    with pytest.raises(InvalidBackup, match="is not a jpweb backup"):
        restoration.restore_backup(backup, ignore_progress, replace=True)


def test_missing_backup_is_one_line(tmp_path: Path):
    with pytest.raises(InvalidBackup, match="cannot be read: No such file"):
        restoration.restore_backup(tmp_path / "none", ignore_progress)


def test_flipped_bits_are_found(full_backup: Path):
    content = bytearray(full_backup.read_bytes())
    place = content.index(b"tables/store_journalentry.jsonl") + 2000
    content[place] ^= 0xFF
    full_backup.write_bytes(content)
    with pytest.raises(InvalidBackup, match="is damaged: "):
        restoration.restore_backup(full_backup, ignore_progress, replace=True)


def rewrite_table(
    members: dict[str, bytes], table_name: str, rows: list[Any], **fields: Any
) -> None:
    """Replace the rows of a table, with the hash that they have."""
    manifest = json.loads(members["manifest.json"])
    (table,) = (entry for entry in manifest["tables"] if entry["name"] == table_name)
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    table |= {"sha256": hashlib.sha256(content).hexdigest()} | fields
    members[f"tables/{table['name']}.jsonl"] = content
    members["manifest.json"] = json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("rows", "fields", "line"),
    [
        ([[1]], {}, "a row of store_turn"),
        ([[1, None, 2, 3, "x"]], {}, "rows are refused by the database"),
        ([], {"columns": ["id", "id) --"]}, "or one of its columns is unknown"),
        ([], {"name": "sqlite_master"}, "sqlite_master or one of its"),
    ],
    ids=["short row", "null", "unknown column", "unknown table"],
)
def test_rows_that_do_not_fit_change_nothing(
    backup: Path, rows: list[Any], fields: dict[str, Any], line: str
):
    before = read_everything()
    rewrite(backup, lambda members: rewrite_table(members, "store_turn", rows, **fields))
    with pytest.raises(InvalidBackup, match=line):
        restoration.restore_backup(backup, ignore_progress, replace=True)
    assert read_everything() == before


def fail_full(*_args: Any) -> None:
    raise OperationalError("database or disk is full")


@pytest.mark.parametrize("function", ["count_rows", "write_rows"])
def test_full_disk_is_no_fault_of_the_backup(
    backup: Path, monkeypatch: pytest.MonkeyPatch, function: str
):
    monkeypatch.setattr(tables, function, fail_full)
    with pytest.raises(DatabaseUnavailable, match="cannot be used: database disk full"):
        restoration.restore_backup(backup, ignore_progress, replace=True)


def test_older_backup_is_migrated_on_the_disk_of_the_data_folder(
    backup: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.DATA_DIR = tmp_path / "data"
    (settings.DATA_DIR / "jpweb-restore-killed").mkdir(parents=True)
    rewrite(backup, change_manifest(migration=schemas.list_migrations()[0]))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(restoration, "_open_scratch_database", fail_full)
    with pytest.raises(DatabaseUnavailable, match="cannot be used: database disk full"):
        restoration.restore_backup(backup, ignore_progress, replace=True)
    assert list(settings.DATA_DIR.iterdir()) == []
