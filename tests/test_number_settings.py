"""Settings that are numbers: each has bounds, and what is outside is one line."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.machine.fixtures import ReadSettings


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
def test_number_out_of_bounds_is_one_line(read_settings: ReadSettings, name: str, allowed: str):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(**{name: "-1"})
    assert str(error.value) == f"{name} must be a number {allowed}, not “-1”."


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1000000"])
def test_number_that_no_time_can_be_is_refused(read_settings: ReadSettings, text: str):
    with pytest.raises(ImproperlyConfigured, match=f"from 0 to 36,500, not “{text}”"):
        read_settings(JPWEB_LEDGER_READ_DAYS=text)


def test_number_at_a_bound_is_taken(read_settings: ReadSettings):
    values = read_settings(JPWEB_LEDGER_READ_DAYS="36500", JPWEB_UNDO="0", JPWEB_PORT="65535")
    assert (values["LEDGER_READ_DAYS"], values["UNDO_SECONDS"]) == (36_500, 0)
    assert values["PORT"] == 65_535


def test_empty_number_is_the_default(read_settings: ReadSettings):
    assert read_settings(JPWEB_LEASE="")["LEASE_SECONDS"] == 15
