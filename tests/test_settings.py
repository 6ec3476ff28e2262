from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.tools.mcp.serving import over_http
from tests.machine.vendors import Reply, Say, run_vendor
from tests.talkative import CANARY

TALKATIVE = Path(__file__).with_name("talkative.py")


@pytest.mark.proof  # 10 s of processor time, in which all vendors' libraries are imported
def test_log_has_no_secret_key_or_conversation_at_any_level(tmp_path: Path):
    """A server echoes a secret on its standard output; libraries log what they send and get."""
    variables = {
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
        "JPWEB_LOG_LEVEL": "DEBUG",
        "OPENAI_LOG": "debug",
        "ANTHROPIC_LOG": "debug",
        "JPWEB_DATA": str(tmp_path),
        "PYTHONPATH": str(TALKATIVE.parents[1]),
    }
    replies = [Reply(Say(CANARY))] * 6
    with over_http() as url, run_vendor("openai", replies) as standin:
        result = subprocess.run(
            [sys.executable, str(TALKATIVE), url, standin.base_url],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert result.returncode == 0, result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "{}", "chat", "babble", "fail", "settings",
        "anthropic", "google", "llamacpp", "ollama", "openai", "openrouter",
    ]  # fmt: skip
    assert "babble Failed" in result.stdout
    assert "openai bad_request" not in result.stdout
    assert "DEBUG jpweb: this is logged" in result.stderr
    assert CANARY not in result.stderr
