from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine.servers import Cluster
from tests.machine.serving import ROOT


@pytest.mark.proof  # facts of libraries, which change with constraints.txt
def test_procrastinate_jobs_and_workers_behave_as_documented(
    postgres: Cluster, redis_url: str, tmp_path: Path
):
    # pytest-django puts this in front of the name; --reuse-db takes what is there.
    database = postgres.make_migrated(prefix="test_").replace("/test_", "/")
    env = os.environ | {
        "DATABASE_URL": database,
        "REDIS_URL": redis_url,
        "JPWEB_RUNS": "workers",
        "JPWEB_DATA": str(tmp_path),
    }
    facts = Path(__file__).with_name("facts.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db"]
    command.append(str(facts))
    result = subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
