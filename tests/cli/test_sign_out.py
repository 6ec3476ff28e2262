"""``jpweb sign_out`` and ``deactivate_person``: what they end, and who can still come in."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.errors import InvalidLink
from jpweb.store.models import AnswerLink, Identity, LedgerEntry, Passkey, Person
from jpweb.store.people import identities, passkeys
from jpweb.store.people.identities import ProvenIdentity
from jpweb.store.people.passkeys import NewCredential
from tests.cli.test_commands import capture_command, get_refusal
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_removed", [True, False])
def test_sign_out_names_or_removes_credentials_of_the_person(
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
            "Disconnected https://company.example, identity ada.",
        ]
        assert list(removals) == [(None, f"person:{people[0].pk}")] * 2
        assert 'passkey removed by the operator account="ada" passkey="Laptop"' in caplog.text
    else:
        assert lines[1].startswith("Ada can sign in again: passkey “Laptop”; provider https://comp")
        assert not removals


@pytest.mark.parametrize("options", [(), ("--remove-passkeys-and-providers",)], ids=["", "removed"])
def test_sign_out_tells_two_identities_of_a_provider_apart(options: tuple[str, ...]):
    person = making.person("ada")
    for subject, email in (("1", "ada@jp.example"), ("2\n\x1b[2J", "")):
        proven = ProvenIdentity("Company", "https://company.example", subject, email)
        identities.connect_identity(person, proven, is_own=True)
    text = call("sign_out", "ada", *options)
    for name in ("ada@jp.example", r"identity 2\n\x1b[2J"):
        assert f"https://company.example, {name}" in text


def test_sign_out_escapes_the_name_of_a_passkey():
    person = making.person("ada")
    passkeys.add_passkey(person, NewCredential(b"1", b"key", 0, "h"), "a\nDone.", is_own=True)
    assert r"passkey “a\nDone.”" in call("sign_out", "ada")
    assert r"passkey “a\nDone.”" in call("sign_out", "ada", "--remove-passkeys-and-providers")


def call(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def is_active(name: str) -> bool:
    return Person.objects.get(username=name).is_active


def test_deactivate_person_names_an_ownerless_workspace_and_appoints(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level("INFO", "jpweb.security")
    workspace = making.workspace("Garden")
    making.person("ada", Role.OWNER, workspace)
    ben = making.person("ben", Role.READER, workspace)
    with pytest.raises(CommandError, match=r"Garden would have no owner\. Appoint .*--new-owner"):
        call("deactivate_person", "ada")
    assert is_active("ada")
    assert call("deactivate_person", "ada", "--force").splitlines() == [
        "Deactivated Ada (account ada). Ended 0 sign-ins and all unused links. Open pages close "
        "within ten seconds.",
        "Garden has no owner. To appoint one: jpweb deactivate_person ada --new-owner NAME",
    ]
    assert 'person deactivated by the operator account="ada"' in caplog.text
    with pytest.raises(CommandError, match="Ada is deactivated"):
        call("sign_in_link", "ada")
    assert call("deactivate_person", "ada", "--new-owner", "ben").splitlines() == [
        "Ada (account ada) is already deactivated.",
        "Ben now owns Garden.",
    ]
    assert accounts.get_role(ben.pk, workspace.pk) is Role.OWNER
    for other, problem in (("ben", "Ben can't be the new owner"), ("ada", "Ada is deactivated")):
        with pytest.raises(CommandError, match=problem):
            call("deactivate_person", "ben", "--new-owner", other)
    assert is_active("ben")


def test_reactivate_person_restores_what_deactivate_person_ended():
    making.person("ada")
    assert call("reactivate_person", "ada") == "Ada (account ada) is not deactivated.\n"
    call("deactivate_person", "ada")
    assert call("reactivate_person", "ada").startswith("Reactivated Ada (account ada), with the ro")
    assert is_active("ada")
    assert "/sign-in#" in call("sign_in_link", "ada")


def test_deactivate_person_warns_about_the_first_person():
    accounts.get_or_create_owner()
    assert "`serve` prints no sign-in link" in call("deactivate_person", "owner")
    assert "This is the first person" not in call("deactivate_person", "owner")


def test_sign_out_ends_sign_ins_and_links_of_one_person_alone():
    clients = {}
    for name in ("ada", "ben"):
        clients[name] = Client()
        clients[name].force_login(making.person(name))
    tokens = {name: accounts.issue_link(accounts.find_by_name(name)[0]) for name in clients}
    run = making.start_run(making.conversation(making.workspace("home")))
    for name in clients:
        person = accounts.find_by_name(name)[0]
        expiry = clock.now() + timedelta(days=1)
        AnswerLink.objects.create(
            inquiry=making.question(run), person=person, token_hash=name, expires_at=expiry
        )
    out, _ = capture_command("sign_out", "ada")
    assert out.startswith("Ended 1 sign-in of Ada (account ada), ")
    assert [link.person.username for link in AnswerLink.objects.all()] == ["ben"]
    assert [clients[name].get("/account").status_code for name in clients] == [302, 200]
    with pytest.raises(InvalidLink):
        accounts.use_link(tokens["ada"])
    assert accounts.use_link(tokens["ben"]).person.username == "ben"
    assert get_refusal("sign_out", "nobody") == "No person named “nobody”."
