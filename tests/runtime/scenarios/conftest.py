"""The workshop, with somebody who has a page open, and no key or silo of whoever runs this."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.inbox import presence
from tests.agent.providers.conversing import KEY
from tests.runtime import playing
from tests.runtime.scenarios.workshop import VARIABLE, Workshop

#: Seconds that anything may take: libraries are loaded and servers started on the way.
PATIENCE = 60


@pytest.fixture
def unattended_shop(
    transactional_db: None,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Workshop:
    """Return a workshop where nobody has a page open."""
    monkeypatch.setattr(playing, "SOON", PATIENCE)
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path_factory.mktemp("jp-data")))
    return Workshop(tmp_path / "workshop")


@pytest.fixture
def shop(unattended_shop: Workshop) -> Workshop:
    """Return a workshop where somebody who may answer has a page open."""
    presence.record_presence(
        "another process", {(unattended_shop.ada.pk, unattended_shop.workspace.pk)}
    )
    return unattended_shop
