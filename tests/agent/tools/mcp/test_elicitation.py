from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.redaction import SecretAnswer
from jpweb.agent.tools.mcp.elicitation import Elicitation, ElicitationReply
from jpweb.stream.inquiry import CancellationReason
from tests.agent.tools.mcp.serving import Person

NUMBER = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}


def elicitation(ask) -> Any:
    paused: list[bool] = []
    return Elicitation(ask, paused.append), paused


async def test_an_answer_that_cannot_be_read_is_asked_for_again_and_told_why():
    person = Person("x", "7")
    made, paused = elicitation(person)
    assert await made.answer_form("How many?", NUMBER) == ElicitationReply("accept", {"n": 7})
    assert [(q.id, q.context) for q in person.asked] == [
        ("n", "How many?"),
        ("n", "How many?\n\nGive a whole number."),
    ]
    assert paused == [True, False]


async def test_after_three_attempts_the_form_is_declined():
    person = Person("x", "y", "z", "7")
    made, _ = elicitation(person)
    assert await made.answer_form("", NUMBER) == ElicitationReply("decline")
    assert len(person.asked) == 3
    assert person.asked[0].context is None


async def test_a_field_declined_ends_the_form():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    person = Person("x", CancellationReason.USER)
    made, _ = elicitation(person)
    assert await made.answer_form("", schema) == ElicitationReply("decline")


async def test_optional_fields_left_empty_are_left_out():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    made, _ = elicitation(Person("", "x"))
    assert await made.answer_form("", schema) == ElicitationReply("accept", {"b": "x"})


async def test_ids_hold_no_dots_and_are_never_empty_or_twice_the_same():
    schema = {"properties": {name: {"type": "boolean"} for name in ("a.b", "a_b", "", ".")}}
    person = Person(*[True] * 8)
    made, _ = elicitation(person)
    for _ in range(2):
        await made.answer_form("", schema)
    ids = [question.id for question in person.asked]
    assert ids == ["a_b", "a_b_2", "field", "_", "a_b_3", "a_b_4", "field_2", "__2"]


async def test_secrets_are_remembered_for_taking_them_out():
    schema = {"properties": {"p": {"type": "string", "writeOnly": True}}}
    made, _ = elicitation(Person("word"))
    reply = await made.answer_form("", schema)
    assert made.secrets == [SecretAnswer("word")]
    assert "word" not in repr(reply)


async def test_forms_that_come_at_once_are_asked_one_after_another():
    asked: list[str | None] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def ask(question):
        asked.append(question.context)
        begun.set()
        await go.wait()
        return await Person(True)(question)

    made, _ = elicitation(ask)
    schema = {"properties": {"ok": {"type": "boolean"}}}
    both = asyncio.gather(*(made.answer_form(message, schema) for message in ("1", "2")))
    await begun.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert asked == ["1"]
    go.set()
    assert await both == [ElicitationReply("accept", {"ok": True})] * 2


async def test_closing_cancels_what_is_asked():
    begun = asyncio.Event()

    async def ask(question):
        begun.set()
        await asyncio.Event().wait()

    made, _ = elicitation(ask)
    asking = asyncio.create_task(made.answer_form("", NUMBER))
    await begun.wait()
    made.close()
    assert await asking == ElicitationReply("cancel")
    assert await made.answer_form("", NUMBER) == ElicitationReply("cancel")


async def test_two_failures_are_one():
    class Broken(Exception):
        pass

    async def ask(question):
        raise Broken

    made, _ = elicitation(ask)
    both = await asyncio.gather(made.answer_form("", NUMBER), made.answer_form("", NUMBER))
    assert list(both) == [ElicitationReply("cancel"), ElicitationReply("cancel")]
    with pytest.raises(Broken):
        made.failure.result()


async def test_call_made_again_gets_the_replies_it_had_to_the_same_forms():
    schema = {"properties": {"ok": {"type": "boolean"}}}
    person = Person(True, False, True)
    made, _ = elicitation(person)
    assert not made.begin_again()
    first = [await made.answer_form(message, schema) for message in ("1", "1")]
    assert made.begin_again()
    assert [await made.answer_form(message, schema) for message in ("1", "1")] == first
    assert not made.begin_again()
    assert await made.answer_form("1", schema) == ElicitationReply("accept", {"ok": True})
    assert len(person.asked) == 3
    assert made.begin_again()
    assert [(await made.answer_form("1", schema)).content for _ in range(3)] == [
        {"ok": True},
        {"ok": False},
        {"ok": True},
    ]
