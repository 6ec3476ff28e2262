"""The file of the ledger: what a person may see of it, for as long as they may."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Act, Role
from jpweb.store.errors import ExportBroken
from jpweb.store.ledger import listing, sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Membership
from tests.store import making

pytestmark = pytest.mark.django_db


def test_ledger_file_ends_with_an_error_when_the_role_ends(monkeypatch: pytest.MonkeyPatch):
    home = making.workspace()
    auditor = making.person("auditor", Role.AUDITOR, home)
    for number in range(3):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place(home.pk), number=number)
    sealing.seal_entries()
    monkeypatch.setattr(listing, "_BATCH_ENTRIES", 1)
    pieces = listing.make_ledger_file(auditor.pk)
    assert b'"text"' in next(pieces).data
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(pieces)
