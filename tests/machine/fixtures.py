"""The fixtures of this package; ``tests/conftest.py`` offers them to every test."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from jpweb import settings
from tests.machine import browsing, servers
from tests.machine.browsing import ContextPool, Pages
from tests.machine.ports import free_port
from tests.machine.programs import CHROMIUM, ensure_program
from tests.machine.servers import Cluster
from tests.machine.serving import Server


class Live(Protocol):
    """How a test starts servers."""

    def __call__(
        self,
        *,
        start: bool = True,
        workspace: Path | None = None,
        port: int | None = None,
        data: Path | None = None,
        **settings: str,
    ) -> Server:
        """Return a server; ``settings`` are environment variables, such as DATABASE_URL."""


class ReadSettings(Protocol):
    """How a test reads the settings."""

    def __call__(self, **variables: str) -> dict[str, Any]:
        """Return the settings under these environment variables and no others of jpweb's."""


@pytest.fixture
def read_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ReadSettings:
    def read(**variables: str) -> dict[str, Any]:
        for name in os.environ:
            if name.startswith("JPWEB_") or name in {"DATABASE_URL", "REDIS_URL"}:
                monkeypatch.delenv(name)
        monkeypatch.setenv("JPWEB_DATA", str(tmp_path))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert settings.__file__
        return runpy.run_path(settings.__file__)

    return read


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    return ensure_program(CHROMIUM)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    with servers.run_postgres() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with servers.run_redis() as running_redis:
        yield running_redis.url


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live_servers: list[Server] = []

    def make(
        *,
        start: bool = True,
        workspace: Path | None = None,
        port: int | None = None,
        data: Path | None = None,
        **settings: str,
    ) -> Server:
        folder = data or tmp_path / f"data{len(live_servers)}"
        server = Server(folder, port or free_port(), workspace, settings)
        live_servers.append(server)
        return server.start() if start else server

    yield make
    for server in live_servers:
        server.close()


@pytest.fixture(scope="session")
def context_pool(chromium_path: Path) -> Iterator[ContextPool]:
    with browsing.run_chromium(chromium_path) as pool:
        yield pool


@pytest.fixture
def open_page(context_pool: ContextPool, request: pytest.FixtureRequest) -> Iterator[Pages]:
    if "live" in request.fixturenames:
        request.getfixturevalue("live")  # its servers end after the pages, which would complain
    pages = Pages(context_pool)
    yield pages
    pages.close()
    assert pages.complaints == []
