"""Finding in one conversation and stepping through it, with scripts and without."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.models import JournalEntry, Membership
from jpweb.store.search import indexer
from jpweb.store.transcript import navigation
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import CancellationReason, Cancelled
from tests.store import making
from tests.web.reading import read
from tests.web.world import World

JSON = {"Accept": "application/json"}
KINDS: tuple[EventKind, ...] = (
    TurnStart(),
    ChatRequest("Water the roses"),
    ChatResponse("message", "The roses are dry"),
    ToolCallRequest("call_1", "hose", {"bed": "roses"}),
    ToolCallResponse("call_1", "No water", is_error=True),
    TurnStart(),
    ChatRequest("And the tulips?"),
    ChatResponse("message", "They stand in the shade"),
)


@pytest.fixture
def talk(world: World) -> Any:
    made = making.conversation(world.home, "Watering", world.people["owner"])
    journal.append_events(made.pk, [making.event(kind) for kind in KINDS])
    made.refresh_from_db()
    return made


@pytest.fixture
def indexed(talk: Any) -> Any:
    indexer.index_conversation(talk.pk)
    return talk


def said(world: World, path: str, **query: str) -> dict[str, Any]:
    reply = world.client("reader").get(path, query, headers=JSON)
    assert reply.status_code == 200, reply.content
    found: dict[str, Any] = reply.json()
    return found


def anchor(talk: Any, position: int) -> str:
    return navigation.get_anchor(talk.pk, position)


def test_a_hit_says_which_it_is_and_where(world: World, indexed: Any):
    path = f"/conversations/{indexed.pk}/find"
    first = said(world, path, q="roses")
    assert (first["number"], first["total"], first["more"]) == (1, 3, False)
    assert (first["position"], first["anchor"]) == (1, anchor(indexed, 1))
    assert first["terms"] == ["roses"]
    second = said(world, path, q="roses", **{"from": str(first["position"])})
    assert (second["number"], second["position"]) == (2, 2)


def test_the_hits_go_round(world: World, indexed: Any):
    path = f"/conversations/{indexed.pk}/find"
    assert said(world, path, q="roses", **{"from": "3"})["number"] == 1
    assert said(world, path, q="roses", to="previous", **{"from": "1"})["number"] == 3
    assert said(world, path, q="roses", to="previous")["number"] == 3


def test_the_first_hit_is_the_one_that_the_reader_comes_to(world: World, indexed: Any):
    path = f"/conversations/{indexed.pk}/find"
    assert said(world, path, q="roses", at=anchor(indexed, 2))["position"] == 2
    assert said(world, path, q="roses", to="previous", at=anchor(indexed, 2))["position"] == 1
    assert said(world, path, q="roses", at="e-nowhere")["position"] == 1


def test_a_hit_in_a_call_names_the_item_that_it_is_shown_in(world: World, indexed: Any):
    hit = said(world, f"/conversations/{indexed.pk}/find", q='"no water"')
    assert (hit["anchor"], hit["item"]) == (anchor(indexed, 4), anchor(indexed, 3))


@pytest.mark.parametrize("words", ["nowhere", "", "   ", "-roses", "\x00"])
def test_nothing_found_is_no_hit(world: World, indexed: Any, words: str):
    found = said(world, f"/conversations/{indexed.pk}/find", q=words)
    assert found["total"] == 0
    assert "anchor" not in found


def test_what_is_not_indexed_is_said(world: World, talk: Any):
    assert said(world, f"/conversations/{talk.pk}/find", q="roses")["unindexed"] == len(KINDS)
    page = read(world.client("reader").get(f"/conversations/{talk.pk}/find?q=roses"))
    assert f"{len(KINDS)} events are still being indexed" in page.text


def test_without_scripts_the_hits_are_a_list_of_links(world: World, indexed: Any):
    here = f"/conversations/{indexed.pk}"
    page = read(world.client("reader").get(f"{here}/find?q=roses&show=person"))
    assert "3 matches" in page.text
    links = [tag["href"] for tag in page.all(**{"class": "row-link hit-link"})]
    places = [anchor(indexed, position) for position in (1, 2, 3)]
    assert links == [f"{here}?at={at}&show=person&q=roses#{at}" for at in places]
    assert world.client("reader").get(links[0]).status_code == 200


def test_a_hit_in_the_list_says_what_it_is_in(world: World, indexed: Any):
    page = read(world.client("reader").get(f"/conversations/{indexed.pk}/find", {"q": "water"}))
    tags = [tag.text for tag in page.tags if tag.get("class") == "tag"]
    assert tags == ["Prompt", "Failed result"]


def test_the_list_of_hits_goes_on(world: World, indexed: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jpweb.web.views.find.HITS_PER_PAGE", 2)
    path = f"/conversations/{indexed.pk}/find"
    page = read(world.client("reader").get(f"{path}?q=roses"))
    later = page.one(rel="next")["href"]
    rest = read(world.client("reader").get(path + later))
    assert len(rest.all(**{"class": "row hit"})) == 1
    assert "From the beginning" in rest.text
    assert not rest.all(rel="next")


def test_a_hostile_hit_is_text(world: World):
    made = making.conversation(world.home, "Bad", world.people["owner"])
    said_so = making.event(ChatRequest("<script>roses</script><b onclick=x>"))
    journal.append_events(made.pk, [making.event(TurnStart()), said_so])
    indexer.index_conversation(made.pk)
    reply = world.client("reader").get(f"/conversations/{made.pk}/find?q=roses")
    assert b"&lt;script&gt;<mark>roses</mark>&lt;/script&gt;" in reply.content


def step(world: World, talk: Any, what: str, to: str, at: int | str) -> str:
    path = f"/conversations/{talk.pk}/step"
    found = said(world, path, what=what, to=to, **{"from": str(at)})
    return str(found["anchor"])


def test_steps_go_to_the_next_and_previous_of_a_sort(world: World, talk: Any):
    assert step(world, talk, "prompt", "next", 1) == anchor(talk, 6)
    assert step(world, talk, "prompt", "previous", 6) == anchor(talk, 1)
    assert step(world, talk, "problem", "next", 1) == anchor(talk, 4)
    assert step(world, talk, "problem", "previous", 6) == anchor(talk, 4)
    assert step(world, talk, "item", "next", 3) == anchor(talk, 6)
    assert step(world, talk, "item", "previous", 6) == anchor(talk, 4)


def test_a_step_past_the_last_leads_nowhere(world: World, talk: Any):
    assert step(world, talk, "prompt", "next", 6) == ""
    assert step(world, talk, "prompt", "previous", 1) == ""
    assert step(world, talk, "inquiry", "next", 0) == ""


def test_what_is_no_place_counts_as_the_beginning(world: World, talk: Any):
    assert step(world, talk, "prompt", "next", "x") == anchor(talk, 1)
    assert step(world, talk, "prompt", "next", "9" * 40) == anchor(talk, 1)
    assert step(world, talk, "prompt", "previous", "²") == anchor(talk, 6)


def test_a_question_that_no_person_ended_is_a_problem(world: World):
    home = making.workspace("Elsewhere again")
    made = making.conversation(home, "Asked", world.people["owner"])
    Membership.objects.create(person=world.people["reader"], workspace=home, role=10)
    run = making.running(made)
    for reason in (CancellationReason.USER, CancellationReason.EXPIRED):
        row = making.question(run)
        making.settle(row, Cancelled(reason))
    asked = [position for position in range(8) if _category(made, position) == "question"]
    dropped = [position for position in range(8) if _category(made, position) == "dropped"]
    assert (len(asked), len(dropped)) == (2, 1)
    item_position = 2
    assert step(world, made, "inquiry", "next", item_position - 1) == anchor(made, asked[0])
    assert step(world, made, "inquiry", "previous", item_position + 1) == anchor(made, asked[-1])
    assert step(world, made, "problem", "next", item_position - 1) == anchor(made, dropped[0])


def _category(talk: Any, position: int) -> str:
    rows = JournalEntry.objects.filter(conversation=talk, position=position)
    return rows.values_list("category", flat=True).first() or ""


def test_steps_between_items_are_between_those_that_are_shown(world: World, talk: Any):
    path = f"/conversations/{talk.pk}/step"
    shown = said(world, path, what="item", to="next", show="person", **{"from": "1"})
    assert shown["anchor"] == anchor(talk, 6)


def test_without_scripts_a_step_is_a_link(world: World, talk: Any):
    here = f"/conversations/{talk.pk}"
    there = anchor(talk, 6)
    reply = world.client("reader").get(f"{here}/step?what=prompt&to=next&from=1&show=person")
    assert (reply.status_code, reply["Location"]) == (302, f"{here}?show=person&at={there}#{there}")


@pytest.mark.parametrize(
    ("to", "at", "side"), [("next", "end", "later"), ("previous", "0", "earlier")]
)
def test_without_scripts_a_step_past_the_last_says_so(
    world: World, talk: Any, to: str, at: str, side: str
):
    client = world.client("reader")
    path = f"/conversations/{talk.pk}/step?what=inquiry&to={to}&from=3"
    reply = client.get(path)
    assert reply["Location"] == f"/conversations/{talk.pk}?at={at}"
    assert f"No {side} question." in read(client.get(reply["Location"])).text


def test_a_step_to_what_nobody_knows_is_refused(world: World, talk: Any):
    reply = world.client("reader").get(f"/conversations/{talk.pk}/step?what=novel")
    assert reply.status_code == 400
    assert b"item, prompt, inquiry, problem" in reply.content


@pytest.mark.parametrize("name", ["find?q=roses", "step?what=problem&from=0", "step?from=0"])
def test_the_queries_do_not_grow(
    world: World, indexed: Any, django_assert_max_num_queries: Any, name: str
):
    client = world.client("reader")
    for more in (0, 200):
        texts = [making.event(ChatResponse("message", f"roses {n}")) for n in range(more)]
        if texts:
            journal.append_events(indexed.pk, texts)
            indexer.index_conversation(indexed.pk)
        with django_assert_max_num_queries(24):
            client.get(f"/conversations/{indexed.pk}/{name}", headers=JSON)
