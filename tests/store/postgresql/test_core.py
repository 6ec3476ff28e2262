from __future__ import annotations

from pathlib import Path

from tests.machine.servers import Cluster
from tests.store.postgresql import parts


def test_what_depends_on_the_engine_holds_on_postgresql(postgres: Cluster, tmp_path: Path):
    parts.run_tests(parts.CORE, postgres, tmp_path)
