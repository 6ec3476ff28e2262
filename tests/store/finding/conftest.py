"""A workspace, somebody who reads there, and everything brought up to date."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jpweb.store.finding import index, language, search
from jpweb.store.finding.search import Hit
from jpweb.store.models import Person, Workspace
from jpweb.store.terms import Role
from tests.store import making

#: Looks for something as the reader, everything indexed before; returns the hits.
Find = Callable[..., list[Hit]]


@pytest.fixture
def home() -> Workspace:
    return making.workspace()


@pytest.fixture
def reader(home: Workspace) -> Person:
    return making.person("reader", Role.READER, home)


@pytest.fixture
def find(reader: Person) -> Find:
    def look(typed: str, who: Person | None = None) -> list[Hit]:
        up_to_date()
        return search.search((who or reader).pk, language.read(typed)).newest().rows

    return look


def up_to_date() -> int:
    """Index all that changed; returns how many steps that took."""
    steps = 0
    while index.step() is not None:
        steps += 1
        assert steps < 100
    return steps
