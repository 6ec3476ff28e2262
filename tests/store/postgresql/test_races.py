from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.servers import Cluster
from tests.store.postgresql import parts


@pytest.mark.proof
def test_race_tests_pass_on_postgresql(postgres: Cluster, tmp_path: Path):
    parts.run_tests(parts.RACES.tests, postgres, tmp_path)
