"""How much a test does: a quick size for ``make test``, the full size for ``make proof``."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import pytest

Amount = TypeVar("Amount", int, float)

#: Set by ``make proof``: every test runs at its full size.
IS_PROOF = bool(os.environ.get("JPWEB_PROOF"))


def choose_size(quick: Amount, full: Amount) -> Amount:
    """Return ``full`` under ``make proof``, else ``quick``."""
    return full if IS_PROOF else quick


def mark_proof(*cases: Any) -> list[Any]:
    """Return cases for ``parametrize`` that only ``make proof`` runs; a tuple is one case."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.proof)
        for case in cases
    ]
