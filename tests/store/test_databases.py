"""What holds on SQLite holds on PostgreSQL: the same tests, in a process with that database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.machine.servers import Cluster

ROOT = Path(__file__).resolve().parents[2]
SAME = (
    "tests/store/test_journal.py",
    "tests/store/test_accounts.py",
    "tests/store/test_audit.py",
    "tests/store/test_conversations.py",
    "tests/store/test_prompts.py",
    "tests/store/disk/test_mirror.py",
    "tests/store/test_races.py",
    "tests/store/test_recording.py",
    "tests/store/test_runs.py",
    "tests/store/browsing",
    "tests/store/finding",
    "tests/store/listing",
    "tests/store/disk/test_facts.py",
    "tests/store/disk/test_upstream.py",
    "tests/store/running",
    "tests/runtime/duties/test_expiry.py",
    "tests/runtime/duties/test_keeping.py",
    "tests/runtime/test_desk.py",
    "tests/runtime/test_prompts.py",
    "tests/runtime/test_secrets.py",
    "tests/runtime/test_runs.py",
    "tests/runtime/executing",
    "tests/runtime/sealing",
    "tests/store/rows",
    "tests/store/telling",
)


def test_the_same_holds_on_postgresql(postgres: Cluster, tmp_path: Path):
    env = os.environ | {
        "DATABASE_URL": postgres(),
        "JPWEB_DATA": str(tmp_path),
        "JPWEB_TEST_VENDOR": "postgresql",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SAME]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
