from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import stage
from tests.machine.local_cluster import Team, run_team


@pytest.fixture(scope="package")
def chaos_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage.make_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="package")
def team(tmp_path_factory: pytest.TempPathFactory, chaos_workspace: Path) -> Iterator[Team]:
    """A team's jpweb with short waits, so that much happens in little time."""
    data = tmp_path_factory.mktemp("chaos") / "data"
    short_waits = {
        "JPWEB_LEASE_SECONDS": "6",
        "JPWEB_PARK_AFTER_SECONDS": "2",
        "JPWEB_SCRIPT_PACE_SECONDS": "0.005",
    }
    with run_team(data, chaos_workspace, **short_waits) as running_team:
        yield running_team
