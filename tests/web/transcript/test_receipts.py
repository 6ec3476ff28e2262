"""What a page reports of its cards: which came to it, and what a person saw of them."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store.models import Inquiry
from tests.store import making
from tests.web.sockets import connect_page
from tests.web.world import World


@pytest.fixture
def receipt_notes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, Any]]:
    """Return what is noted of cards, as it comes."""
    notes: list[tuple[str, int, Any]] = []
    for name in ("note_delivered", "note_reports"):
        monkeypatch.setattr(
            receipt_buffer,
            name,
            lambda person_id, cards, name=name: notes.append((name, person_id, sorted(cards))),
        )
    return notes


async def test_a_card_counts_as_delivered_once_it_is_sent(
    shared_world: World, receipt_notes: list[tuple[str, int, Any]]
):
    person_id = shared_world.people["responder"].pk
    async with connect_page(shared_world.people["responder"], inbox=True, questions=[]) as socket:
        await socket.receive_all()
        assert receipt_notes == [("note_delivered", person_id, [shared_world.question.pk])]
        new = await run_in_db_thread(making.question, shared_world.run)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        await socket.receive_all()
        assert receipt_notes[1:] == [("note_delivered", person_id, [new.pk])]
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        await socket.receive_all()
        assert len(receipt_notes) == 2


async def test_card_of_the_first_page_is_receipted_and_an_invented_one_is_not(
    shared_world: World, receipt_notes: list[tuple[str, int, Any]]
):
    other_question = await run_in_db_thread(make_question_elsewhere, shared_world)
    hello = {"inbox": True, "questions": [shared_world.question.pk, other_question.pk, 10**9]}
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
    assert receipt_notes == [
        ("note_delivered", shared_world.people["responder"].pk, [shared_world.question.pk])
    ]
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
    assert len(receipt_notes) == 1, "who may not answer is given no card"


def make_question_elsewhere(world: World) -> Inquiry:
    return making.question(making.start_run(making.conversation(world.other_workspace)))


async def test_socket_receipts_are_noted(
    shared_world: World, receipt_notes: list[tuple[str, int, Any]]
):
    async with connect_page(shared_world.people["responder"]) as socket:
        await socket.hello(receipts=[[7, "visible"], [7, "draft"], [8, "focused"]])
        assert await socket.hears_nothing()
    person_id = shared_world.people["responder"].pk
    assert receipt_notes == [
        ("note_reports", person_id, [(7, "draft"), (7, "visible"), (8, "focused")])
    ]


@pytest.mark.parametrize(
    "report",
    [
        1,
        "x",
        {"a": 1},
        None,
        [7],
        [[7]],
        [[7, "eaten"]],
        [["x", "draft"]],
        [[-1, "draft"]],
        [[7, ["draft"]]],
        [[7, "draft", 1]],
        [[7, "draft"]] * 10_001,
    ],
)
async def test_socket_closes_on_invalid_receipts(shared_world: World, report: Any):
    async with connect_page(shared_world.people["responder"]) as socket:
        await socket.hello(receipts=report)
        assert await socket.closes() == 4400


async def test_socket_closes_on_too_many_cards(shared_world: World):
    async with connect_page(shared_world.people["responder"]) as socket:
        await socket.hello(questions=list(range(10_001)))
        assert await socket.closes() == 4400
