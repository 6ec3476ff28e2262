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
from tests.web.reading import read
from tests.web.sockets import line_of
from tests.web.world import World

OPEN = "open"


class Page:
    """A page that says what its forms would."""

    def __init__(self, line: WebsocketCommunicator) -> None:
        self.line = line

    async def sends(self, row: Inquiry | int, typed: str, **more: Any) -> None:
        key = row if isinstance(row, int) else row.pk
        says = {"number": 7, "question": key, "answer": typed} | more
        await self.line.send_to(text_data=json.dumps(says))

    async def is_told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(await self.line.receive_from(10))
        assert told["reply"] == 7
        return told

    async def is_closed(self) -> int:
        output = await self.line.receive_output(10)
        assert output["type"] == "websocket.close", output
        return int(output["code"])


@asynccontextmanager
async def page(world: World, name: str) -> AsyncIterator[Page]:
    """Open a page of somebody who is signed in, as a browser does."""
    line = line_of(await run_in_db_thread(world.client, name))
    assert (await line.connect(10))[0]
    try:
        yield Page(line)
    finally:
        if not line.future.done():
            await line.disconnect()


async def fresh(row: Inquiry) -> Inquiry:
    return await run_in_db_thread(inquiries.get_inquiry, row.pk)


@pytest.mark.parametrize("name", ["responder", "auditor", "owner"])
async def test_who_may_answer_settles_it_over_the_socket(lasting: World, name: str):
    async with page(lasting, name) as here:
        await here.sends(lasting.question, "true")
        told = await here.is_told()
    row = await fresh(lasting.question)
    assert (row.state, row.answer, row.decider_id) == ("answered", True, lasting.people[name].pk)
    card = read(told["html"]).one(id=f"question-{row.pk}")
    assert (told["status"], card["data-outcome"]) == (200, "answered")
    last = (await run_in_db_thread(journal.read_elements, lasting.talk.pk))[-1]
    assert last.tag == "inquiry_response"


@pytest.mark.parametrize(("name", "status"), [("reader", 403), ("outsider", 404), ("rival", 404)])
async def test_who_may_not_answer_is_told_so_and_changes_nothing(
    lasting: World, name: str, status: int
):
    async with page(lasting, name) as here:
        for _ in range(2):  # the page stays
            await here.sends(lasting.question, "true")
            assert await here.is_told() == {"reply": 7, "status": status}
    assert (await fresh(lasting.question)).state == OPEN


async def test_a_question_that_is_not_there_is_not_found(lasting: World):
    async with page(lasting, "owner") as here:
        await here.sends(2**40, "true")
        assert await here.is_told() == {"reply": 7, "status": 404}


def _forget() -> None:
    assert SignIn.objects.all().delete()[0]


def _bar() -> None:
    Person.objects.filter(username="responder").update(is_active=False)


@pytest.mark.parametrize("end", [_forget, _bar], ids=["session", "person"])
async def test_a_sign_in_that_ended_unheard_answers_nothing(lasting: World, end: Any):
    async with page(lasting, "responder") as here:
        await run_in_db_thread(end)
        await here.sends(lasting.question, "true")
        assert await here.is_closed() == 4401
    assert (await fresh(lasting.question)).state == OPEN


async def test_who_was_removed_while_the_page_was_open_answers_nothing(lasting: World):
    async with page(lasting, "responder") as here:
        await run_in_db_thread(_remove, lasting)
        await here.sends(lasting.question, "true")
        assert (await here.is_told())["status"] == 404
    assert (await fresh(lasting.question)).state == OPEN


def _remove(world: World) -> None:
    world.member("responder").delete()


