from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.inbox import claims
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import LedgerEntry, Membership, SignIn, SignInLink
from jpweb.store.people import group_members, groups, invitations
from jpweb.web.security import rate_limits
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


def code(world: World, name: str = "reader") -> str:
    return accounts.issue_link(world.people[name])


def use(client: Client, code_text: str, path: str = "/sign-in", **fields: str) -> Any:
    return client.post(path, {"code": code_text, **fields})


def invitation(world: World, name: str = "Eve", role: Role = Role.READER) -> str:
    return invitations.create_invitation(world.workspace, name, role, world.people["owner"])


@pytest.mark.parametrize("before", ["", " ", "http://testserver/sign-in#"])
def test_sign_in_with_a_code_or_link_works_once(world: World, before: str):
    code_text, first, second = before + code(world), Client(), Client()
    response = use(first, code_text)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert "Reader" in parse_page(first.get("/")).text
    second_response = use(second, code_text)
    assert second_response.status_code == 403
    assert "is invalid" in parse_page(second_response).find_one(role="alert").text
    assert second.get("/")["Location"].startswith("/sign-in")


@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("path", ["/sign-in", "/join"])
def test_sign_in_link_is_not_used_by_opening_its_page(world: World, method: str, path: str):
    token, invited = code(world), invitation(world)
    for query in ("", f"?code={token}", f"?code={invited}&do=join"):
        assert getattr(Client(), method)(path + query).status_code == 200
    assert use(Client(), token).status_code == 302
    assert use(Client(), invited, "/join", do="join").status_code == 302


@pytest.mark.parametrize("is_own", [True, False])
def test_sign_in_with_a_used_code_leads_the_signed_in_home(world: World, is_own: bool):
    token = code(world)
    use(Client(), token)
    client = signed_in(world.people["reader" if is_own else "owner"])
    response = use(client, token)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert ("Reader" if is_own else "Owner") in parse_page(client.get("/")).text


def test_sign_in_with_a_link_of_another_person_changes_who_one_is(world: World):
    client = signed_in(world.people["owner"])
    before = SignIn.objects.get().pk
    use(client, code(world))
    assert "Reader" in parse_page(client.get("/")).text
    assert client.get(f"/workspaces/{world.workspace.pk}/people").status_code == 403
    assert not SignIn.objects.filter(pk=before).exists()


@pytest.mark.parametrize("next_name", ["reader", "owner"])
def test_sign_in_records_the_end_of_another_persons_sign_in(
    world: World, next_name: str, caplog: pytest.LogCaptureFixture
):
    owner = world.people["owner"]
    client = signed_in(owner)
    assert claims.claim_question(world.question, owner)
    with caplog.at_level(logging.INFO, "jpweb.security"):
        use(client, code(world, next_name))
    entries = LedgerEntry.objects.filter(act__in=(Act.SIGNED_IN, Act.SIGNED_OUT)).order_by("pk")
    is_same_person = next_name == "owner"
    previous_acts = [] if is_same_person else [(Act.SIGNED_OUT, owner.pk)]
    next_act = (Act.SIGNED_IN, world.people[next_name].pk)
    assert list(entries.values_list("act", "person_id")) == [*previous_acts, next_act]
    assert ("sign-out " in caplog.text) is not is_same_person
    claim = claims.list_claims([world.question.pk]).get(world.question.pk)
    assert (claim is not None) is is_same_person


@pytest.mark.parametrize("code_text", ["guessed", "x" * 2000, "\0", "ünï", "", "#"])
@pytest.mark.parametrize("path", ["/sign-in", "/join"])
def test_unknown_sign_in_code_is_refused(world: World, code_text: str, path: str):
    assert use(Client(), code_text, path).status_code == 403


def test_a_code_grows_old(world: World):
    token = code(world)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert use(Client(), token).status_code == 403


