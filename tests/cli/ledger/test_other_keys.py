"""Commands that are run without the secret key of the server, and changes of that key."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from jpweb.cli.management.commands import work
from jpweb.cli.management.commands.serve import Command
from jpweb.store import bootstrap
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.jp_files import mirror
from jpweb.store.ledger import entry_macs, sealing, signing, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.maintenance import task_leases
from jpweb.store.models import LedgerEntry, LedgerHead
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)

REFUSAL = (
    "The ledger is signed with another key: set JPWEB_SECRET_KEY as for the server, or start jpweb "
    "with the new key first."
)
#: Commands that record an act, or sign what the server has recorded.
COMMANDS = [
    *(["sign_in_link", "ada"], ["sign_out", "ada"], ["purge_ledger", "--older-than", "1"]),
    *(["deactivate_person", "ada"], ["reactivate_person", "ada"]),
    *(["backup", "FOLDER/file"], ["mirror", str(mirror.DEMO_PATH)], ["ledger_head"], ["work"]),
]
RUNNING_REFUSAL = (
    "The ledger is signed with another key, and a jpweb runs on this database: set JPWEB_SECRET_KEY"
    " as for that one. To change the key, stop all processes first; one that was killed counts as "
    "running for some seconds."
)


def call(*arguments: str) -> str:
    """Run a command in this process; return what it printed."""
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.fixture(autouse=True)
def sealed_ledger(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a ledger with one old entry of a sign-in, which the server's key has signed."""
    settings.LEDGER_HEADS = tmp_path / "heads.jsonl"
    monkeypatch.setattr(bootstrap, "prepare_database", lambda *_arguments: None)
    monkeypatch.setattr(work, "make_executor", pytest.fail)  # a worker would run until stopped
    making.person("ada")
    with monkeypatch.context() as past:
        past.setattr(clock, "now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
        record_act(Act.SIGNED_IN, OPERATOR, Place())
    sealing.seal_entries()


def list_acts() -> list[str]:
    return list(LedgerEntry.objects.order_by("id").values_list("act", flat=True))


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_command_without_the_key_of_the_server_changes_nothing(
    tmp_path: Path, arguments: list[str]
):
    head = LedgerHead.objects.values().get()
    with (
        override_settings(SECRET_KEY="other", RUN_MODE="workers"),
        pytest.raises(CommandError, match=f"^{re.escape(REFUSAL)}$"),
    ):
        call(*(argument.replace("FOLDER", str(tmp_path)) for argument in arguments))
    assert list_acts() == [Act.SIGNED_IN]
    assert LedgerEntry.objects.get().text
    assert LedgerHead.objects.values().get() == head
    assert list(tmp_path.iterdir()) == []


def test_verify_ledger_without_the_key_of_the_server_seals_nothing():
    with override_settings(SECRET_KEY="other"):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place())
        assert "The head is signed with the key of another installation." in call("verify_ledger")
    assert list_acts() == [Act.SIGNED_IN, Act.ROLE_CHANGED]
    assert entry_macs.count_forged() == 1


def test_commands_accept_a_new_key_after_the_server_started_with_it(settings: Any):
    settings.SECRET_KEY = "new"
    Command(stdout=io.StringIO(), stderr=io.StringIO())._prepare_data(None)
    assert Act.LEDGER_KEY_CHANGED in list_acts()
    assert "/sign-in#" in call("sign_in_link", "ada")
    assert json.loads(call("ledger_head"))["public_key"] == signing.get_public_key()
    assert list(verification.find_problems()) == []


def test_server_beside_processes_with_another_key_is_refused(settings: Any):
    settings.SECRET_KEY, settings.RUN_MODE = "new", "workers"
    task_leases.acquire_or_renew("ledger", "worker", 15)
    command = Command(stdout=io.StringIO(), stderr=io.StringIO())
    with pytest.raises(CommandError, match=f"^{re.escape(RUNNING_REFUSAL)}$"):
        command._prepare_data(None)
    assert list_acts() == [Act.SIGNED_IN]
    task_leases.release_all("worker")
    command._prepare_data(None)
    task_leases.acquire_or_renew("process 1", "server", 15)
    command._prepare_data(None)
    assert list_acts().count(Act.LEDGER_KEY_CHANGED) == 1, "the next server has the same key"


def test_embedded_server_with_a_new_key_starts_after_one_was_killed(settings: Any):
    settings.SECRET_KEY = "new"
    task_leases.acquire_or_renew("ledger", "server", 15)
    Command(stdout=io.StringIO(), stderr=io.StringIO())._prepare_data(None)
    assert Act.LEDGER_KEY_CHANGED in list_acts()


def test_commands_accept_a_new_key_after_restore_with_it(settings: Any, tmp_path: Path):
    settings.DATA_DIR = tmp_path / "data"
    call("backup", str(tmp_path / "file"))
    settings.SECRET_KEY = "new"
    call("restore", str(tmp_path / "file"), "--force")
    assert "/sign-in#" in call("sign_in_link", "ada")
    sealing.seal_entries()
    assert list_acts() == [Act.SIGNED_IN, Act.LEDGER_KEY_CHANGED, Act.RESTORED, Act.LINK_MADE]
    assert list(verification.find_problems()) == []


@pytest.mark.parametrize(
    "act", [sealing.require_own_key, sealing.adopt_key], ids=["commands", "a server"]
)
def test_head_that_was_changed_names_no_key(act: Callable[[], None]):
    LedgerHead.objects.update(public_key="00" * 32)
    act()
    assert list_acts() == [Act.SIGNED_IN]


def test_ledger_without_a_head_has_any_key(settings: Any):
    LedgerEntry.objects.all().delete()
    LedgerHead.objects.all().delete()
    settings.SECRET_KEY = "other"
    assert "/sign-in#" in call("sign_in_link", "ada")
