"""Answers that come over the socket, through the whole of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.db import OperationalError

from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import presence, resolution
from jpweb.store import inquiries, journal
from jpweb.store.inquiries import SettledInquiry
from jpweb.store.models import Inquiry, Person, SignIn
from jpweb.stream.answer_type import Secret, Text
from jpweb.web import access, answer_submission
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import line_of
from tests.web.world import World

OPEN = "open"


class AnsweringPage:
    """A page that says what its forms would."""

    def __init__(self, line: WebsocketCommunicator) -> None:
        self.line = line

    async def sends(self, row: Inquiry | int, answer_text: str, **fields: Any) -> None:
        key = row if isinstance(row, int) else row.pk
        message = {"number": 7, "question": key, "answer": answer_text} | fields
        await self.line.send_to(text_data=json.dumps(message))

    async def is_told(self) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(await self.line.receive_from(10))
        assert reply["reply"] == 7
        return reply

    async def is_closed(self) -> int:
        output = await self.line.receive_output(10)
        assert output["type"] == "websocket.close", output
        return int(output["code"])


@asynccontextmanager
async def page(world: World, name: str) -> AsyncIterator[AnsweringPage]:
    """Open a page of somebody who is signed in, as a browser does."""
    line = line_of(await run_in_db_thread(world.client, name))
    assert (await line.connect(10))[0]
    try:
        yield AnsweringPage(line)
    finally:
        if not line.future.done():
            await line.disconnect()


async def fresh(row: Inquiry) -> Inquiry:
    return await run_in_db_thread(inquiries.get_inquiry, row.pk)


async def test_socket_answer_settles_the_question(shared_world: World):
    name = "responder"
    async with page(shared_world, name) as client_page:
        await client_page.sends(shared_world.question, "true")
        reply = await client_page.is_told()
    row = await fresh(shared_world.question)
    assert (row.state, row.answer, row.decider_id) == (
        "answered",
        True,
        shared_world.people[name].pk,
    )
    card = parse_page(reply["html"]).find_one(id=f"question-{row.pk}")
    assert (reply["status"], card["data-outcome"]) == (200, "answered")
    last = (await run_in_db_thread(journal.read_elements, shared_world.conversation.pk))[-1]
    assert last.tag == "inquiry_response"


async def test_socket_answer_to_a_missing_question_returns_404(shared_world: World):
    async with page(shared_world, "owner") as client_page:
        await client_page.sends(2**40, "true")
        assert await client_page.is_told() == {"reply": 7, "status": 404}


def _forget() -> None:
    assert SignIn.objects.all().delete()[0]


def _bar() -> None:
    Person.objects.filter(username="responder").update(is_active=False)


@pytest.mark.parametrize("end", [_forget, _bar], ids=["session", "person"])
async def test_socket_answer_of_an_ended_sign_in_is_refused(shared_world: World, end: Any):
    async with page(shared_world, "responder") as client_page:
        await run_in_db_thread(end)
        await client_page.sends(shared_world.question, "true")
        assert await client_page.is_closed() == 4401
    assert (await fresh(shared_world.question)).state == OPEN


async def test_socket_answer_of_a_removed_member_is_refused(shared_world: World):
    async with page(shared_world, "responder") as client_page:
        await run_in_db_thread(_remove, shared_world)
        await client_page.sends(shared_world.question, "true")
        assert (await client_page.is_told())["status"] == 404
    assert (await fresh(shared_world.question)).state == OPEN


def _remove(world: World) -> None:
    world.member("responder").delete()


async def test_answer_without_a_database_is_refused_and_the_page_stays(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def raise_unavailable(*_: object) -> None:
        raise OperationalError("no line")

    async with page(shared_world, "responder") as client_page:
        with monkeypatch.context() as patch:
            patch.setattr(access, "authorize_answer", raise_unavailable)
            await client_page.sends(shared_world.question, "true")
            assert await client_page.is_told() == {"reply": 7, "status": 503}
        assert "An answer could not be saved: no line" in caplog.text
        await client_page.sends(shared_world.question, "true")
        assert (await client_page.is_told())["status"] == 200


async def test_a_page_whose_answer_fails_is_forgotten(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(access, "authorize_answer", fail)
    topic = publisher.make_workspace_topic(shared_world.workspace.pk)
    async with page(shared_world, "responder") as client_page:
        await client_page.line.send_to(text_data=json.dumps({"questions": [], "inbox": True}))
        await client_page.line.receive_from(10)
        assert topic in local_bus._subscribers
        assert await presence.is_reachable(shared_world.workspace.pk)
        await client_page.sends(shared_world.question, "true")
        with pytest.raises(RuntimeError):
            await client_page.line.wait(10)
        assert topic not in local_bus._subscribers
        assert not await presence.is_reachable(shared_world.workspace.pk)
    assert (await fresh(shared_world.question)).state == OPEN


@pytest.mark.parametrize(
    "fields", [{"answer": "true", "number": 7}, {"questions": [], "inbox": True}]
)
async def test_socket_of_a_page_loaded_by_another_person_is_closed(
    shared_world: World, fields: dict[str, Any]
):
    message = {"person": shared_world.people["owner"].pk} | fields
    if "answer" in fields:
        message["question"] = shared_world.question.pk
    async with page(shared_world, "responder") as client_page:
        await client_page.line.send_to(text_data=json.dumps(message))
        assert await client_page.is_closed() == 4401
    assert (await fresh(shared_world.question)).state == OPEN


async def test_a_page_that_says_whose_it_is_may_answer(shared_world: World):
    async with page(shared_world, "responder") as client_page:
        await client_page.sends(
            shared_world.question, "true", person=shared_world.people["responder"].pk
        )
        assert (await client_page.is_told())["status"] == 200


async def test_socket_answer_that_is_invalid_returns_the_card_with_an_error(shared_world: World):
    async with page(shared_world, "responder") as client_page:
        await client_page.sends(shared_world.question, "perhaps")
        reply = await client_page.is_told()
    assert reply["status"] == 422
    card = parse_page(reply["html"])
    assert card.find_one(id=f"question-{shared_world.question.pk}")["data-outcome"] == OPEN
    assert "Choose yes or no." in card.text
    assert (await fresh(shared_world.question)).state == OPEN


async def test_socket_answer_that_loses_names_the_first_and_keeps_its_text(shared_world: World):
    row = await run_in_db_thread(making.question, shared_world.run, Text(), "Name?")
    async with page(shared_world, "owner") as first, page(shared_world, "responder") as second:
        await first.sends(row, "Rose")
        assert (await first.is_told())["status"] == 200
        await second.sends(row, "Aster")
        second_reply = await second.is_told()
        await first.sends(row, "Rose")
        first_reply = await first.is_told()
    assert second_reply["status"] == first_reply["status"] == 409
    assert "Already answered by Owner" in parse_page(second_reply["html"]).text
    assert "Aster" in second_reply["html"]
    assert "You already responded" in parse_page(first_reply["html"]).text
    assert (await fresh(row)).answer == "Rose"


async def test_line_ends_and_other_alphabets_come_as_they_were_typed(shared_world: World):
    row = await run_in_db_thread(making.question, shared_world.run, Text(), "Name?")
    async with page(shared_world, "owner") as client_page:
        await client_page.sends(row, "Rosé\nאב <b>😀")
        assert (await client_page.is_told())["status"] == 200
    assert (await fresh(row)).answer == "Rosé\nאב <b>😀"


async def test_a_secret_never_takes_the_socket(shared_world: World):
    row = await run_in_db_thread(making.question, shared_world.run, Secret(), "Word?")
    async with page(shared_world, "owner") as client_page:
        await client_page.sends(row, "canary-71ab")
        assert await client_page.is_closed() == 4400
    assert (await fresh(row)).state == OPEN
    journaled = await run_in_db_thread(journal.read_elements, shared_world.conversation.pk)
    assert "canary-71ab" not in "".join(entry.raw for entry in journaled)


@pytest.mark.parametrize(
    "message",
    [
        {"answer": "true", "question": 1},
        {"answer": "true", "number": 1},
        {"answer": "true", "number": -1, "question": 1},
        {"answer": "true", "number": 1, "question": 2**70},
        {"answer": "true", "number": 1, "question": "x"},
        {"answer": "\ud83d", "number": 1, "question": 1},
        {"answer": None, "number": 1, "question": 1},
        {"answer": True, "number": 1, "question": 1},
        {"answer": ["true"], "number": 1, "question": 1},
        {"answer": "true", "number": 1, "question": [1]},
    ],
)
async def test_socket_closes_on_malformed_messages(shared_world: World, message: dict[str, Any]):
    async with page(shared_world, "owner") as client_page:
        await client_page.line.send_to(text_data=json.dumps(message))
        assert await client_page.is_closed() == 4400


@pytest.mark.parametrize("remember", [True, False])
async def test_an_answer_counts_for_the_turn_where_that_was_ticked(
    shared_world: World, remember: bool
):
    async with page(shared_world, "owner") as client_page:
        await client_page.sends(shared_world.question, "true", remember=remember)
        assert (await client_page.is_told())["status"] == 200
    assert (
        await run_in_db_thread(inquiries.is_remembered, await fresh(shared_world.question))
        is remember
    )


async def test_socket_answer_is_published_when_its_socket_closes_meanwhile(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    committed, is_gone = asyncio.Event(), asyncio.Event()
    published: list[int] = []

    async def publish_late(settlement: SettledInquiry) -> None:
        committed.set()
        await is_gone.wait()
        published.append(settlement.inquiry.pk)

    monkeypatch.setattr(resolution, "publish_settlement", publish_late)
    client = await run_in_db_thread(shared_world.client, "responder")
    key = client.session.session_key
    answer_input = answer_submission.AnswerInput("true")
    question = shared_world.question.pk
    task = asyncio.create_task(answer_submission.submit_socket_answer(key, question, answer_input))
    async with asyncio.timeout(10):
        await committed.wait()
        task.cancel()
        await asyncio.wait({task})
        is_gone.set()
        await answer_submission._submissions.wait_for_all()
    assert (task.cancelled(), published) == (True, [question])
