from __future__ import annotations

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import LedgerEntry, Trust
from jpweb.store.workspace_config import trust
from jpweb.store.workspace_config.trust import ReviewedItem, TrustState
from tests.store import making

SEEN = ReviewedItem("tool", "t", "f1", "program: p")


def test_trust_state_of_an_unseen_server_is_new(db: None):
    workspace = making.workspace()
    assert trust.list_trusted(workspace.pk) == {}
    assert trust.get_trust_state(None, "f1") is TrustState.NEW


def test_trust_applies_only_to_the_granted_fingerprint(db: None):
    workspace, ada = making.workspace(), making.person("ada")
    trust.grant_trust(workspace, [SEEN, SEEN._replace(kind="server")], ada)
    trusts = trust.list_trusted(workspace.pk)
    assert set(trusts) == {("tool", "t"), ("server", "t")}
    assert trust.get_trust_state(trusts["tool", "t"], "f1") is TrustState.TRUSTED
    assert trust.get_trust_state(trusts["tool", "t"], "f2") is TrustState.CHANGED
    assert (trusts["tool", "t"].shown, trusts["tool", "t"].trusted_by) == ("program: p", ada)


def test_grant_trust_again_replaces_the_fingerprint(db: None):
    workspace, ada, bob = making.workspace(), making.person("ada"), making.person("bob")
    trust.grant_trust(workspace, [SEEN], ada)
    trust.grant_trust(workspace, [SEEN._replace(fingerprint="f2", shown="program: q")], bob)
    (row,) = Trust.objects.all()
    assert (row.fingerprint, row.shown, row.trusted_by) == ("f2", "program: q", bob)


def test_trust_applies_to_its_workspace_alone(db: None):
    workspace, other_workspace, ada = (
        making.workspace("a"),
        making.workspace("b"),
        making.person("ada"),
    )
    trust.grant_trust(workspace, [SEEN], ada)
    assert trust.list_trusted(other_workspace.pk) == {}
    assert trust.withdraw_trust(other_workspace, [("tool", "t")]) == 0
    assert len(trust.list_trusted(workspace.pk)) == 1


def test_withdraw_trust_removes_the_trust(db: None):
    workspace = making.workspace()
    trust.grant_trust(workspace, [SEEN], making.person("ada"))
    assert trust.withdraw_trust(workspace, [("tool", "t"), ("tool", "other")]) == 1
    assert trust.list_trusted(workspace.pk) == {}


def test_trust_that_is_given_and_withdrawn_is_in_the_ledger(db: None):
    workspace, ada = making.workspace(), making.person("ada")
    trust.grant_trust(workspace, [SEEN], ada)
    trust.withdraw_trust(workspace, [("tool", "t"), ("tool", "other")], Actor.from_person(ada))
    entries = LedgerEntry.objects.filter(workspace_id=workspace.pk, person_id=ada.pk).order_by("pk")
    acts = list(entries.values_list("act", flat=True))
    assert acts == [Act.TRUST_GIVEN, Act.TRUST_WITHDRAWN]


def test_trust_stays_when_its_person_is_deleted(db: None):
    workspace, ada = making.workspace(), making.person("ada")
    trust.grant_trust(workspace, [SEEN], ada)
    ada.delete()
    assert trust.list_trusted(workspace.pk)["tool", "t"].trusted_by is None
