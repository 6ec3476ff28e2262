"""Passkeys, with an authenticator in software."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from fido2.cose import RS256
from fido2.webauthn import AuthenticatorData

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.models import LedgerEntry, Passkey, SignIn, SignInLink
from jpweb.store.people import invitations, passkeys
from jpweb.store.people.sessions import hash_key
from jpweb.web.security import rate_limits, webauthn
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain, sign_in
from tests.web.world import World, signed_in, take_invitation

SIGN_IN, OPTIONS = "/sign-in/passkey", "/sign-in/passkey/options"


@pytest.fixture
def phone(world: World) -> Authenticator:
    """An authenticator with a passkey of the reader."""
    authenticator = Authenticator()
    response = add_passkey(at_domain(signed_in(world.people["reader"])), authenticator)
    assert response["Location"] == "/account"
    assert Passkey.objects.count() == 1
    return authenticator


def make_client() -> Client:
    return at_domain(Client())


def list_details(act: Act) -> list[dict[str, Any]]:
    texts = LedgerEntry.objects.filter(act=act).values_list("text", flat=True)
    return [json.loads(text)["details"] for text in texts]


def check_refused(response: Any) -> None:
    assert response.status_code == 403
    assert "No passkey signed you in" in parse_page(response).find_one(role="alert").text
    assert not list_details(Act.SIGNED_IN)


def test_person_adds_a_passkey_signs_in_with_it_and_removes_it(world: World, phone: Authenticator):
    client = make_client()
    assert sign_in(client, phone, next="/questions")["Location"] == "/questions"
    row = parse_page(client.get("/account")).find_one(**{"data-passkey-name": "Phone"})
    assert "last used" in row.text
    removal = {"passkey": Passkey.objects.get().pk}
    signed_in(world.people["owner"]).post("/account/passkeys/remove", removal)
    assert Passkey.objects.exists(), "it is another person's"
    client.post("/account/passkeys/remove", removal)
    assert "no longer signs you in" in parse_page(client.get("/account")).text
    assert sign_in(make_client(), phone).status_code == 403
    for act in (Act.PASSKEY_ADDED, Act.SIGNED_IN, Act.PASSKEY_REMOVED):
        assert list_details(act) == [{"passkey": "Phone"}]


def test_options_want_a_discoverable_credential_and_a_verified_person(world: World):
    client = at_domain(signed_in(world.people["reader"]))
    options = client.post("/account/passkeys/options").json()
    selection = options["authenticatorSelection"]
    assert (selection["residentKey"], selection["userVerification"]) == ("required", "required")
    assert options["rp"]["id"] == "localhost"
    add_passkey(client, Authenticator())
    second = client.post("/account/passkeys/options").json()
    assert len(second["excludeCredentials"]) == 1
    assert second["user"]["id"] == client.post("/account/passkeys/options").json()["user"]["id"]
    public = make_client().post(OPTIONS).json()
    assert (public["rpId"], public["userVerification"]) == ("localhost", "required")
    assert "allowCredentials" not in public, "which would name accounts"


def _set(name: str, value: Any) -> Callable[[Authenticator], None]:
    return lambda authenticator: setattr(authenticator, name, value)


FORGERIES = {
    "another site's page": _set("origin", "http://evil.example"),
    "another port": _set("origin", "http://localhost:9000"),
    "another domain": _set("domain", "evil.example"),
    "person not verified": _set("flags", AuthenticatorData.FLAG.UP),
    "unknown credential": _set("credential_id", b"x" * 32),
    "another key": _set("key", Authenticator().key),
    "another person's handle": _set("handle", "b3RoZXI"),
}
SHAPES = ("", "{}", "[]", "null", "[" * 9000, "x" * 30_000, '{"rawId": 5, "response": []}')


def test_reply_that_proves_nothing_is_refused(world: World, phone: Authenticator):
    for name, forge in FORGERIES.items():
        forger = copy.copy(phone)
        forge(forger)
        response = sign_in(make_client(), forger)
        assert (name, response.status_code) == (name, 403)
        check_refused(response)
    assert sign_in(make_client(), phone)["Location"] == "/"


def test_reply_of_another_shape_is_refused(world: World, phone: Authenticator):
    for reply in SHAPES:
        client = make_client()
        client.post(OPTIONS)
        check_refused(client.post(SIGN_IN, {"credential": reply}))
        client = at_domain(signed_in(world.people["owner"]))
        client.post("/account/passkeys/options")
        client.post("/account/passkeys/add", {"credential": reply})
        assert "The passkey wasn't added" in parse_page(client.get("/account")).text
    assert Passkey.objects.count() == 1


def test_challenge_counts_once_in_its_session_for_its_purpose_and_a_while(
    world: World, phone: Authenticator, monkeypatch: pytest.MonkeyPatch
):
    client = make_client()
    phone.counter = 0  # counts nothing, so that only the challenge can refuse
    Passkey.objects.update(sign_count=0)
    reply = {"credential": json.dumps(phone.get(client.post(OPTIONS).json()))}
    check_refused(make_client().post(SIGN_IN, reply))
    assert client.post(SIGN_IN, reply)["Location"] == "/"
    LedgerEntry.objects.all().delete()
    check_refused(client.post(SIGN_IN, reply))
    options = client.post("/account/passkeys/options").json()
    check_refused(client.post(SIGN_IN, {"credential": json.dumps(phone.get(options))}))
    reply = {"credential": json.dumps(phone.get(client.post(OPTIONS).json()))}
    late = clock.get_timestamp() + webauthn.CHALLENGE_SECONDS + 1
    monkeypatch.setattr(clock, "get_timestamp", lambda: late)
    check_refused(client.post(SIGN_IN, reply))


def test_counter_that_does_not_grow_is_refused(world: World, phone: Authenticator):
    Passkey.objects.update(sign_count=7)
    for counter in (7, 6, 0):
        phone.counter = counter
        check_refused(sign_in(make_client(), phone))
    phone.counter = 8
    assert sign_in(make_client(), phone)["Location"] == "/"


def test_deactivated_person_is_refused_as_an_unknown_one_is(world: World, phone: Authenticator):
    person = world.people["reader"]
    person.is_active = False
    person.save()
    check_refused(sign_in(make_client(), phone))


def test_session_of_before_ends(world: World, phone: Authenticator):
    client = make_client()
    client.post(OPTIONS)
    anonymous_key = client.session.session_key
    assert sign_in(client, phone)["Location"] == "/"
    assert client.session.session_key != anonymous_key
    assert not SignIn.objects.filter(person=None).exists()


def test_passkey_added_by_anothers_link_ends_on_joining_elsewhere(world: World):
    person, authenticators = world.people["reader"], (Authenticator(), Authenticator())
    client = make_client()
    links = [accounts.issue_link(person, world.people["owner"]), accounts.issue_link(person)]
    for authenticator, token in zip(authenticators, links, strict=True):
        client = make_client()
        client.post("/sign-in", {"code": token})
        add_passkey(client, authenticator)
    assert list(Passkey.objects.values_list("is_own", flat=True).order_by("pk")) == [False, True]
    rival = world.people["rival"]
    token = invitations.create_invitation(world.other_workspace, "New", Role.READER, rival)
    take_invitation(client, token)
    assert Passkey.objects.get().is_own
    client = make_client()
    assert sign_in(client, authenticators[1])["Location"] == "/"
    assert client.session["is_own"] is True
    assert sign_in(make_client(), authenticators[0]).status_code == 403


@pytest.mark.parametrize(("maker", "is_ended"), [("owner", True), ("reader", False)])
def test_session_by_a_passkey_of_anothers_link_ends_on_joining(
    world: World, maker: str, is_ended: bool
):
    """A group lets the person in, and nobody accepts an invitation."""
    person, authenticator, client = world.people["reader"], Authenticator(), make_client()
    client.post("/sign-in", {"code": accounts.issue_link(person, world.people[maker])})
    add_passkey(client, authenticator)
    client.post("/sign-out")
    assert sign_in(client, authenticator)["Location"] == "/"
    key_hash = hash_key(client.session.session_key or "")
    client.post("/account/link")
    link = SignInLink.objects.get(used_at=None)
    assert world.join_elsewhere("reader") == ([key_hash] if is_ended else [])
    assert SignInLink.objects.filter(pk=link.pk).exists() is not is_ended
    page = f"/conversations/{making.conversation(world.other_workspace).pk}"
    assert client.get(page).status_code == (302 if is_ended else 200)
    assert signed_in(person).get(page).status_code == 200
    assert not Passkey.objects.exists()


def test_passkey_of_another_account_and_one_too_many_are_refused(
    world: World, phone: Authenticator, monkeypatch: pytest.MonkeyPatch
):
    client = at_domain(signed_in(world.people["owner"]))
    add_passkey(client, phone)
    assert "was added before" in parse_page(client.get("/account")).text
    monkeypatch.setattr(passkeys, "MAX_PASSKEYS_PER_PERSON", 0)
    add_passkey(client, Authenticator())
    assert "Remove one before" in parse_page(client.get("/account")).text
    assert Passkey.objects.count() == 1


def test_unknown_algorithm_is_refused(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "tests.web.views.identity.authenticator.ES256.from_cryptography_key",
        lambda _key: RS256({1: 3, 3: -65535, -1: b"n", -2: b"e"}),
    )
    client = at_domain(signed_in(world.people["owner"]))
    add_passkey(client, Authenticator())
    assert "wasn't added" in parse_page(client.get("/account")).text


def test_site_without_a_name_or_https_offers_no_passkeys(world: World):
    client = signed_in(world.people["reader"])
    for host in ("127.0.0.1:8000", "[::1]:8000", "testserver"):
        client.defaults["HTTP_HOST"] = host
        assert "data-passkey=" not in client.get("/account").content.decode()
        assert "data-passkey=" not in Client(HTTP_HOST=host).get("/sign-in").content.decode()
        for path in (OPTIONS, "/account/passkeys/options"):
            response = client.post(path)
            assert (response.status_code, "localhost" in response.json()["problem"]) == (422, True)
    assert "data-passkey=" in make_client().get("/sign-in").content.decode()
    secure_page = Client(HTTP_HOST="testserver").get("/sign-in", secure=True)
    assert "data-passkey=" in secure_page.content.decode()


def test_challenges_for_strangers_are_limited(world: World):
    client = make_client()
    statuses = {client.post(OPTIONS).status_code for _ in range(rate_limits.SIGN_ON_LIMIT.count)}
    response = client.post(OPTIONS)
    assert (statuses, response.status_code) == ({200}, 429)
    assert "Too many sign-ins" in response.json()["problem"]


@pytest.mark.proof  # a tenth of a second of a start
def test_library_is_not_loaded_before_a_passkey_is_used():
    code = (
        "import django, sys; django.setup(); import jpweb.urls;"
        "print([name for name in sys.modules if name.split('.')[0] in ('fido2', 'segno')])"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "jpweb.settings"}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() == "[]"
