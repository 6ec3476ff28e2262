"""Single sign-on against a real provider in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.models import Identity, Invitation, LedgerEntry, Membership, Person, SignIn
from jpweb.store.people import invitations
from jpweb.store.people.sessions import hash_key
from tests.machine.ports import free_port
from tests.machine.sizes import mark_proof
from tests.web.reading import parse_page
from tests.web.views.identity.provider import Provider, run_provider
from tests.web.world import World, signed_in

START = "/sign-in/with/company"
CONNECT = "/account/identities/company/connect"
EMAIL = "ada@example.org"
#: Of the provider's library, about itself.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")


@pytest.fixture(scope="module")
def running_provider() -> Iterator[Provider]:
    with run_provider() as provider:
        yield provider


@pytest.fixture
def provider(running_provider: Provider, settings: Any) -> Provider:
    """The provider, which knows Ada by a verified address."""
    settings.OIDC_PROVIDERS = {"company": running_provider.settings}
    running_provider.set_claims("ada", email=EMAIL, email_verified=True)
    return running_provider


def connect(world: World, provider: Provider, name: str = "reader", **fields: Any) -> Identity:
    return Identity.objects.create(
        person=world.people[name], issuer=provider.url, subject="ada", **fields
    )


def find_problem(response: Any) -> str:
    return parse_page(response).find_one(role="alert").text


def list_details(act: Act) -> list[dict[str, Any]]:
    texts = LedgerEntry.objects.filter(act=act).values_list("text", flat=True)
    return [json.loads(text)["details"] for text in texts]


def test_connected_identity_signs_in_as_the_ledger_says(world: World, provider: Provider):
    connect(world, provider)
    client = Client()
    response = provider.sign_on(client, "ada", next_url="/questions?a=1#e-1")
    assert (response.status_code, response["Location"]) == (302, "/questions?a=1#e-1")
    assert "reader" in parse_page(client.get("/account")).text
    assert list_details(Act.SIGNED_IN) == [{"provider": "Company"}]
    assert Identity.objects.get().used_at is not None
    assert SignIn.objects.filter(person=world.people["reader"]).count() == 1


def test_request_has_proof_keys_and_leads_there_without_a_redirect(
    world: World, provider: Provider
):
    page = parse_page(Client().post(START))
    address = page.find_one(rel="noreferrer")["href"]
    assert page.find_one(**{"http-equiv": "refresh"})["content"] == f"0; url={address}"
    query = parse_qs(urlsplit(address).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == ["http://testserver/sign-in/with/company/callback"]
    assert len(query["state"][0]) >= 16
    assert set(query["scope"][0].split()) == {"openid", "profile", "email"}


def test_unknown_person_gets_a_page_and_no_account(world: World, provider: Provider):
    before, client = Person.objects.count(), Client()
    response = provider.sign_on(client, "ada")
    assert response.status_code == 403
    assert "no account here" in find_problem(response)
    assert EMAIL in parse_page(response).text
    assert Person.objects.count() == before
    assert client.get("/").status_code == 302


@pytest.mark.parametrize("is_verified", [True, *mark_proof("true")])
def test_invitation_by_verified_address_makes_an_account_once(
    world: World, provider: Provider, is_verified: Any
):
    provider.set_claims("ada", email=EMAIL.upper(), email_verified=is_verified)
    invitations.create_invitation(world.workspace, EMAIL, Role.AUDITOR, world.people["owner"])
    for _ in range(2):
        client = Client()
        assert provider.sign_on(client, "ada")["Location"] == "/"
        assert EMAIL in parse_page(client.get("/account")).text
    identity = Identity.objects.get()
    assert accounts.get_roles(identity.person_id) == {world.workspace.pk: Role.AUDITOR}
    assert identity.is_own
    assert not list(invitations.list_pending(world.workspace.pk))


def join_twice(world: World, provider: Provider) -> Client:
    """Have Ada join by an invitation, invite her into another workspace, and sign her in again."""
    invitations.create_invitation(world.workspace, EMAIL, Role.READER, world.people["owner"])
    provider.sign_on(Client(), "ada")
    rival = world.people["rival"]
    invitations.create_invitation(world.other_workspace, EMAIL.title(), Role.AUDITOR, rival)
    client = Client()
    provider.sign_on(client, "ada")
    return client


def test_second_invitation_by_address_is_joined_from_home_and_account(
    world: World, provider: Provider
):
    client = join_twice(world, provider)
    other_sign_in = signed_in(Person.objects.get(first_name=EMAIL))
    for path in ("/", "/account"):
        row = parse_page(client.get(path)).find_one(**{"data-invitation": "Elsewhere"})
        assert "Rival invited Ada@Example.Org to Elsewhere as Auditor" in row.text
    key = parse_page(client.get("/")).find_one(name="invitation")["value"]
    offer = parse_page(client.post("/join", {"invitation": key}))
    kept = [box["value"] for box in offer.find_all(name="keep") if "checked" in box]
    key = offer.find_one(name="invitation")["value"]
    page = client.post("/join", {"invitation": key, "do": "join", "keep": kept}, follow=True)
    assert "You joined Elsewhere as Auditor" in parse_page(page).text
    assert accounts.get_roles(Identity.objects.get().person_id) == {
        world.workspace.pk: Role.READER,
        world.other_workspace.pk: Role.AUDITOR,
    }
    assert other_sign_in.get("/").status_code == 302
    assert not parse_page(client.get("/")).find_all(id="invitations")


def test_second_invitation_by_address_is_declined_on_its_page(world: World, provider: Provider):
    client = join_twice(world, provider)
    key = parse_page(client.get("/")).find_one(name="invitation")["value"]
    page = client.post("/join", {"invitation": key, "do": "decline"}, follow=True)
    assert "Declined the invitation to Elsewhere." in parse_page(page).text
    assert not parse_page(page).find_all(id="invitations")
    assert not Invitation.objects.exists()
    assert accounts.get_roles(Identity.objects.get().person_id) == {world.workspace.pk: Role.READER}


def test_only_a_signed_in_person_can_decline_an_invitation(world: World):
    token = invitations.create_invitation(
        world.workspace, "Eve", Role.READER, world.people["owner"]
    )
    page = Client().post("/join", {"code": token, "do": "decline"})
    assert "Decline" not in parse_page(page).text
    assert Invitation.objects.exists()


@pytest.mark.parametrize("case", ["by link", "other address", "unverified", "not own", "withdrawn"])
def test_invitation_by_address_takes_a_session_that_proved_it(
    world: World, provider: Provider, case: str
):
    client = join_twice(world, provider)
    key = parse_page(client.get("/")).find_one(name="invitation")["value"]
    if case == "by link":
        client = signed_in(Person.objects.get(first_name=EMAIL))
    elif case == "withdrawn":
        invitations.withdraw_invitation(world.other_workspace.pk, int(key))
    elif case == "not own":
        Identity.objects.update(is_own=False)
    else:
        email = "eve@example.org" if case == "other address" else EMAIL
        provider.set_claims("ada", email=email, email_verified=case != "unverified")
        provider.sign_on(client, "ada")
    assert not parse_page(client.get("/")).find_all(id="invitations")
    assert client.post("/join", {"invitation": key, "do": "join"}).status_code == 403
    assert accounts.get_role(Identity.objects.get().person_id, world.other_workspace.pk) is None


@pytest.mark.parametrize("claims", [{"email_verified": False}, {}, {"email_verified": "maybe"}])
def test_unverified_address_accepts_no_invitation(
    world: World, provider: Provider, claims: dict[str, Any]
):
    provider.set_claims("ada", email=EMAIL, **claims)
    invitations.create_invitation(world.workspace, EMAIL, Role.READER, world.people["owner"])
    response = provider.sign_on(Client(), "ada")
    assert response.status_code == 403
    assert "no verified email address" in parse_page(response).text
    assert not Identity.objects.exists()


def test_single_sign_on_does_not_match_accounts_by_email(world: World, provider: Provider):
    Person.objects.filter(pk=world.people["owner"].pk).update(
        email=EMAIL, username=EMAIL, first_name=EMAIL
    )
    assert provider.sign_on(Client(), "ada").status_code == 403


def test_state_of_another_browser_is_refused(world: World, provider: Provider):
    connect(world, provider)
    address = parse_page(Client().post(START)).find_one(rel="noreferrer")["href"]
    other_client = Client()
    other_client.post(START)
    response = other_client.get(provider.authorize(str(address), "ada"))
    assert response.status_code == 403
    assert "started in another browser" in find_problem(response)
    assert not list_details(Act.SIGNED_IN)


def test_callback_works_once(world: World, provider: Provider):
    connect(world, provider)
    client = Client()
    address = parse_page(client.post(START)).find_one(rel="noreferrer")["href"]
    callback = provider.authorize(str(address), "ada")
    assert client.get(callback)["Location"] == "/"
    assert client.get(callback)["Location"] == "/account"
    assert "Start again" in parse_page(client.get("/account")).text
    assert len(list_details(Act.SIGNED_IN)) == 1


def test_expired_code_proves_nothing(world: World, provider: Provider):
    connect(world, provider)
    client = Client()
    address = parse_page(client.post(START)).find_one(rel="noreferrer")["href"]
    callback = provider.authorize(str(address), "ada")
    response = client.get(callback.replace("code=", "code=expired"))
    assert response.status_code == 403
    assert "didn't prove who you are" in find_problem(response)


def test_denied_consent_is_named(world: World, provider: Provider):
    response = provider.sign_on(Client(), "ada", action="deny")
    assert response.status_code == 403
    assert "cancelled or refused" in find_problem(response)


def test_provider_that_is_down_gives_one_clear_message(
    world: World, provider: Provider, settings: Any
):
    dead_url = f"http://localhost:{free_port()}"
    settings.OIDC_PROVIDERS = {"company": replace(provider.settings, url=dead_url)}
    response = Client().post(START)
    assert response.status_code == 502
    assert "Company isn't responding correctly" in find_problem(response)


def test_metadata_of_another_issuer_are_refused(world: World, provider: Provider, settings: Any):
    elsewhere = provider.url.replace("localhost", "127.0.0.1")
    settings.OIDC_PROVIDERS = {"company": replace(provider.settings, url=elsewhere + "/x/..")}
    assert Client().post(START).status_code == 502


def test_person_connects_and_disconnects_an_identity(world: World, provider: Provider):
    client = Client()
    client.post("/sign-in", {"code": accounts.issue_link(world.people["reader"])})
    assert provider.sign_on(client, "ada", CONNECT)["Location"] == "/account"
    page = parse_page(client.get("/account"))
    assert "You can now sign in with Company." in page.text
    assert EMAIL in page.text
    identity = Identity.objects.get(person=world.people["reader"])
    assert (identity.subject, identity.is_own) == ("ada", True)
    client.post("/account/identities/disconnect", {"identity": str(identity.pk)})
    assert not Identity.objects.exists()
    assert provider.sign_on(Client(), "ada").status_code == 403
    for act in (Act.IDENTITY_CONNECTED, Act.IDENTITY_DISCONNECTED):
        assert list_details(act) == [{"provider": "Company"}]


def test_two_identities_of_a_provider_have_names_of_their_own(world: World, provider: Provider):
    subjects = ["ada", "b-17", "c-18"]
    for subject in subjects:
        Identity.objects.create(
            person=world.people["reader"], issuer=provider.url, subject=subject, email=""
        )
    page = parse_page(world.client("reader").get("/account"))
    rows = [tag for tag in page if "data-identity" in tag]
    buttons = [tag.text for tag in page if tag.tag == "button" and tag.text.startswith("Disconn")]
    assert [text.partition(" identity ")[2] for text in buttons] == subjects
    assert all(subject in row.text for row, subject in zip(rows, subjects, strict=True))


def test_connected_identity_stays_with_its_account(world: World, provider: Provider):
    identity = connect(world, provider, "owner")
    client = signed_in(world.people["reader"])
    provider.sign_on(client, "ada", CONNECT)
    assert "belongs to another account" in parse_page(client.get("/account")).text
    client.post("/account/identities/disconnect", {"identity": str(identity.pk)})
    assert "already disconnected" in parse_page(client.get("/account")).text
    assert Identity.objects.get().person == world.people["owner"]


@pytest.mark.parametrize("is_deactivated", [True, False])
def test_connecting_ends_with_the_person_who_began_it(
    world: World, provider: Provider, is_deactivated: bool
):
    client = signed_in(world.people["reader"])
    address = parse_page(client.post(CONNECT)).find_one(rel="noreferrer")["href"]
    callback = provider.authorize(str(address), "ada")
    if is_deactivated:
        Person.objects.filter(pk=world.people["reader"].pk).update(is_active=False)
    else:
        client.force_login(world.people["owner"])
    assert client.get(callback).status_code in (302, 403)
    assert not Identity.objects.exists()


def test_deactivated_person_stays_outside(world: World, provider: Provider):
    connect(world, provider)
    Person.objects.filter(pk=world.people["reader"].pk).update(is_active=False)
    invitations.create_invitation(world.workspace, EMAIL, Role.READER, world.people["owner"])
    response = provider.sign_on(Client(), "ada")
    assert response.status_code == 403
    assert list_details(Act.SIGNED_IN) == []


def test_user_info_of_another_subject_proves_nothing(
    world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    connect(world, provider)
    claims = {"sub": "ada", "email": EMAIL, "email_verified": True}
    monkeypatch.setattr(
        OpenIDConnectOAuth2Adapter, "_fetch_user_info", lambda _adapter, _token: claims
    )
    assert provider.sign_on(Client(), "ada")["Location"] == "/"
    assert "didn't prove who you are" in find_problem(provider.sign_on(Client(), "eve"))


def test_identity_connected_by_another_persons_link_ends_with_a_new_role(
    world: World, provider: Provider
):
    eve, rival = world.people["outsider"], world.people["rival"]
    client = Client()
    client.post("/sign-in", {"code": accounts.issue_link(eve, maker=rival)})
    provider.sign_on(client, "ada", CONNECT)
    assert not Identity.objects.get(person=eve).is_own
    token = invitations.create_invitation(
        world.workspace, "Eve", Role.READER, world.people["owner"]
    )
    client.post("/join", {"code": token, "do": "join"})
    assert Membership.objects.filter(person=eve, workspace=world.workspace).exists()
    assert not Identity.objects.exists()
    provider.sign_on(client, "ada", CONNECT)
    assert not Identity.objects.get(person=eve).is_own


def test_session_by_an_identity_of_anothers_link_ends_on_joining(world: World, provider: Provider):
    client, link = Client(), accounts.issue_link(world.people["reader"], world.people["owner"])
    client.post("/sign-in", {"code": link})
    provider.sign_on(client, "ada", CONNECT)
    client.post("/sign-out")
    assert provider.sign_on(client, "ada")["Location"] == "/"
    assert world.join_elsewhere("reader") == [hash_key(client.session.session_key or "")]


def test_secret_and_codes_are_in_no_log_line(
    world: World, provider: Provider, caplog: pytest.LogCaptureFixture
):
    provider.sign_on(Client(), "ada")
    lines = [record for record in caplog.records if not record.name.startswith(("oidc", "werk"))]
    text = "\n".join(record.getMessage() for record in lines)
    assert 'sign-on refused from="127.0.0.1" provider="Company"' in text
    assert "a-client-secret" not in text
    assert "a-client-secret" not in repr(provider.settings)
