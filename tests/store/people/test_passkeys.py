"""Passkeys used at the same time; tests/web/views/identity/test_passkeys.py has the rest."""

from __future__ import annotations

import pytest

from jpweb.store.errors import PasskeyRefused
from jpweb.store.models import Passkey
from jpweb.store.people import passkeys
from jpweb.store.people.passkeys import NewCredential
from tests.store import making
from tests.store.test_races import MANY, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_passkey_sent_twenty_times_is_added_once_and_each_count_used_once():
    person = making.person("ada")
    credential = NewCredential(b"id", b"data", 0, "handle")
    results = at_once(
        MANY, lambda _: passkeys.add_passkey(person, credential, "Phone", is_own=True)
    )
    assert results == {"won": 1, PasskeyRefused.__name__: MANY - 1}
    passkey = Passkey.objects.get()
    uses: list[bool] = []
    at_once(MANY, lambda _: uses.append(passkeys.record_use(passkey, 1)))
    assert uses.count(True) == 1
