"""What the sockets of one person may cost: every kind of message, by its size and by its rate."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from contextlib import AsyncExitStack
from types import ModuleType
from typing import Any, get_args

import pytest
from django.http import Http404

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.inbox.queue import MAX_INBOX_CARDS
from jpweb.stream.events import ChatResponse
from jpweb.web import access
from jpweb.web.websocket import conversation_updates, inbox_updates, protocol, socket_limits
from jpweb.web.websocket.protocol import AnswerMessage, PageState, ReceiptReport
from tests.machine.serving import ROOT
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.world import World

TOO_MUCH, TOO_MANY, MALFORMED = 4429, 4430, 4400
CARDS = list(range(10**9, 10**9 + protocol.MAX_CARDS))
SEEN = [[key, kind] for key in CARDS for kind in ("visible", "focused", "draft")]

#: The largest message of each kind that is taken.
LARGEST: dict[type[protocol.ClientMessage], dict[str, Any]] = {
    PageState: {"inbox": True, "questions": CARDS[:250], "approvals": CARDS[250:]},
    ReceiptReport: {"receipts": SEEN},
    AnswerMessage: {"number": 1, "question": 10**9, "answer": "x" * 100_000},
}
#: What is larger. The size of an answer is bounded with the frame that holds it.
TOO_LARGE: dict[type[protocol.ClientMessage], dict[str, Any]] = {
    PageState: {"inbox": True, "questions": CARDS, "approvals": CARDS[:1]},
    ReceiptReport: {"receipts": [*SEEN, SEEN[0]]},
}
KINDS = pytest.mark.parametrize("kind", LARGEST)


@pytest.fixture(autouse=True)
def refuse_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let answers be refused by the question, since these sockets have no session."""

    def refuse_answer(*_asked: Any) -> None:
        raise Http404

    monkeypatch.setattr(access, "authorize_answer", refuse_answer)


def test_socket_message_limits_cover_all_message_types():
    assert set(get_args(protocol.ClientMessage)) == set(LARGEST)


def test_a_hello_names_far_more_cards_than_the_fullest_page_shows():
    script = (ROOT / "static" / "js" / "socket.js").read_text()
    assert re.findall(r"const MAX_CARDS = (\d+);", script) == [str(protocol.MAX_CARDS)]
    assert protocol.MAX_CARDS >= 5 * MAX_INBOX_CARDS
    assert re.findall(r"more than (\d+) pages", script) == [str(socket_limits.MAX_SOCKETS)]


@KINDS
async def test_the_largest_message_of_a_kind_is_taken(
    shared_world: World, kind: type[protocol.ClientMessage]
):
    async with connect_page(shared_world.people["responder"]) as socket:
        await socket.hello(**LARGEST[kind])
        await socket.receive_all()
        assert socket.consumers[0].person_id is not None


@pytest.mark.parametrize("kind", TOO_LARGE)
async def test_a_larger_message_of_a_kind_closes(
    shared_world: World, kind: type[protocol.ClientMessage]
):
    async with connect_page(shared_world.people["responder"]) as socket:
        await socket.hello(**TOO_LARGE[kind])
        assert await socket.closes() == MALFORMED


@KINDS
async def test_socket_messages_over_the_cost_limit_close_that_persons_only(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, kind: type[protocol.ClientMessage]
):
    hello = LARGEST[kind]
    cost = socket_limits.measure_cost(protocol.parse_message(1, json.dumps(hello)))
    monkeypatch.setattr(socket_limits, "COST_BURST", 2 * cost)
    monkeypatch.setattr(socket_limits, "COST_PER_SECOND", 0)
    ada, eve = shared_world.people["responder"], shared_world.people["owner"]
    async with (
        connect_page(ada) as first_socket,
        connect_page(ada) as second_socket,
        connect_page(eve) as other_socket,
    ):
        await first_socket.hello(**hello)
        await first_socket.receive_all()
        await second_socket.hello(**hello)
        await second_socket.receive_all()
        await first_socket.hello(**hello)
        assert await first_socket.closes() == TOO_MUCH
        await other_socket.hello(questions=[])
        assert (
            parse_page(await other_socket.receive_all()).find_one(id="question-count")["data-count"]
            == "1"
        )


