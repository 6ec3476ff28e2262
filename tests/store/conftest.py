"""A workspace and somebody who reads in it; no test sees the silos of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import Person, Workspace
from tests.store import making


@pytest.fixture(autouse=True)
def no_silo(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("jp-data")
    monkeypatch.setenv("JP_USER_DATA_DIR", str(home))
    return home


@pytest.fixture
def workspace() -> Workspace:
    return making.workspace()


@pytest.fixture
def reader(workspace: Workspace) -> Person:
    return making.person("reader", Role.READER, workspace)
