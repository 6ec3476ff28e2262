"""``jpweb sign_out``: what it ends, and what still signs a person in."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from jpweb.store.choices import Act
from jpweb.store.models import Identity, LedgerEntry, Passkey
from jpweb.store.people import identities, passkeys
from jpweb.store.people.identities import ProvenIdentity
from jpweb.store.people.passkeys import NewCredential
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_removed", [True, False])
def test_sign_out_names_or_removes_what_signs_the_person_in_again(
    caplog: pytest.LogCaptureFixture, is_removed: bool
):
    caplog.set_level("INFO", "jpweb.security")
    people = [making.person(name) for name in ("ada", "ben")]
    for person in people:
        credential = NewCredential(person.username.encode(), b"key", 0, "handle")
        passkeys.add_passkey(person, credential, "Laptop", is_own=True)
        proven = ProvenIdentity("Company", "https://company.example", person.username, "")
        identities.connect_identity(person, proven, is_own=True)
    options = ("--remove-passkeys-and-providers",) if is_removed else ()
    out = io.StringIO()
    call_command("sign_out", "ada", *options, stdout=out)
    lines = out.getvalue().splitlines()
    kept_count = 1 if is_removed else 2
    assert (Passkey.objects.count(), Identity.objects.count()) == (kept_count, kept_count)
    removals = LedgerEntry.objects.filter(
        act__in=(Act.PASSKEY_REMOVED, Act.IDENTITY_DISCONNECTED)
    ).values_list("person_id", "subject")
    if is_removed:
        assert lines[:2] == [
            "Removed the passkey “Laptop”.",
            "Disconnected https://company.example.",
        ]
        assert list(removals) == [(None, f"person:{people[0].pk}")] * 2
        assert 'passkey removed by the operator account="ada" passkey="Laptop"' in caplog.text
    else:
        assert lines[1].startswith("Ada can sign in again: passkey “Laptop”, provider https://comp")
        assert not removals