def test_sign_in_pages_are_not_cacheable(world: World):
    for path in ("/sign-in", "/join"):
        assert "no-store" in Client().get(path)["Cache-Control"]
        assert "no-store" in use(Client(), "guessed", path)["Cache-Control"]


def test_refused_codes_above_the_limit_get_429_and_a_good_one_passes(world: World):
    statuses = [
        use(Client(), "guessed").status_code
        for _ in range(rate_limits.REFUSED_LINK_LIMIT.count + 1)
    ]
    assert set(statuses[:-1]) == {403}
    refusal = use(Client(), "guessed", "/join")
    assert (statuses[-1], refusal.status_code) == (429, 429)
    assert 0 < int(refusal["Retry-After"]) <= rate_limits.REFUSED_LINK_LIMIT.seconds
    assert "Too many invalid links" in parse_page(refusal).text
    assert use(Client(), code(world)).status_code == 302


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("/sign-in", "sign-in link refused"),
        ("/join", "invitation refused"),
        ("/sign-in/passkey", "passkey refused"),
    ],
)
def test_refusals_above_the_limit_write_no_line(
    world: World, caplog: pytest.LogCaptureFixture, path: str, event: str
):
    caplog.set_level(logging.INFO, "jpweb.security")
    for _ in range(rate_limits.REFUSED_LINK_LIMIT.count + 5):
        use(Client(), "guessed", path)
    assert len(caplog.messages) == rate_limits.REFUSED_LINK_LIMIT.count
    assert all(message.startswith(f"{event} from=") for message in caplog.messages)


def test_used_link_leads_home_without_a_line_above_the_limit(
    world: World, caplog: pytest.LogCaptureFixture
):
    client, count = world.client("reader"), rate_limits.REFUSED_LINK_LIMIT.count
    caplog.set_level(logging.INFO, "jpweb.security")
    locations = {use(client, "guessed")["Location"] for _ in range(count + 1)}
    assert (locations, len(caplog.messages)) == ({"/"}, count)


def test_sign_in_page_shows_only_how_to_sign_in(world: World):
    page = parse_page(Client().get("/sign-in"))
    assert "Sign in with a one-time link" in page.text
    assert "ws-connect" not in next(tag for tag in page if tag.tag == "body")
    assert world.conversation.title not in page.text


def test_signing_out_ends_the_session_and_clears_the_browser(world: World):
    client = signed_in(world.people["owner"])
    response = client.post("/sign-out")
    assert response["Location"] == "/sign-in"
    assert response["Clear-Site-Data"] == '"cache", "storage"'
    assert client.get("/")["Location"].startswith("/sign-in")


def test_sign_out_of_a_stranger_writes_no_row_and_no_line(
    world: World, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "jpweb.security")
    client = Client()
    response = client.post("/sign-out")
    assert response["Location"] == "/sign-in"
    assert response["Clear-Site-Data"] == '"cache", "storage"'
    assert not client.cookies
    assert not SignIn.objects.exists()
    assert not caplog.records


def test_a_sign_in_that_ended_elsewhere_clears_the_browsers_cache(world: World):
    client = signed_in(world.people["owner"])
    SignIn.objects.all().delete()
    response = client.get("/")
    assert response["Location"].startswith("/sign-in")
    assert response["Clear-Site-Data"] == '"cache"'
    assert "Clear-Site-Data" not in Client().get("/")


def test_inactive_person_is_signed_out(world: World):
    client, token = signed_in(world.people["owner"]), code(world, "owner")
    world.people["owner"].is_active = False
    world.people["owner"].save()
    assert client.get("/")["Location"].startswith("/sign-in")
    assert use(Client(), token).status_code == 403


def test_the_way_back_is_named_but_never_to_another_site(world: World):
    response = Client().get("/questions?a=1")
    assert response["Location"] == "/sign-in?next=%2Fquestions%3Fa%3D1"
    assert use(Client(), code(world), "/sign-in?next=//evil.example")["Location"] == "/"
    assert parse_page(Client().get(response["Location"])).find_one(name="next")["value"] == (
        "/questions?a=1"
    )


