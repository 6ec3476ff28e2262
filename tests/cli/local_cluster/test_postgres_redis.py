from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from jpweb.cli.local_cluster import postgres_redis


def test_cluster_of_a_deleted_data_folder_is_not_reused_at_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, data = tmp_path / "home", tmp_path / "data"
    home.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "chown", lambda *_: None)
    account = SimpleNamespace(pw_dir=str(home))
    monkeypatch.setattr(postgres_redis, "_get_account_entry", lambda: account)
    first = postgres_redis.prepare_cluster_folder(data / "postgres")
    (first / "PG_VERSION").touch()
    assert postgres_redis.prepare_cluster_folder(data / "postgres") == first
    shutil.rmtree(data)
    second = postgres_redis.prepare_cluster_folder(data / "postgres")
    assert (list(second.iterdir()), (first / "PG_VERSION").exists()) == ([], True)
    assert {first.parent, second.parent} == {home}
