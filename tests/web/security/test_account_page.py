"""The page "Account": each browser, ending one of them, and ending all others."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act
from jpweb.store.models import AnswerLink, LedgerEntry, SignIn, SignInLink
from jpweb.store.notifications import answer_links
from jpweb.store.people.sessions import hash_key
from tests.web.reading import parse_page
from tests.web.world import World

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; rv:128.0) Gecko/20100101 Firefox/128.0"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1"


def sign_in(world: World, name: str, user_agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    client.post("/sign-in", {"code": accounts.issue_link(world.people[name])})
    return client


def get_key_hash(client: Client) -> str:
    return hash_key(client.session.session_key or "")


def is_signed_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def list_names(client: Client) -> list[str]:
    page = parse_page(client.get("/account"))
    return [str(tag["data-sign-in"]) for tag in page if "data-sign-in" in tag]


def post(client: Client, path: str, **data: str) -> Any:
    return client.post(path, data, follow=True).content.decode()


def test_page_names_the_browser_and_system_of_each_sign_in(world: World):
    here, _there = sign_in(world, "reader"), sign_in(world, "reader", IPHONE)
    world.client("reader")
    page = parse_page(here.get("/account"))
    assert sorted(list_names(here)) == ["", "Firefox on Windows", "Safari on iPhone"]
    assert "Firefox on Windows (this browser)" in " ".join(page.text.split())
    assert "Unknown browser" in page.text
    assert len(page.find_all(action="/account/end-one")) == 2
    assert "Gecko" not in str(SignIn.objects.values_list("data", flat=True))


def test_end_one_ends_that_sign_in_alone_and_is_an_entry(world: World):
    here, there, third = (sign_in(world, "reader", agent) for agent in (FIREFOX, IPHONE, FIREFOX))
    text = post(here, "/account/end-one", sign_in=get_key_hash(there))
    assert "That browser is signed out." in text
    assert [is_signed_in(client) for client in (here, there, third)] == [True, False, True]
    entry = LedgerEntry.objects.get(act=Act.SIGN_INS_ENDED)
    assert entry.person_id == world.people["reader"].pk
    assert json.loads(entry.text)["details"] == {"kind": "one", "name": "Safari on iPhone"}


def test_end_one_refuses_this_one_those_of_others_and_unknown_ones(world: World):
    here, other = sign_in(world, "reader"), sign_in(world, "owner")
    for key_hash in (get_key_hash(here), get_key_hash(other), "", "x" * 5000, "a\0b"):
        assert "has ended already" in post(here, "/account/end-one", sign_in=key_hash)
    assert is_signed_in(here)
    assert is_signed_in(other)
    assert not LedgerEntry.objects.filter(act=Act.SIGN_INS_ENDED).exists()


def test_end_others_keeps_this_one_and_ends_unused_links(world: World):
    here, there, owner = (
        sign_in(world, "responder"),
        sign_in(world, "responder", IPHONE),
        sign_in(world, "owner"),
    )
    person = world.people["responder"]
    accounts.issue_link(person)
    answer_links.issue_link(world.question.pk, person.pk)
    assert "Your other sign-ins have ended." in post(here, "/account/end-others")
    assert [is_signed_in(client) for client in (here, there, owner)] == [True, False, True]
    assert not SignInLink.objects.filter(person=person, used_at=None).exists()
    assert not AnswerLink.objects.exists()
    entry = LedgerEntry.objects.get(act=Act.SIGN_INS_ENDED)
    assert json.loads(entry.text)["details"] == {"kind": "others"}
    assert list_names(here) == ["Firefox on Windows"]
    assert "Sign out all others" not in here.get("/account").content.decode()


def test_personal_data_is_a_file_and_an_entry_of_the_ledger(world: World):
    client = sign_in(world, "responder")
    client.post(f"/questions/{world.question.pk}/answer", {"answer": "true"})
    assert parse_page(client.get("/account")).find_one(href="/account/data.json")
    LedgerEntry.objects.all().delete()
    response: Any = client.get("/account/data.json")
    assert "jpweb-personal-data.json" in response["Content-Disposition"]
    assert response["Content-Type"] == "application/json"
    data = json.loads(response.content)
    assert data["sign_ins"][0]["browser"] == "Firefox on Windows"
    assert [row["answer"] for row in data["answers"]] == [True]
    assert [row["entry"]["act"] for row in data["ledger_entries"]] == ["exported"]
    entry = LedgerEntry.objects.get(act=Act.EXPORTED)
    assert entry.person_id == world.people["responder"].pk
    assert client.head("/account/data.json").status_code == 200
    assert LedgerEntry.objects.filter(act=Act.EXPORTED).count() == 1


def test_page_and_all_links_to_it_have_one_name(world: World):
    """It has groups, passkeys and a person's data too, so it is not named for its sign-ins."""
    client = sign_in(world, "reader")
    page = parse_page(client.get("/account"))
    assert [tag.text for tag in page if tag.tag in ("title", "h1")] == [
        "Account · jpweb",
        "Account",
    ]
    for path in ("/account", "/settings", "/go"):
        links = parse_page(client.get(path)).find_all(href="/account")
        assert {tag.text for tag in links} == {"Account"}, path