@pytest.mark.parametrize(
    ("page_url", "location"),
    [
        (
            "http://testserver/conversations/1?at=e-1#e-1",
            "/sign-in?next=%2Fconversations%2F1%3Fat%3De-1%23e-1",
        ),
        ("https://evil.example/conversations/1", "/sign-in"),
    ],
)
def test_htmx_leads_a_page_to_the_sign_in_and_back(world: World, page_url: str, location: str):
    headers = {"HX-Request": "true", "HX-Current-URL": page_url}
    response = Client().get("/questions", headers=headers)
    assert response["HX-Redirect"] == location


@pytest.mark.parametrize(
    ("next_url", "location"),
    [
        ("/questions?a=1", "/questions?a=1"),
        ("/conversations/1?at=e-1#e-1", "/conversations/1?at=e-1#e-1"),
        ("/a\r\nSet-Cookie: a=b", "/a%0D%0ASet-Cookie:%20a=b"),
        ("questions", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/questions", "/"),
        ("javascript:alert(1)", "/"),
        ("#e-1", "/"),
    ],
)
def test_sign_in_leads_to_the_page_of_this_site_that_its_form_names(
    world: World, next_url: str, location: str
):
    assert use(Client(), code(world), next=next_url)["Location"] == location


def test_refused_link_still_leads_to_the_page_that_wanted_the_sign_in(world: World):
    page = parse_page(use(Client(), "used-up", next="/questions#e-1"))
    assert {field["value"] for field in page.find_all(name="next")} == {"/questions#e-1"}


def test_an_invitation_is_shown_before_it_is_taken(world: World):
    token = invitation(world, role=Role.AUDITOR)
    page = parse_page(use(Client(), token, "/join"))
    assert "“Eve” is invited to Garden as Auditor" in page.text
    assert "join with a new account" in page.text
    page = parse_page(use(world.client("rival"), token, "/join"))
    assert "You join as Rival" in page.text
    assert not Membership.objects.filter(
        workspace=world.workspace, person__username="rival"
    ).exists()


def test_taking_an_invitation_keeps_this_sign_in_and_ends_others(world: World):
    client, second_client = world.client("rival"), world.client("rival")
    response = client.post("/join", {"code": invitation(world), "do": "join"}, follow=True)
    assert "You joined Garden as Reader" in parse_page(response).text
    assert client.get(f"/conversations/{world.conversation.pk}").status_code == 200
    assert second_client.get("/")["Location"].startswith("/sign-in")


def test_invitation_taken_by_a_member_is_refused(world: World):
    token = invitation(world)
    response = use(world.client("reader"), token, "/join", do="join")
    assert response.status_code == 422
    assert "already" in parse_page(response).find_one(role="alert").text
    assert use(Client(), token, "/join", do="join").status_code == 302


def test_a_sign_in_by_an_owners_link_ends_when_its_person_joins_elsewhere(world: World):
    """Seen: the owner of A kept a link of Bob's, B invited Bob, and the link read in B."""
    rival, workspace = world.people["rival"], world.other_workspace
    bob = Client()
    token = invitations.create_invitation(workspace, "Bob", Role.READER, rival)
    use(bob, token, "/join", do="join")
    membership = Membership.objects.get(workspace=workspace, person__first_name="Bob")
    page = world.client("rival").post(f"/memberships/{membership.pk}/link")
    owner_link = parse_page(page).find_one(**{"data-link": ""}).text
    page = world.client("rival").post(f"/memberships/{membership.pk}/link")
    as_bob = Client()
    use(as_bob, parse_page(page).find_one(**{"data-link": ""}).text)
    own_link = parse_page(as_bob.post("/account/link")).find_one(**{"data-link": ""}).text
    use(bob, invitation(world, "Bob"), "/join", do="join")
    conversation = f"/conversations/{world.conversation.pk}"
    assert bob.get(conversation).status_code == 200
    assert as_bob.get(conversation)["Location"].startswith("/sign-in")
    assert {use(Client(), link).status_code for link in (owner_link, own_link)} == {403}


def test_link_from_an_owners_sign_in_ends_when_a_group_admits_the_person(world: World):
    owner, bob = world.people["owner"], making.person("bob", Role.READER, world.other_workspace)
    Membership.objects.create(person=owner, workspace=world.other_workspace, role=Role.OWNER)
    by_rival, by_own_link = Client(), Client()
    use(by_rival, accounts.issue_link(bob, maker=world.people["rival"]))
    own_link = parse_page(by_rival.post("/account/link")).find_one(**{"data-link": ""}).text
    use(by_own_link, own_link)
    assert by_own_link.get("/").status_code == 200
    group = groups.create_group("Night shift", owner)
    group_members.add_person(group, bob, Actor.from_person(owner))
    group_members.accept_group(group.members.get(), bob)
    groups.give_role(group, world.workspace, Role.READER, Actor.from_person(owner))
    for client in (by_rival, by_own_link):
        assert client.get("/")["Location"].startswith("/sign-in")


def test_a_page_lists_ones_sign_ins_and_ends_them_all(world: World):
    client, second_client = world.client("reader"), world.client("reader")
    page = parse_page(client.get("/account"))
    assert sum("Signed in" in tag.text for tag in page if "data-sign-in" in tag) == 2
    assert page.text.count("this browser") == 1
    link = parse_page(client.post("/account/link")).find_one(**{"data-link": ""}).text
    response = client.post("/account/end")
    assert response["Location"] == "/sign-in"
    assert response["Clear-Site-Data"] == '"cache", "storage"'
    for session_client in (client, second_client):
        assert session_client.get("/")["Location"].startswith("/sign-in")
    assert use(Client(), link).status_code == 403


def test_a_link_for_another_device_signs_in_and_is_bounded(world: World, monkeypatch: Any):
    client = world.client("reader")
    response = client.post("/account/link")
    assert "no-store" in response["Cache-Control"]
    assert use(Client(), parse_page(response).find_one(**{"data-link": ""}).text).status_code == 302
    monkeypatch.setattr(invitations, "MAX_LINKS_PER_HOUR", 1)
    assert client.post("/account/link").status_code == 422


def test_security_events_are_logged_without_codes(world: World, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "jpweb.security")
    owner = world.client("owner")
    members = f"/memberships/{world.member('reader').pk}"
    people = f"/workspaces/{world.workspace.pk}/people"
    pages = [owner.post(path) for path in (f"{members}/link", "/account/link")]
    pages.append(owner.post(f"{people}/invite", {"name": "Eve", "role": "10"}))
    links = [parse_page(page).find_one(**{"data-link": ""}).text for page in pages]
    eve, reader = Client(), Client()
    use(eve, links[2], "/join", do="join")
    use(reader, links[0])
    use(Client(), "guessed-code")
    use(Client(), "guessed-code", "/join")
    reader.get(people)
    reader.get(f"/workspaces/{world.other_workspace.pk}/tools")
    owner.post(f"{members}/role", {"role": "20"})
    owner.post(f"{members}/remove")
    reader.post("/sign-out")
    owner.post("/account/end")
    messages = [record.message.split(" from=")[0] for record in caplog.records]
    assert messages == [
        "sign-in link made",
        "sign-in link made",
        "invited",
        "sign-in",
        "joined",
        "sign-in",
        "sign-in link refused",
        "invitation refused",
        "denied",
        "denied",
        "role changed",
        "member removed",
        "sign-out",
        "sign-out everywhere",
        "sign-out",
    ]
    codes = [link.partition("#")[2] for link in links] + ["guessed-code"]
    assert not any(code in caplog.text for code in codes)
    assert 'name="Eve"' in caplog.text
