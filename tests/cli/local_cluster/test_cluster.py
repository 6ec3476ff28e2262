from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jpweb.cli.local_cluster import cluster


async def test_failed_program_is_named_with_the_end_of_its_errors():
    program = "import sys; sys.exit('\\n'.join(f'line {n}' for n in range(9)))"
    with pytest.raises(cluster.SetupError) as failure:
        await cluster._run_for_output([sys.executable, "-c", program], "initdb")
    assert str(failure.value).splitlines() == [
        "initdb ended with code 1:",
        *(f"  line {number}" for number in range(4, 9)),
    ]


def test_heads_of_a_trial_are_kept_apart_from_those_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("JPWEB_LEDGER_HEADS", "/srv/kept/heads.jsonl")
    monkeypatch.setenv("JPWEB_LEDGER_HEAD_URL", "mailtos://user:password@example.org")
    environment = cluster._build_environment(Path("/run/sockets"), tmp_path)
    assert environment["JPWEB_LEDGER_HEADS"] == str(tmp_path / "team" / "ledger-heads.jsonl")
    assert environment["JPWEB_LEDGER_HEAD_URL"] == ""
