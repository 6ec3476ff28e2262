"""What every test gets: the machine's fixtures, one Hypothesis profile, browsers last."""

from __future__ import annotations

import pytest
from django.db import connections
from hypothesis import settings

pytest_plugins = ["tests.machine.fixtures"]

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put the test database into a file: one in memory locks without waiting between threads."""
    if connections["default"].vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        connections.databases["default"]["TEST"]["NAME"] = str(file)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put browser tests last: once Playwright runs, no other event loop can in this thread."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
