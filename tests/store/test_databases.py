"""Tests that run again on PostgreSQL, each part in a process of its own: workers share them.

A test file belongs to ``PARTS`` if the engine decides whether its facts hold: raw SQL, locks,
concurrency, search, JSON, text with NUL, constraints, migrations. ``make test`` runs these parts.
Files of ``REST`` reach the database by Django's queries alone: ``make proof`` runs them as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.machine.servers import Cluster
from tests.machine.sizes import IS_PROOF

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "jpweb" / "store"
#: How a module of the store shows that it depends on the engine.
ENGINE = re.compile(
    r"\.cursor\(|RawSQL\(|RunSQL\(|\.raw\(|\.extra\(|\.vendor\b|schema_editor\.execute"
    r"|select_for_update|connection\.features|except .*IntegrityError|suppress\(IntegrityError"
)


class Part(NamedTuple):
    """Modules below ``jpweb/store`` that depend on the engine, and the tests that prove them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "queries: raw SQL, search, JSON, text with NUL, migrations": Part(
        modules=(
            "browsing/placing.py",
            "browsing/readings.py",
            "finding/dialects.py",
            "finding/index.py",
            "finding/search.py",
            "finding/within.py",
            "listing/choice.py",
            "listing/ranges.py",
            "migrations/0005_finding.py",
            "outage.py",
            "rows/many.py",
            "rows/prepared.py",
            "rows/single.py",
            "schema.py",
        ),
        tests=(
            "tests/store/browsing",
            "tests/store/finding",
            "tests/store/listing",
            "tests/store/rows",
            "tests/store/test_schema.py",
        ),
    ),
    "races: locks, concurrency, constraints": Part(
        modules=(
            "accounts.py",
            "conversations.py",
            "disk/mirror.py",
            "journal.py",
            "running/duties.py",
            "runs.py",
            "telling/addresses.py",
            "telling/notices.py",
            "telling/presence.py",
            "telling/showings.py",
        ),
        tests=(
            "tests/store/disk/test_mirror.py",
            "tests/store/running",
            "tests/store/telling/test_addresses.py",
            "tests/store/telling/test_notices.py",
            "tests/store/telling/test_presence.py",
            "tests/store/telling/test_showings.py",
            "tests/store/test_accounts.py",
            "tests/store/test_conversations.py",
            "tests/store/test_journal.py",
            "tests/store/test_races.py",
            "tests/store/test_recording.py",
            "tests/store/test_runs.py",
        ),
    ),
}
REST = {
    "store": (
        "tests/store/disk/test_facts.py",
        "tests/store/disk/test_upstream.py",
        "tests/store/telling/test_earlier.py",
        "tests/store/telling/test_links.py",
        "tests/store/telling/test_standing.py",
        "tests/store/test_audit.py",
        "tests/store/test_prompts.py",
    ),
    "runtime": (
        "tests/runtime/duties/test_expiry.py",
        "tests/runtime/duties/test_keeping.py",
        "tests/runtime/executing",
        "tests/runtime/sealing",
        "tests/runtime/test_desk.py",
        "tests/runtime/test_prompts.py",
        "tests/runtime/test_runs.py",
        "tests/runtime/test_secrets.py",
    ),
}
PLACES = {name: part.tests for name, part in PARTS.items()} | (REST if IS_PROOF else {})


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.partition(":")[0])
def test_postgresql_keeps_the_facts_of_sqlite(postgres: Cluster, tmp_path: Path, place: str):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
        "DATABASE_URL": postgres(),
        "JPWEB_DATA": str(tmp_path),
        "JPWEB_TEST_VENDOR": "postgresql",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLACES[place]]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_each_module_that_depends_on_the_engine_has_a_part():
    modules = {
        str(path.relative_to(STORE))
        for path in STORE.rglob("*.py")
        if ENGINE.search(path.read_text())
    }
    assert modules == {module for part in PARTS.values() for module in part.modules}


@pytest.mark.parametrize("tests", [*(part.tests for part in PARTS.values()), *REST.values()])
def test_each_part_names_tests_that_exist(tests: tuple[str, ...]):
    assert [path for path in tests if not (ROOT / path).exists()] == []
