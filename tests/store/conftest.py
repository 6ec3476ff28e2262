"""No test of the store sees the silos of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_silo(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("jp-data")
    monkeypatch.setenv("JP_USER_DATA_DIR", str(home))
    return home
