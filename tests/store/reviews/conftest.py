"""Fixtures of the tests of reviews."""

from __future__ import annotations

import pytest

from tests.store.reviews.desk import ReviewDesk


@pytest.fixture
def desk(db: None) -> ReviewDesk:
    return ReviewDesk()
