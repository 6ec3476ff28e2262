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
from tests.web.reading import parse_page
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
def conversation(world: World) -> Any:
    conversation = making.conversation(world.workspace, "Watering", world.people["owner"])
    journal.append_events(conversation.pk, [making.event(kind) for kind in KINDS])
    conversation.refresh_from_db()
    return conversation


@pytest.fixture
def indexed_conversation(conversation: Any) -> Any:
    indexer.index_conversation(conversation.pk)
    return conversation


def get_json(world: World, path: str, **query: str) -> dict[str, Any]:
    reply = world.client("reader").get(path, query, headers=JSON)
    assert reply.status_code == 200, reply.content
    fields: dict[str, Any] = reply.json()
    return fields


def anchor(conversation: Any, position: int) -> str:
    return navigation.get_anchor(conversation.pk, position)


def test_a_hit_says_which_it_is_and_where(world: World, indexed_conversation: Any):
    path = f"/conversations/{indexed_conversation.pk}/find"
    first = get_json(world, path, q="roses")
    assert (first["number"], first["total"], first["more"]) == (1, 3, False)
    assert (first["position"], first["anchor"]) == (1, anchor(indexed_conversation, 1))
    assert first["terms"] == ["roses"]
    second = get_json(world, path, q="roses", **{"from": str(first["position"])})
    assert (second["number"], second["position"]) == (2, 2)


def test_find_wraps_around_at_both_ends(world: World, indexed_conversation: Any):
    path = f"/conversations/{indexed_conversation.pk}/find"
    assert get_json(world, path, q="roses", **{"from": "3"})["number"] == 1
    assert get_json(world, path, q="roses", to="previous", **{"from": "1"})["number"] == 3
    assert get_json(world, path, q="roses", to="previous")["number"] == 3


def test_the_first_hit_is_the_one_that_the_reader_comes_to(world: World, indexed_conversation: Any):
    path = f"/conversations/{indexed_conversation.pk}/find"
    assert get_json(world, path, q="roses", at=anchor(indexed_conversation, 2))["position"] == 2
    assert (
        get_json(world, path, q="roses", to="previous", at=anchor(indexed_conversation, 2))[
            "position"
        ]
        == 1
    )
    assert get_json(world, path, q="roses", at="e-nowhere")["position"] == 1


def test_a_hit_in_a_call_names_the_item_that_it_is_shown_in(
    world: World, indexed_conversation: Any
):
    hit = get_json(world, f"/conversations/{indexed_conversation.pk}/find", q='"no water"')
    assert (hit["anchor"], hit["item"]) == (
        anchor(indexed_conversation, 4),
        anchor(indexed_conversation, 3),
    )


@pytest.mark.parametrize("words", ["nowhere", "", "   ", "-roses", "\x00"])
def test_find_without_matches_has_no_anchor(world: World, indexed_conversation: Any, words: str):
    result = get_json(world, f"/conversations/{indexed_conversation.pk}/find", q=words)
    assert result["total"] == 0
    assert "anchor" not in result


def test_find_counts_unindexed_events(world: World, conversation: Any):
    assert get_json(world, f"/conversations/{conversation.pk}/find", q="roses")["unindexed"] == len(
        KINDS
    )
    page = parse_page(world.client("reader").get(f"/conversations/{conversation.pk}/find?q=roses"))
    assert f"{len(KINDS)} events are still being indexed" in page.text


def test_find_without_scripts_lists_links(world: World, indexed_conversation: Any):
    conversation_url = f"/conversations/{indexed_conversation.pk}"
    page = parse_page(world.client("reader").get(f"{conversation_url}/find?q=roses&show=person"))
    assert "3 matches" in page.text
    links = [tag["href"] for tag in page.find_all(**{"class": "row-link hit-link"})]
    places = [anchor(indexed_conversation, position) for position in (1, 2, 3)]
    assert links == [f"{conversation_url}?at={at}&show=person&q=roses#{at}" for at in places]
    assert world.client("reader").get(links[0]).status_code == 200


def test_find_list_names_the_kind_of_each_match(world: World, indexed_conversation: Any):
    page = parse_page(
        world.client("reader").get(f"/conversations/{indexed_conversation.pk}/find", {"q": "water"})
    )
    tags = [tag.text for tag in page.tags if tag.get("class") == "tag"]
    assert tags == ["Prompt", "Failed result"]


