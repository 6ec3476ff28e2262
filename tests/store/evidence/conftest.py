"""A bundle, and the workspace into which it is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.models import Workspace
from tests import bundles
from tests.store import making


@pytest.fixture
def target() -> Workspace:
    return making.workspace("Target")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return bundles.copy_bundle(tmp_path)
