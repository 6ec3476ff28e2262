"""A server of its own, whose one conversation grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.reading.live.growing import Growing, Visiting
from tests.machine.fixtures import Live


@pytest.fixture
def growing(live: Live, visiting: Visiting, tmp_path: Path) -> Growing:
    return Growing(live, visiting, tmp_path)
