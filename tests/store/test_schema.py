from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from jpweb.store import schema
from jpweb.store.errors import NoDatabase


def test_a_database_that_is_up_to_date_stays_so(db: None):
    schema.prepare()


def test_one_that_cannot_be_reached_is_one_line(db: None, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: Any, **_options: Any) -> None:
        raise OperationalError("connection refused\nis the server running?")

    monkeypatch.setattr(schema, "call_command", refuse)
    with pytest.raises(NoDatabase) as told:
        schema.prepare()
    assert "connection refused" in str(told.value)
    assert "\n" not in str(told.value)
