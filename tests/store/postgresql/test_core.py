from __future__ import annotations

from pathlib import Path

from tests.machine.servers import Cluster
from tests.store.postgresql import parts


def test_core_tests_pass_on_postgresql(postgres: Cluster, tmp_path: Path):
    parts.run_tests(parts.CORE, postgres, tmp_path)
