"""Settings that are numbers: each has bounds, and what is outside is one line."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jpweb import settings as file


def read_settings(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, text: str) -> Any:
    monkeypatch.setenv("JPWEB_DATA", str(folder))
    monkeypatch.setenv(name, text)
    assert file.__file__
    return runpy.run_path(file.__file__)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("JPWEB_PORT", "from 1 to 65,535"),
        ("JPWEB_STATEMENT_SECONDS", "from 0.1 to 1,000,000"),
        ("JPWEB_LEDGER_READ_DAYS", "from 0 to 36,500"),
        ("JPWEB_LEASE", "from 1 to 1,000,000"),
        ("JPWEB_HOLD", "from 0 to 1,000,000"),
        ("JPWEB_UNDO", "from 0 to 1,000,000"),
        ("JPWEB_SESSION_DAYS", "from 0.01 to 36,500"),
        ("JPWEB_IDLE_HOURS", "from 0.01 to 876,000"),
        ("JPWEB_SCRIPT_PACE", "from 0 to 1,000,000"),
    ],
)
def test_number_out_of_bounds_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, allowed: str
):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(monkeypatch, tmp_path, name, "-1")
    assert str(error.value) == f"{name} must be a number {allowed}, not “-1”."


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1000000"])
def test_number_that_no_time_can_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
):
    with pytest.raises(ImproperlyConfigured, match=f"from 0 to 36,500, not “{text}”"):
        read_settings(monkeypatch, tmp_path, "JPWEB_LEDGER_READ_DAYS", text)


def test_number_at_a_bound_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("JPWEB_LEDGER_READ_DAYS", "36500")
    monkeypatch.setenv("JPWEB_UNDO", "0")
    values = read_settings(monkeypatch, tmp_path, "JPWEB_PORT", "65535")
    assert (values["LEDGER_READ_DAYS"], values["UNDO_SECONDS"]) == (36_500, 0)
    assert values["PORT"] == 65_535


def test_empty_number_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert read_settings(monkeypatch, tmp_path, "JPWEB_LEASE", "")["LEASE"] == 15