def test_find_list_has_a_next_page(
    world: World, indexed_conversation: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("jpweb.web.views.find.HITS_PER_PAGE", 2)
    path = f"/conversations/{indexed_conversation.pk}/find"
    page = parse_page(world.client("reader").get(f"{path}?q=roses"))
    next_path = page.find_one(rel="next")["href"]
    next_page = parse_page(world.client("reader").get(path + next_path))
    assert len(next_page.find_all(**{"class": "row hit"})) == 1
    assert "From the beginning" in next_page.text
    assert not next_page.find_all(rel="next")


def test_a_hostile_hit_is_text(world: World):
    conversation = making.conversation(world.workspace, "Bad", world.people["owner"])
    said_so = making.event(ChatRequest("<script>roses</script><b onclick=x>"))
    journal.append_events(conversation.pk, [making.event(TurnStart()), said_so])
    indexer.index_conversation(conversation.pk)
    reply = world.client("reader").get(f"/conversations/{conversation.pk}/find?q=roses")
    assert b"&lt;script&gt;<mark>roses</mark>&lt;/script&gt;" in reply.content


def step(world: World, conversation: Any, kind: str, to: str, at: int | str) -> str:
    path = f"/conversations/{conversation.pk}/step"
    result = get_json(world, path, what=kind, to=to, **{"from": str(at)})
    return str(result["anchor"])


def test_steps_go_to_the_next_and_previous_of_a_sort(world: World, conversation: Any):
    assert step(world, conversation, "prompt", "next", 1) == anchor(conversation, 6)
    assert step(world, conversation, "prompt", "previous", 6) == anchor(conversation, 1)
    assert step(world, conversation, "problem", "next", 1) == anchor(conversation, 4)
    assert step(world, conversation, "problem", "previous", 6) == anchor(conversation, 4)
    assert step(world, conversation, "item", "next", 3) == anchor(conversation, 6)
    assert step(world, conversation, "item", "previous", 6) == anchor(conversation, 4)


def test_a_step_past_the_last_leads_nowhere(world: World, conversation: Any):
    assert step(world, conversation, "prompt", "next", 6) == ""
    assert step(world, conversation, "prompt", "previous", 1) == ""
    assert step(world, conversation, "inquiry", "next", 0) == ""


def test_step_from_an_invalid_position_starts_at_the_beginning(world: World, conversation: Any):
    assert step(world, conversation, "prompt", "next", "x") == anchor(conversation, 1)
    assert step(world, conversation, "prompt", "next", "9" * 40) == anchor(conversation, 1)
    assert step(world, conversation, "prompt", "previous", "²") == anchor(conversation, 6)


def test_a_question_that_no_person_ended_is_a_problem(world: World):
    workspace = making.workspace("Elsewhere again")
    conversation = making.conversation(workspace, "Asked", world.people["owner"])
    Membership.objects.create(person=world.people["reader"], workspace=workspace, role=10)
    run = making.start_run(conversation)
    for reason in (CancellationReason.USER, CancellationReason.EXPIRED):
        row = making.question(run)
        making.settle(row, Cancelled(reason))
    question_positions = [
        position for position in range(8) if _category(conversation, position) == "question"
    ]
    dropped = [position for position in range(8) if _category(conversation, position) == "dropped"]
    assert (len(question_positions), len(dropped)) == (2, 1)
    item_position = 2
    assert step(world, conversation, "inquiry", "next", item_position - 1) == anchor(
        conversation, question_positions[0]
    )
    assert step(world, conversation, "inquiry", "previous", item_position + 1) == anchor(
        conversation, question_positions[-1]
    )
    assert step(world, conversation, "problem", "next", item_position - 1) == anchor(
        conversation, dropped[0]
    )


def _category(conversation: Any, position: int) -> str:
    rows = JournalEntry.objects.filter(conversation=conversation, position=position)
    return rows.values_list("category", flat=True).first() or ""


def test_steps_between_items_are_between_those_that_are_shown(world: World, conversation: Any):
    path = f"/conversations/{conversation.pk}/step"
    result = get_json(world, path, what="item", to="next", show="person", **{"from": "1"})
    assert result["anchor"] == anchor(conversation, 6)


def test_step_without_scripts_redirects_to_the_event(world: World, conversation: Any):
    conversation_url = f"/conversations/{conversation.pk}"
    target = anchor(conversation, 6)
    reply = world.client("reader").get(
        f"{conversation_url}/step?what=prompt&to=next&from=1&show=person"
    )
    assert (reply.status_code, reply["Location"]) == (
        302,
        f"{conversation_url}?show=person&at={target}#{target}",
    )


@pytest.mark.parametrize(
    ("to", "at", "side"), [("next", "end", "later"), ("previous", "0", "earlier")]
)
def test_step_without_scripts_past_the_last_shows_a_message(
    world: World, conversation: Any, to: str, at: str, side: str
):
    client = world.client("reader")
    path = f"/conversations/{conversation.pk}/step?what=inquiry&to={to}&from=3"
    reply = client.get(path)
    assert reply["Location"] == f"/conversations/{conversation.pk}?at={at}"
    assert f"No {side} question." in parse_page(client.get(reply["Location"])).text


def test_step_to_an_unknown_kind_returns_400(world: World, conversation: Any):
    reply = world.client("reader").get(f"/conversations/{conversation.pk}/step?what=novel")
    assert reply.status_code == 400
    assert b"item, prompt, inquiry, problem" in reply.content


@pytest.mark.parametrize("name", ["find?q=roses", "step?what=problem&from=0", "step?from=0"])
def test_the_queries_do_not_grow(
    world: World, indexed_conversation: Any, django_assert_max_num_queries: Any, name: str
):
    client = world.client("reader")
    for extra_count in (0, 200):
        texts = [making.event(ChatResponse("message", f"roses {n}")) for n in range(extra_count)]
        if texts:
            journal.append_events(indexed_conversation.pk, texts)
            indexer.index_conversation(indexed_conversation.pk)
        with django_assert_max_num_queries(24):
            client.get(f"/conversations/{indexed_conversation.pk}/{name}", headers=JSON)
