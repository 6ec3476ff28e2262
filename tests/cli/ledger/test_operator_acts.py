"""Commands are acts of the operator: what each leaves in the ledger. One without a row fails."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands

from jpweb.store import bootstrap
from jpweb.store.choices import Act
from jpweb.store.maintenance import deactivation
from jpweb.store.models import LedgerEntry
from tests import bundles
from tests.store import making

#: Acts of the operator by command. Those without an act serve, measure, or write what has its own
#: entries: the answers and runs of people.
ACTS_BY_COMMAND: dict[str, set[Act]] = {
    "backup": {Act.EXPORTED},
    "check_stream": set(),
    "deactivate_person": {Act.PERSON_DEACTIVATED, Act.SIGN_INS_ENDED},
    "erase_remains": set(),
    "export": {Act.EXPORTED},
    "import_evidence": {Act.EVIDENCE_IMPORTED},
    "index": set(),
    "ledger_head": set(),
    "mirror": set(),
    "purge_ledger": {Act.PURGED},
    "reactivate_person": {Act.PERSON_REACTIVATED},
    "restore": {Act.RESTORED},
    "serve": set(),
    "sign_in_link": {Act.LINK_MADE},
    "sign_out": {Act.SIGN_INS_ENDED},
    "team": set(),
    "verify_evidence": set(),
    "verify_ledger": set(),
    "work": set(),
}
#: Commands whose entries have tests of their own: one purges the ledger, one replaces it.
_TESTED_ELSEWHERE = ("purge_ledger", "restore")
ACTING_COMMANDS = [
    name for name, acts in ACTS_BY_COMMAND.items() if acts and name not in _TESTED_ELSEWHERE
]


def test_the_table_names_every_command():
    own_commands = {name for name, app in get_commands().items() if app.startswith("jpweb.")}
    assert own_commands == set(ACTS_BY_COMMAND)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ACTING_COMMANDS)
def test_command_leaves_an_entry_of_the_operator(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bootstrap, "prepare_database", lambda: None)
    making.workspace("Target")
    making.person("ada")
    deactivation.deactivate_person(making.person("ben"))
    conversation = bundles.make_conversation()
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(bundles.make_bundle(conversation))
    LedgerEntry.objects.all().delete()
    arguments: dict[str, list[object]] = {
        "backup": [tmp_path / "backup"],
        "deactivate_person": ["ada"],
        "export": [f"jp-c{conversation.jp_id}", "--output", tmp_path / "file"],
        "import_evidence": [bundle, "--workspace", "Target"],
        "reactivate_person": ["ben"],
        "sign_in_link": ["ada"],
        "sign_out": ["ada"],
    }
    call_command(name, *map(str, arguments[name]), stdout=io.StringIO(), stderr=io.StringIO())
    entries = list(LedgerEntry.objects.all())
    assert {entry.act for entry in entries} == ACTS_BY_COMMAND[name]
    assert {json.loads(entry.text)["by"]["kind"] for entry in entries} == {"operator"}