async def test_hellos_beyond_those_of_one_socket_close_it_alone(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket_limits, "PAGE_STATE_BURST", 2)
    monkeypatch.setattr(socket_limits, "PAGE_STATES_PER_SECOND", 0)
    ada = shared_world.people["responder"]
    async with connect_page(ada) as first_socket, connect_page(ada) as second_socket:
        for _ in range(2):
            await first_socket.hello(questions=[])
            await first_socket.receive_all()
        await first_socket.hello(questions=[])
        assert await first_socket.closes() == TOO_MUCH
        await second_socket.hello(questions=[])
        assert await second_socket.receive_all()


async def test_a_socket_too_many_ends_the_one_silent_for_longest(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket_limits, "MAX_SOCKETS", 3)
    ada, eve = shared_world.people["responder"], shared_world.people["owner"]
    async with AsyncExitStack() as stack:
        other_socket = await stack.enter_async_context(connect_page(eve, questions=[]))
        first, silent, third = [
            await stack.enter_async_context(connect_page(ada, questions=[])) for _ in range(3)
        ]
        for open_socket in (other_socket, first, silent, third):
            await open_socket.receive_all()
        await first.hello(questions=[])
        await first.receive_all()
        last = await stack.enter_async_context(connect_page(ada, questions=[]))
        assert await silent.closes() == TOO_MANY
        assert await last.receive_all()
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        for open_socket in (other_socket, first, third, last):
            assert await open_socket.receive()
    assert socket_limits._sockets == {}, "nobody is counted who has left"


class _HeldRound:
    """Holds a function's calls without a bound, which are the round of one costly page."""

    def __init__(
        self, patch: pytest.MonkeyPatch, module: ModuleType, name: str, arguments: int
    ) -> None:
        self.start_event, self._may_end = asyncio.Event(), threading.Event()
        self._arguments = arguments
        self._function = getattr(module, name)
        self._loop = asyncio.get_running_loop()
        patch.setattr(module, name, self._call)

    def let_go(self) -> None:
        self._may_end.set()

    def _call(self, *arguments: Any) -> Any:
        if len(arguments) == self._arguments:
            self._loop.call_soon_threadsafe(self.start_event.set)
            assert self._may_end.wait(20)
        return self._function(*arguments)


async def test_page_that_lacks_many_events_does_not_delay_others(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    hello = await run_in_db_thread(make_hello, shared_world)
    held_round = _HeldRound(
        monkeypatch, conversation_updates, "find_conversation_updates", arguments=2
    )
    ada, eve = shared_world.people["responder"], shared_world.people["reader"]
    async with (
        connect_page(eve, **hello | {"questions": []}) as neighbor,
        connect_page(ada) as costly,
    ):
        await neighbor.receive_all()
        await costly.hello(**hello | {"entry_count": 0})
        await asyncio.wait_for(held_round.start_event.wait(), 20)
        event = making.event(ChatResponse("message", "A word"))
        await run_in_db_thread(
            journal.append_events, shared_world.conversation.pk, [event], shared_world.run
        )
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        assert "A word" in await neighbor.receive()
        held_round.let_go()
        html_page = parse_page(await costly.receive_all())
        assert html_page.text.count("A word") == 1
        assert html_page.find_one(id="counts")["data-entry-count"] == str(hello["entry_count"] + 1)


async def test_page_that_names_many_cards_does_not_delay_others(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    held_round = _HeldRound(monkeypatch, inbox_updates, "find_inbox_updates", arguments=1)
    ada, eve = shared_world.people["responder"], shared_world.people["owner"]
    async with (
        connect_page(eve, inbox=True, questions=[]) as neighbor,
        connect_page(ada) as costly,
    ):
        await neighbor.receive_all()
        await costly.hello(inbox=True, questions=CARDS)
        await asyncio.wait_for(held_round.start_event.wait(), 20)
        new = await run_in_db_thread(making.question, shared_world.run)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert parse_page(await neighbor.receive()).find_one(id=f"question-{new.pk}")
        held_round.let_go()
        html = await costly.receive_all()
        assert html.count("no longer available") == len(CARDS)
        assert html.count(f'id="question-{new.pk}"') == 1
