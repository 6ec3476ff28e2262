"""Settings that are numbers: each has bounds, and what is outside is one line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.architecture.tree import walk_nodes
from tests.machine.fixtures import ReadSettings

_UNIT_BY_MAXIMUM = {"MAX_SECONDS": "_SECONDS", "MAX_HOURS": "_HOURS", "MAX_DAYS": "_DAYS"}


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("JPWEB_PORT", "from 1 to 65,535"),
        ("JPWEB_STATEMENT_SECONDS", "from 0.1 to 1,000,000"),
        ("JPWEB_LEDGER_READ_DAYS", "from 0 to 36,500"),
        ("JPWEB_LEASE_SECONDS", "from 1 to 1,000,000"),
        ("JPWEB_PARK_AFTER_SECONDS", "from 0 to 1,000,000"),
        ("JPWEB_UNDO_SECONDS", "from 0 to 1,000,000"),
        ("JPWEB_SCRIPT_PACE_SECONDS", "from 0 to 1,000,000"),
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


@pytest.mark.parametrize(
    ("earlier_name", "name", "setting"),
    [
        ("JPWEB_LEASE", "JPWEB_LEASE_SECONDS", "LEASE_SECONDS"),
        ("JPWEB_HOLD", "JPWEB_PARK_AFTER_SECONDS", "PARK_AFTER_SECONDS"),
        ("JPWEB_UNDO", "JPWEB_UNDO_SECONDS", "UNDO_SECONDS"),
        ("JPWEB_SCRIPT_PACE", "JPWEB_SCRIPT_PACE_SECONDS", "SCRIPT_PACE_SECONDS"),
    ],
)
def test_earlier_name_counts_where_the_present_one_is_unset(
    read_settings: ReadSettings, earlier_name: str, name: str, setting: str
):
    assert read_settings(**{earlier_name: "7"})[setting] == 7
    assert read_settings(**{earlier_name: "7", name: "8"})[setting] == 8


def test_names_of_times_end_in_their_unit():
    names = {
        ast.unparse(argument): ast.unparse(node.args[3])
        for node in walk_nodes(Path("jpweb/settings.py"))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "read_number"
        for argument in node.args[:1]
    }
    times = {
        name.strip("'\""): _UNIT_BY_MAXIMUM[bound]
        for name, bound in names.items()
        if bound in _UNIT_BY_MAXIMUM
    }
    assert len(times) >= 8
    assert {name: unit for name, unit in times.items() if not name.endswith(unit)} == {}
