"""One workshop, opened up, for all tests that leave its tools and its server alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.workshop.shop import ENVIRONMENT, Shop, Stay, copy_sample, visit_workshop
from tests.machine.browsing import Pages
from tests.machine.fixtures import Live
from tests.machine.ports import free_port
from tests.machine.serving import Server
from tests.machine.vendors import run_vendor


@pytest.fixture(scope="package")
def trusted_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Serve a workshop whose model is set and everything of which is trusted."""
    folder = tmp_path_factory.mktemp("workshop")
    with run_vendor("anthropic") as model:
        root = copy_sample(folder)
        server = Server(folder / "data", free_port(), root, dict(ENVIRONMENT))
        try:
            shop = Shop(root, model, server.start())
            shop.open_up()
            yield shop
        finally:
            server.close()
    assert " ERROR " not in server.log_text(), server.log_text()[-4000:]


@pytest.fixture
def workshop(trusted_shop: Shop, open_page: Pages) -> Iterator[Stay]:
    """Visit the shared workshop."""
    workshop_stay = visit_workshop(trusted_shop, open_page)
    yield workshop_stay
    workshop_stay.leave()


@pytest.fixture
def new_shop(live: Live, tmp_path: Path) -> Iterator[Callable[[], Shop]]:
    """Return what serves a workshop of the test's own, in which nothing is trusted yet."""
    with run_vendor("anthropic") as model:

        def make() -> Shop:
            root = copy_sample(tmp_path)
            server = live(start=False, workspace=root)
            server.settings |= ENVIRONMENT
            return Shop(root, model, server.start())

        yield make
