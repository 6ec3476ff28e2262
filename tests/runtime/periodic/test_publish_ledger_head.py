"""What the recipient of a head of the ledger can do with its message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.notifications import apprise_sender
from jpweb.runtime.periodic import publish_ledger_head
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act

pytestmark = pytest.mark.django_db(transaction=True)


def chain_act() -> None:
    record_act(Act.ROLE_CHANGED, OPERATOR, Place(1))
    sealing.seal_entries()


def verify_with_heads(path: Path) -> None:
    call_command("verify_ledger", "--head", str(path))


async def test_text_of_a_sent_head_is_a_file_that_verify_ledger_compares(
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    message_path = tmp_path / "message.txt"

    async def send_message(_key: int, _url: str, _title: str, body: str) -> str:
        message_path.write_text(body)
        return ""

    monkeypatch.setattr(apprise_sender, "send_message", send_message)
    settings.LEDGER_HEADS = tmp_path / "missing" / "heads.jsonl"
    settings.LEDGER_HEAD_URL = "mailto://ada@example.org"
    await run_in_background_thread(chain_act)
    await publish_ledger_head.publish_head()
    settings.LEDGER_HEADS = tmp_path / "none.jsonl"
    await run_in_background_thread(verify_with_heads, message_path)
    assert "Compared with 1 kept head; " in capsys.readouterr().out