async def test_while_the_database_is_away_an_answer_is_refused_and_the_page_stays(
    lasting: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def gone(*_: object) -> None:
        raise OperationalError("no line")

    async with page(lasting, "responder") as here:
        with monkeypatch.context() as away:
            away.setattr(access, "authorize_answer", gone)
            await here.sends(lasting.question, "true")
            assert await here.is_told() == {"reply": 7, "status": 503}
        assert "An answer cannot be taken: no line" in caplog.text
        await here.sends(lasting.question, "true")
        assert (await here.is_told())["status"] == 200


async def test_a_page_whose_answer_fails_is_forgotten(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(access, "authorize_answer", fail)
    there = publisher.make_workspace_topic(lasting.home.pk)
    async with page(lasting, "responder") as here:
        await here.line.send_to(text_data=json.dumps({"questions": [], "inbox": True}))
        await here.line.receive_from(10)
        assert there in local_bus._subscribers
        assert await presence.is_reachable(lasting.home.pk)
        await here.sends(lasting.question, "true")
        with pytest.raises(RuntimeError):
            await here.line.wait(10)
        assert there not in local_bus._subscribers
        assert not await presence.is_reachable(lasting.home.pk)
    assert (await fresh(lasting.question)).state == OPEN


@pytest.mark.parametrize(
    "says", [{"answer": "true", "number": 7}, {"questions": [], "inbox": True}]
)
async def test_a_page_that_was_loaded_by_somebody_else_is_sent_away(
    lasting: World, says: dict[str, Any]
):
    said = {"person": lasting.people["owner"].pk} | says
    if "answer" in says:
        said["question"] = lasting.question.pk
    async with page(lasting, "responder") as here:
        await here.line.send_to(text_data=json.dumps(said))
        assert await here.is_closed() == 4401
    assert (await fresh(lasting.question)).state == OPEN


async def test_a_page_that_says_whose_it_is_may_answer(lasting: World):
    async with page(lasting, "responder") as here:
        await here.sends(lasting.question, "true", person=lasting.people["responder"].pk)
        assert (await here.is_told())["status"] == 200


async def test_what_does_not_fit_stays_open_and_is_given_back(lasting: World):
    async with page(lasting, "responder") as here:
        await here.sends(lasting.question, "perhaps")
        told = await here.is_told()
    assert told["status"] == 422
    card = read(told["html"])
    assert card.one(id=f"question-{lasting.question.pk}")["data-outcome"] == OPEN
    assert "Choose yes or no." in card.text
    assert (await fresh(lasting.question)).state == OPEN


async def test_the_second_is_told_who_was_first_and_keeps_the_text(lasting: World):
    row = await run_in_db_thread(making.question, lasting.run, Text(), "Name?")
    async with page(lasting, "owner") as first, page(lasting, "responder") as second:
        await first.sends(row, "Rose")
        assert (await first.is_told())["status"] == 200
        await second.sends(row, "Aster")
        told = await second.is_told()
        await first.sends(row, "Rose")
        again = await first.is_told()
    assert told["status"] == again["status"] == 409
    assert "Already answered by Owner" in read(told["html"]).text
    assert "Aster" in told["html"]
    assert "You already responded" in read(again["html"]).text
    assert (await fresh(row)).answer == "Rose"


async def test_line_ends_and_other_alphabets_come_as_they_were_typed(lasting: World):
    row = await run_in_db_thread(making.question, lasting.run, Text(), "Name?")
    async with page(lasting, "owner") as here:
        await here.sends(row, "Rosé\nאב <b>😀")
        assert (await here.is_told())["status"] == 200
    assert (await fresh(row)).answer == "Rosé\nאב <b>😀"


async def test_a_secret_never_takes_the_socket(lasting: World):
    row = await run_in_db_thread(making.question, lasting.run, Secret(), "Word?")
    async with page(lasting, "owner") as here:
        await here.sends(row, "canary-71ab")
        assert await here.is_closed() == 4400
    assert (await fresh(row)).state == OPEN
    journaled = await run_in_db_thread(journal.read_elements, lasting.talk.pk)
    assert "canary-71ab" not in "".join(each.raw for each in journaled)


@pytest.mark.parametrize(
    "says",
    [
        {"answer": "true", "question": 1},
        {"answer": "true", "number": 1},
        {"answer": "true", "number": -1, "question": 1},
        {"answer": "true", "number": 1, "question": 2**70},
        {"answer": "true", "number": 1, "question": "x"},
        {"answer": "\ud83d", "number": 1, "question": 1},
        {"answer": "true", "number": 1, "question": [1]},
    ],
)
async def test_what_no_page_of_ours_says_closes_the_page(lasting: World, says: dict[str, Any]):
    async with page(lasting, "owner") as here:
        await here.line.send_to(text_data=json.dumps(says))
        assert await here.is_closed() == 4400


@pytest.mark.parametrize("remember", [True, False])
async def test_an_answer_counts_for_the_turn_where_that_was_ticked(lasting: World, remember: bool):
    async with page(lasting, "owner") as here:
        await here.sends(lasting.question, "true", remember=remember)
        assert (await here.is_told())["status"] == 200
    assert (
        await run_in_db_thread(inquiries.is_remembered, await fresh(lasting.question)) is remember
    )


async def test_an_answer_whose_socket_goes_after_the_commit_is_published(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    committed, is_gone = asyncio.Event(), asyncio.Event()
    published: list[int] = []

    async def publish_late(settlement: SettledInquiry) -> None:
        committed.set()
        await is_gone.wait()
        published.append(settlement.inquiry.pk)

    monkeypatch.setattr(resolution, "publish_settlement", publish_late)
    client = await run_in_db_thread(lasting.client, "responder")
    key = client.session.session_key
    typed = answer_submission.AnswerInput("true")
    question = lasting.question.pk
    sending = asyncio.create_task(answer_submission.submit_socket_answer(key, question, typed))
    async with asyncio.timeout(10):
        await committed.wait()
        sending.cancel()
        await asyncio.wait({sending})
        is_gone.set()
        await answer_submission._submissions.wait_for_all()
    assert (sending.cancelled(), published) == (True, [question])
