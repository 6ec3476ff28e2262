"""A backup of an older jpweb is migrated in a database of its own, beside that of the server."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.utils.connection import ConnectionDoesNotExist
from procrastinate.contrib.django import procrastinate_app

from jpweb.store.backups import restoration, schemas
from jpweb.store.backups.archive import Manifest, create_archive, open_archive
from jpweb.store.models import Conversation
from tests.store import making


@pytest.fixture
def team_apps(settings: Any) -> Iterator[None]:
    """Install the applications of a team, whose tables PostgreSQL alone can have."""
    previous_app = procrastinate_app.current_app
    if not apps.is_installed("procrastinate.contrib.django"):
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "procrastinate.contrib.django"]
    yield
    procrastinate_app.current_app = previous_app


@pytest.mark.proof  # every migration of an empty database, 8 s of processor time
@pytest.mark.usefixtures("team_apps")
def test_older_backup_is_migrated_beside_the_applications_of_a_team(
    tmp_path: Path, django_db_blocker: Any
):
    older, newest = schemas.list_migrations()[-2:]
    with create_archive(tmp_path / "older.zip") as writer:
        writer.write_manifest(Manifest("0", "sqlite", "2026-01-01T00:00:00Z", older, []))
    with (
        django_db_blocker.unblock(),  # django_db would allow no database but the default one
        open_archive(tmp_path / "older.zip") as archive,
        restoration._upgrade_archive(archive) as upgraded_archive,
    ):
        assert upgraded_archive.manifest.migration == newest
        assert upgraded_archive.manifest.engine == "sqlite"


@pytest.mark.django_db
def test_migration_of_the_index_leaves_other_databases():
    conversation = making.conversation(making.workspace())
    Conversation.objects.update(indexed_entry_count=5, needs_indexing=False)
    migration = importlib.import_module("jpweb.store.migrations.0028_pairs_of_characters")
    scratch = SimpleNamespace(connection=SimpleNamespace(alias="scratch"))
    with pytest.raises(ConnectionDoesNotExist, match="scratch"):
        migration.index_again(apps, scratch)
    conversation.refresh_from_db()
    assert (conversation.indexed_entry_count, conversation.needs_indexing) == (5, False)
