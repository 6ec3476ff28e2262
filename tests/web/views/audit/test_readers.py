"""“Who viewed my conversations”: who else opened or exported those that a person started."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from jpweb.runtime import read_log
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger import listing, retention, sealing
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import LedgerEntry, Person
from jpweb.stream.events import ChatRequest
from tests.store import making
from tests.web.test_access import make_address
from tests.web.world import World

#: What is said where no conversation is known as the person's: whether any was opened is not.
NONE_STARTED = "You haven't started a conversation or turn here."


@pytest.mark.parametrize("name", ["Operator", "Former member"])
def test_reader_without_an_account_has_a_generic_name(world: World, name: str):
    place = Place(world.workspace.pk, world.conversation.pk)
    actor = OPERATOR if name == "Operator" else Actor.from_person(making.person("gone"))
    record_act(Act.EXPORTED, actor, place, format="jp")
    Person.objects.filter(username="gone").delete()
    page = world.client("owner").get("/account/readers").content.decode()
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', page) == [name]


def test_readers_behind_the_first_page_are_on_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listing, "PAGE_ENTRIES", 2)
    for name in ("ann", "bob", "cay", "ann"):
        person = Person.objects.filter(username=name).first() or making.person(name)
        place = Place(world.workspace.pk, world.conversation.pk)
        record_act(Act.READ, Actor.from_person(person), place, view="conversation")
    client, pages = world.client("owner"), []
    address = "/account/readers"
    for _ in range(2):
        page = client.get(address).content.decode()
        pages.append(re.findall(r'data-label="Person"[^>]*>([^<]*)<', page))
        links = re.findall(r'href="([?]before=[0-9]+)"', page)
        address = f"/account/readers{links[0]}" if links else ""
    assert pages == [["Ann", "Cay"], ["Bob"]]
    assert address == ""
    assert "No older views" in client.get("/account/readers?before=1").content.decode()


def test_starter_sees_who_read_their_conversation(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    world.client("reader").get(make_address("conversation", world))
    world.client("owner").get(make_address("conversation", world))
    read_log.write_reads(gathered_reads)
    page = world.client("owner").get("/account/readers").content.decode()
    table = page.partition("<tbody>")[2]
    assert "Reader" in table
    assert "Owner" not in table
    page = world.client("reader").get("/account/readers").content.decode()
    assert NONE_STARTED in page
    assert "Nobody else" not in page


def test_person_who_started_a_turn_sees_who_read_its_conversation(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    responder = world.people["responder"]
    conversation = making.conversation(world.workspace, "Of jp, continued here")
    making.mirrored_conversation(world.workspace, ChatRequest("Of jp alone"))
    making.start_run(conversation, responder)
    client = world.client("responder")
    assert "Nobody else has viewed" in client.get("/account/readers").content.decode()
    world.client("reader").get(f"/conversations/{conversation.pk}")
    read_log.write_reads(gathered_reads)
    record_act(Act.EXPORTED, OPERATOR, Place(world.workspace.pk), file="questions.csv")
    page = client.get("/account/readers").content.decode()
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', page) == ["Reader", "Operator"]
    assert f'href="/conversations/{conversation.pk}"' in page
    assert "/audit/ledger" not in page


def test_auditor_gets_the_ledger_of_each_read_conversation(world: World):
    place = Place(world.workspace.pk, world.conversation.pk)
    record_act(Act.EXPORTED, OPERATOR, place, format="jp")
    page = world.client("owner").get("/account/readers").content.decode()
    assert f'href="/audit/ledger?conversation={world.conversation.pk}"' in page
    assert 'href="/audit/ledger?act=read"' in page


def test_starter_who_was_removed_sees_no_readers_of_their_conversation(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    world.client("reader").get(make_address("conversation", world))
    read_log.write_reads(gathered_reads)
    world.member("owner").delete()
    page = world.client("owner").get("/account/readers").content.decode()
    assert world.conversation.title not in page
    assert NONE_STARTED in page
    assert "Nobody else" not in page


@pytest.mark.parametrize(
    "address",
    [
        "/audit/evidence.zip",
        "/audit/evidence.zip?conversation={0}",
        "/conversations/{0}/evidence.zip",
        "/audit.csv?conversation={0}",
        "/audit.jsonl?conversation={0}",
        "/audit/decisions.csv?conversation={0}",
        "/audit/ledger/entries.csv?conversation={0}",
    ],
)
def test_starter_sees_each_download_of_their_conversation(world: World, address: str):
    world.client("responder").post(make_address("question-answer", world), {"answer": "true"})
    download(world, address.format(world.conversation.pk))
    page = world.client("owner").get("/account/readers").content.decode()
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', page) == ["Auditor"]
    assert f'href="/conversations/{world.conversation.pk}"' in page.partition("<tbody>")[2]
    assert "Exports of whole workspaces" not in page


@pytest.mark.parametrize("path", ["/audit", "/audit/charts", "/audit/decisions", "/audit/ledger"])
def test_starter_sees_who_read_their_conversation_in_lists(
    world: World, gathered_reads: Counter[read_log.ReadRecord], path: str
):
    world.client("auditor").get(f"{path}?conversation={world.conversation.pk}")
    read_log.write_reads(gathered_reads)
    page = world.client("owner").get("/account/readers").content.decode()
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', page) == ["Auditor"]
    assert f'href="/conversations/{world.conversation.pk}"' in page.partition("<tbody>")[2]


@pytest.mark.parametrize("address", ["/audit.csv", "/audit.jsonl", "/audit/decisions.csv"])
def test_starter_sees_who_downloaded_lists_of_the_workspace(world: World, address: str):
    world.client("responder").post(make_address("question-answer", world), {"answer": "true"})
    download(world, address)
    download(world, address, "owner")
    page = world.client("owner").get("/account/readers").content.decode()
    readers, _, exports = page.partition("Exports of whole workspaces")
    assert "Nobody else has viewed" in readers
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', exports) == ["Auditor"]
    assert 'data-label="Exports" class="number">1<' in exports
    page = world.client("reader").get("/account/readers").content.decode()
    assert "Exports of whole workspaces" not in page


def download(world: World, address: str, name: str = "auditor") -> None:
    response: Any = world.client(name).get(address)
    assert response.status_code == 200
    assert b"".join(response) if response.streaming else response.content


@pytest.mark.parametrize("path", ["/account/readers", "/audit/ledger"])
def test_page_says_up_to_when_views_were_purged(world: World, path: str):
    place = Place(world.workspace.pk, world.conversation.pk)
    actor = Actor.from_person(world.people["reader"])
    record_act(Act.READ, actor, place, view="conversation")
    client = world.client("owner")
    assert "data-purged" not in client.get(path).content.decode()
    sealing.seal_entries()
    before = clock.now() + timedelta(seconds=1)
    retention.purge_all(before, OPERATOR)
    page = client.get(path).content.decode()
    assert before.isoformat() in page
    assert "Nobody else has viewed your conversations." not in page
    record_act(Act.READ, actor, place, view="conversation")
    assert "data-purged" in client.get(path).content.decode()


def test_purge_of_sign_ins_alone_says_nothing_of_views(world: World):
    record_act(Act.SIGNED_IN, Actor.from_person(world.people["reader"]), Place())
    sealing.seal_entries()
    retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR)
    assert LedgerEntry.objects.filter(act=Act.PURGED).exists()
    assert "data-purged" not in world.client("owner").get("/account/readers").content.decode()


def test_forged_purge_tells_nothing_of_views(world: World):
    place = Place(world.workspace.pk, world.conversation.pk)
    record_act(Act.READ, Actor.from_person(world.people["reader"]), place, view="conversation")
    LedgerEntry.objects.filter(act=Act.READ).update(text="")
    record_act(Act.PURGED, OPERATOR, Place(), before=clock.now().isoformat(), sequences="1")
    LedgerEntry.objects.filter(act=Act.PURGED).update(mac="0" * 64)
    assert "data-purged" not in world.client("owner").get("/account/readers").content.decode()
