"""Lists and the file of the ledger: what a person may see of it, for as long as they may."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Act, Role
from jpweb.store.errors import ExportBroken
from jpweb.store.ledger import listing, sealing
from jpweb.store.ledger.entries import OPERATOR, Actor, NewAct, Place, record_act, record_acts
from jpweb.store.models import LedgerEntry, Membership
from tests.store import making

pytestmark = pytest.mark.django_db


def test_ledger_file_ends_with_an_error_when_the_role_ends(monkeypatch: pytest.MonkeyPatch):
    workspace = making.workspace()
    auditor = making.person("auditor", Role.AUDITOR, workspace)
    for number in range(3):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place(workspace.pk), number=number)
    sealing.seal_entries()
    monkeypatch.setattr(listing, "_BATCH_ENTRIES", 1)
    pieces = listing.make_ledger_file(auditor.pk)
    assert b'"text"' in next(pieces).data
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(pieces)


def test_acts_recorded_together_are_entries_in_their_order():
    workspace = making.workspace()
    record_acts(NewAct(Act.EXPORTED, OPERATOR, Place(workspace.pk, key), {}) for key in (3, 1, 2))
    record_acts([])
    entries = LedgerEntry.objects.filter(act=Act.EXPORTED).order_by("pk")
    assert list(entries.values_list("conversation_id", flat=True)) == [3, 1, 2]
    assert sealing.seal_entries() >= 3


def test_exporters_of_lists_are_those_of_a_starters_workspaces():
    workspace, other_workspace = making.workspace("Garden"), making.workspace("Elsewhere")
    ada, bob = (
        making.person("ada", Role.AUDITOR, workspace),
        making.person("bob", Role.AUDITOR, workspace),
    )
    conversation = making.conversation(workspace, "A talk", ada)
    making.conversation(workspace, "Another", ada)
    for actor in (Actor.from_person(bob), OPERATOR, Actor.from_person(ada), Actor.from_person(bob)):
        record_act(Act.EXPORTED, actor, Place(workspace.pk), file="questions.csv")
    record_act(Act.EXPORTED, Actor.from_person(bob), Place(workspace.pk, conversation.pk))
    record_act(Act.EXPORTED, Actor.from_person(bob), Place(other_workspace.pk))
    record_act(Act.READ, Actor.from_person(bob), Place(workspace.pk))
    exporters = listing.list_workspace_exporters(ada.pk)
    assert [
        (row.workspace_name, row.is_operator, row.person_name, row.export_count)
        for row in exporters
    ] == [("Garden", False, "Bob", 2), ("Garden", True, "", 1)]
    assert exporters[0].last_at >= exporters[1].last_at
    assert listing.list_workspace_exporters(bob.pk) == []
    Membership.objects.filter(person=ada).delete()
    assert listing.list_workspace_exporters(ada.pk) == []
