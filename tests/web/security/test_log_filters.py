from __future__ import annotations

import asyncio
import logging

import pytest


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [(asyncio.CancelledError(), False), (OSError("no space left"), True), (None, True)],
    ids=["request that was abandoned", "fault", "no exception"],
)
def test_asyncio_logs_faults_but_no_request_that_was_abandoned(
    error: BaseException | None, is_logged: bool
) -> None:
    exc_info = (type(error), error, None) if error else None
    record = logging.LogRecord(
        "asyncio", logging.ERROR, "", 1, "Future exception was never retrieved", None, exc_info
    )
    assert bool(logging.getLogger("asyncio").filter(record)) is is_logged
