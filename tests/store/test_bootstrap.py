from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable
from jpweb.store.models import TaskLease


def test_a_database_that_is_up_to_date_stays_so(db: None):
    bootstrap.prepare_database()


def test_unreachable_database_error_is_one_line(db: None, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: Any, **_options: Any) -> None:
        raise OperationalError("connection refused\nis the server running?")

    monkeypatch.setattr(bootstrap, "MigrationExecutor", refuse)
    with pytest.raises(DatabaseUnavailable) as error:
        bootstrap.prepare_database()
    assert "connection refused" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the Django commands that are called, none of which runs."""
    names: list[str] = []
    monkeypatch.setattr(bootstrap, "call_command", lambda name, **_options: names.append(name))
    return names


def test_prepare_migrates_where_a_migration_is_not_applied(db: None, commands: list[str]):
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "store")
    recorder.record_unapplied("store", newest)  # rolled back with the test
    bootstrap.prepare_database()
    assert commands == ["migrate"]


def test_prepare_migrates_nothing_that_is_applied(db: None, commands: list[str]):
    bootstrap.prepare_database()
    assert commands == []


def test_prepare_refuses_a_database_of_a_newer_version(db: None):
    recorder = MigrationRecorder(connection)
    recorder.record_applied("store", "9999_future")
    try:
        with pytest.raises(
            DatabaseUnavailable, match=r"newer jpweb: its migration store\.9999_future"
        ):
            bootstrap.prepare_database()
    finally:
        recorder.record_unapplied("store", "9999_future")


def test_prepare_ignores_migrations_of_apps_that_are_not_used(db: None):
    MigrationRecorder(connection).record_applied("elsewhere", "0001_initial")
    bootstrap.prepare_database()


def test_prepare_refuses_a_table_that_lacks_a_column(transactional_db: None):
    field = TaskLease._meta.get_field("holder")
    with connection.schema_editor() as editor:
        editor.remove_field(TaskLease, field)
    try:
        with pytest.raises(
            DatabaseUnavailable, match="store_tasklease has no column holder"
        ) as error:
            bootstrap.prepare_database()
    finally:
        with connection.schema_editor() as editor:
            editor.add_field(TaskLease, field)
    assert "\n" not in str(error.value)


def require_refusal(words: str) -> None:
    """Require that commands for an existing database refuse this one in one line."""
    with (
        pytest.raises(DatabaseUnavailable, match=words) as error,
        bootstrap.use_existing_database(),
    ):
        pytest.fail("it was used")
    assert "\n" not in str(error.value)


def test_existing_database_without_tables_holds_no_jpweb(db: None):
    MigrationRecorder(connection).migration_qs.all().delete()
    require_refusal(r"holds no jpweb\. Set JPWEB_DATA")


def test_existing_database_of_an_older_version_has_to_be_started_once(db: None):
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "store")
    recorder.record_unapplied("store", newest)
    require_refusal(r"of an older jpweb\. Start this one once")


def test_existing_database_of_a_newer_version_is_refused(db: None):
    MigrationRecorder(connection).record_applied("store", "9999_future")
    require_refusal("was made by a newer jpweb")


def test_existing_database_that_fails_while_it_is_used_is_one_line(db: None):
    with (
        pytest.raises(DatabaseUnavailable, match=r"cannot be used: .*connection refused"),
        bootstrap.use_existing_database(),
    ):
        raise OperationalError("connection refused\nis the server running?")
