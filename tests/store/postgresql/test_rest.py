from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.servers import Cluster
from tests.store.postgresql import parts


@pytest.mark.proof
@pytest.mark.parametrize("part", parts.REST)
def test_remaining_store_tests_pass_on_postgresql(postgres: Cluster, tmp_path: Path, part: str):
    parts.run_tests(parts.REST[part], postgres, tmp_path)
