from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.tools.mcp.serving import over_http


@pytest.fixture(scope="session")
def http_url() -> Iterator[str]:
    with over_http() as url:
        yield url
