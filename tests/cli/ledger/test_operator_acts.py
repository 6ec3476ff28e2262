"""Commands are acts of the operator: what each leaves in the ledger. One without a row fails."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands

from jpweb.store import bootstrap
from jpweb.store.choices import Act, Role
from jpweb.store.ledger import listing
from jpweb.store.ledger.entries import OPERATOR, SYSTEM, Actor, Place, record_act
from jpweb.store.ledger.listing import LedgerFilters
from jpweb.store.maintenance import deactivation
from jpweb.store.models import LedgerEntry, Person
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


def list_visible(who: Person) -> list[str]:
    return [entry.act for entry in listing.list_entries(who.pk, LedgerFilters())]


@pytest.mark.django_db(transaction=True)
def test_backup_and_purge_are_entries_that_auditors_see(tmp_path: Path):
    workspace = making.workspace()
    auditors = [
        making.person(role.name, role, workspace) for role in Role.list_including(Role.AUDITOR)
    ]
    outsiders = [making.person("reader", Role.READER, workspace), making.person("outsider")]
    call_command("backup", str(tmp_path / "backup"), stdout=io.StringIO(), stderr=io.StringIO())
    record_act(Act.PURGED, SYSTEM, Place(), sequences="1-2")
    record_act(Act.RESTORED, OPERATOR, Place(), file="backup", rows=7)
    for auditor in auditors:
        assert list_visible(auditor)[:3] == ["restored", "purged", "exported"]
    for other in outsiders:
        assert not {"restored", "purged", "exported"} & set(list_visible(other))


@pytest.mark.django_db
def test_other_entries_without_a_workspace_stay_hidden_from_auditors():
    auditor = making.person("auditor", Role.AUDITOR, making.workspace())
    ben = Actor.from_person(making.person("ben"))
    record_act(Act.EXPORTED, ben, Place(), file="personal-data.json")
    record_act(Act.LINK_MADE, OPERATOR, Place(subject=f"person:{ben.person_id}"))
    record_act(Act.SIGNED_IN, ben, Place())
    assert {"exported", "link_made", "signed_in"}.isdisjoint(list_visible(auditor))
