from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.servers import Cluster
from tests.machine.sizes import IS_PROOF
from tests.store.postgresql import parts

if IS_PROOF:

    @pytest.mark.parametrize("part", parts.REST)
    def test_the_rest_holds_on_postgresql(postgres: Cluster, tmp_path: Path, part: str):
        parts.run(parts.REST[part], postgres(), tmp_path)
