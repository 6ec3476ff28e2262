"""What a page reports of its cards: which came to it, and what a person saw of them."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store.models import Inquiry
from tests.store import making
from tests.web.sockets import page
from tests.web.world import World


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, Any]]:
    """Return what is noted of cards, as it comes."""
    noted: list[tuple[str, int, Any]] = []
    for name in ("note_delivered", "note_reports"):
        monkeypatch.setattr(
            receipt_buffer,
            name,
            lambda who, what, name=name: noted.append((name, who, sorted(what))),
        )
    return noted


async def test_a_card_counts_as_delivered_once_it_is_sent(
    lasting: World, shown: list[tuple[str, int, Any]]
):
    who = lasting.people["responder"].pk
    async with page(lasting.people["responder"], inbox=True, questions=[]) as socket:
        await socket.everything()
        assert shown == [("note_delivered", who, [lasting.question.pk])]
        new = await run_in_db_thread(making.question, lasting.run)
        await publisher.publish_questions_changed(lasting.home.pk)
        await socket.everything()
        assert shown[1:] == [("note_delivered", who, [new.pk])]
        await publisher.publish_questions_changed(lasting.home.pk)
        await socket.everything()
        assert len(shown) == 2


async def test_a_card_that_came_with_the_page_counts_too_and_a_made_up_one_does_not(
    lasting: World, shown: list[tuple[str, int, Any]]
):
    theirs = await run_in_db_thread(elsewhere, lasting)
    says = {"inbox": True, "questions": [lasting.question.pk, theirs.pk, 10**9]}
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
    assert shown == [("note_delivered", lasting.people["responder"].pk, [lasting.question.pk])]
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
    assert len(shown) == 1, "who may not answer is given no card"


def elsewhere(world: World) -> Inquiry:
    return making.question(making.running(making.conversation(world.elsewhere)))


async def test_what_a_page_saw_of_its_cards_is_noted(
    lasting: World, shown: list[tuple[str, int, Any]]
):
    async with page(lasting.people["responder"]) as socket:
        await socket.hello(receipts=[[7, "visible"], [7, "draft"], [8, "focused"]])
        assert await socket.hears_nothing()
    who = lasting.people["responder"].pk
    assert shown == [("note_reports", who, [(7, "draft"), (7, "visible"), (8, "focused")])]


@pytest.mark.parametrize(
    "seen",
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
async def test_what_cannot_have_been_seen_closes(lasting: World, seen: Any):
    async with page(lasting.people["responder"]) as socket:
        await socket.hello(receipts=seen)
        assert await socket.closes() == 4400


async def test_more_cards_than_a_page_can_show_close(lasting: World):
    async with page(lasting.people["responder"]) as socket:
        await socket.hello(questions=list(range(10_001)))
        assert await socket.closes() == 4400
