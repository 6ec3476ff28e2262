"""How much a test does: a quick size for ``make test``, the full size for ``make proof``."""

from __future__ import annotations

import os
from typing import TypeVar

Amount = TypeVar("Amount", int, float)

#: Set by ``make proof``: every test runs at its full size.
IS_PROOF = bool(os.environ.get("JPWEB_PROOF"))


def choose_size(quick: Amount, full: Amount) -> Amount:
    """Return ``full`` under ``make proof``, else ``quick``."""
    return full if IS_PROOF else quick
