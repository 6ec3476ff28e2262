from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.ports import Answer
from jpweb.agent.redaction import SecretAnswer
from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS, Success
from jpweb.agent.tools.mcp.elicitation import Elicitation, ElicitationReply
from jpweb.stream.inquiry import CancellationReason, InquiryRequest
from tests.agent.doubles import OutsideStub, ToolBench
from tests.agent.tools.mcp.serving import ScriptedPerson
from tests.builders import make_call

NUMBER = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}


def elicitation(ask) -> Any:
    pauses: list[bool] = []
    return Elicitation(ask, pauses.append), pauses


async def test_elicitation_asks_again_with_the_reason_for_an_invalid_answer():
    person = ScriptedPerson("x", "7")
    elicitor, pauses = elicitation(person)
    assert await elicitor.answer_form("How many?", NUMBER) == ElicitationReply("accept", {"n": 7})
    assert [(q.id, q.context) for q in person.questions] == [
        ("n", "How many?"),
        ("n", "How many?\n\nGive a whole number."),
    ]
    assert pauses == [True, False]


async def test_elicitation_is_declined_after_three_attempts():
    person = ScriptedPerson("x", "y", "z", "7")
    elicitor, _ = elicitation(person)
    assert await elicitor.answer_form("", NUMBER) == ElicitationReply("decline")
    assert len(person.questions) == 3
    assert person.questions[0].context is None


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": [1]},
        {"properties": {"n": 1}},
        {"properties": {"n": {"type": "integer"}}, "required": 5},
        {"properties": {"n": {"type": {}}}},
        {"properties": {"n": {"type": "array", "items": ["a"]}}},
        {"properties": {"n": {"enum": [float("inf")]}}},
    ],
)
async def test_elicitation_with_a_malformed_schema_declines_that_form_only(schema: Any):
    elicitor, pauses = elicitation(ScriptedPerson("7"))
    assert await elicitor.answer_form("", schema) == ElicitationReply("decline")
    assert not elicitor.failure.done()
    assert pauses == []
    assert await elicitor.answer_form("", NUMBER) == ElicitationReply("accept", {"n": 7})


async def test_form_with_too_many_fields_is_declined_before_the_first():
    fields = {f"f{number}": {"type": "string"} for number in range(MAX_CALL_QUESTIONS + 1)}
    person = ScriptedPerson()
    elicitor, pauses = elicitation(person)
    assert await elicitor.answer_form("", {"properties": fields}) == ElicitationReply("decline")
    assert (person.questions, pauses) == ([], [])


async def test_elicitation_limit_counts_fields_of_all_forms_of_a_call():
    fields = {f"f{number}": {"type": "string"} for number in range(MAX_CALL_QUESTIONS)}
    person = ScriptedPerson(*["x"] * MAX_CALL_QUESTIONS)
    elicitor, _ = elicitation(person)
    assert (await elicitor.answer_form("", {"properties": fields})).action == "accept"
    assert await elicitor.answer_form("", NUMBER) == ElicitationReply("decline")
    assert len(person.questions) == MAX_CALL_QUESTIONS


async def test_forms_beyond_the_limit_are_declined_without_a_task():
    async def ask(question):
        await asyncio.Event().wait()

    elicitor, _ = elicitation(ask)
    forms = [asyncio.create_task(elicitor.answer_form("", NUMBER)) for _ in range(200)]
    await asyncio.wait(forms[MAX_CALL_QUESTIONS:], timeout=10)
    assert {form.result().action for form in forms[MAX_CALL_QUESTIONS:]} == {"decline"}
    assert len(asyncio.all_tasks()) == 1 + 2 * MAX_CALL_QUESTIONS  # this, the forms, and one each
    elicitor.close()
    await asyncio.wait(forms)


async def test_a_field_declined_ends_the_form():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    person = ScriptedPerson("x", CancellationReason.USER)
    elicitor, _ = elicitation(person)
    assert await elicitor.answer_form("", schema) == ElicitationReply("decline")


async def test_optional_fields_left_empty_are_left_out():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    elicitor, _ = elicitation(ScriptedPerson("", "x"))
    assert await elicitor.answer_form("", schema) == ElicitationReply("accept", {"b": "x"})


async def test_ids_hold_no_dot_or_nul_and_are_never_empty_or_twice_the_same():
    schema = {"properties": {name: {"type": "boolean"} for name in ("a.b", "a_b", "", ".\0")}}
    person = ScriptedPerson(*[True] * 8)
    elicitor, _ = elicitation(person)
    for _ in range(2):
        await elicitor.answer_form("", schema)
    ids = [question.id for question in person.questions]
    assert ids == ["a_b", "a_b_2", "field", "__", "a_b_3", "a_b_4", "field_2", "___2"]


async def test_elicitation_secrets_are_kept_for_redaction():
    schema = {"properties": {"p": {"type": "string", "writeOnly": True}}}
    elicitor, _ = elicitation(ScriptedPerson("word"))
    reply = await elicitor.answer_form("", schema)
    assert elicitor.secrets == [SecretAnswer("word")]
    assert "word" not in repr(reply)


async def test_default_of_a_secret_field_is_recorded_nowhere():
    field = {"type": "string", "format": "password", "default": "canary-37"}

    async def run(_arguments, _answers, ask):
        reply = await elicitation(ask)[0].answer_form("", {"properties": {"p": field}})
        return Success(reply.action)

    bench = ToolBench((OutsideStub("tool", run),), [Answer("word")])
    await bench.run([make_call("c1", "tool")])
    assert bench.recorder.results == [("c1", "accept", False)]
    assert [request.question.default for request in bench.recorder.of(InquiryRequest)] == [None]
    assert "canary" not in bench.recorder.raw()


async def test_forms_that_come_at_once_are_asked_one_after_another():
    contexts: list[str | None] = []
    start_event, go = asyncio.Event(), asyncio.Event()

    async def ask(question):
        contexts.append(question.context)
        start_event.set()
        await go.wait()
        return await ScriptedPerson(True)(question)

    elicitor, _ = elicitation(ask)
    schema = {"properties": {"ok": {"type": "boolean"}}}
    replies = asyncio.gather(*(elicitor.answer_form(message, schema) for message in ("1", "2")))
    await start_event.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert contexts == ["1"]
    go.set()
    assert await replies == [ElicitationReply("accept", {"ok": True})] * 2


async def test_form_that_the_server_cancels_ends_the_pause():
    start_event = asyncio.Event()

    async def ask(question):
        start_event.set()
        await asyncio.Event().wait()

    elicitor, pauses = elicitation(ask)
    task = asyncio.create_task(elicitor.answer_form("", NUMBER))
    await start_event.wait()
    task.cancel()  # as the SDK does
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert pauses == [True, False]


async def test_close_cancels_open_elicitations():
    start_event = asyncio.Event()

    async def ask(question):
        start_event.set()
        await asyncio.Event().wait()

    elicitor, _ = elicitation(ask)
    task = asyncio.create_task(elicitor.answer_form("", NUMBER))
    await start_event.wait()
    elicitor.close()
    assert await task == ElicitationReply("cancel")
    assert await elicitor.answer_form("", NUMBER) == ElicitationReply("cancel")


async def test_concurrent_elicitation_failures_cancel_all_forms():
    class ScreenError(Exception):
        pass

    async def ask(question):
        raise ScreenError

    elicitor, _ = elicitation(ask)
    replies = await asyncio.gather(
        elicitor.answer_form("", NUMBER), elicitor.answer_form("", NUMBER)
    )
    assert list(replies) == [ElicitationReply("cancel"), ElicitationReply("cancel")]
    with pytest.raises(ScreenError):
        elicitor.failure.result()


async def test_call_made_again_gets_the_replies_it_had_to_the_same_forms():
    schema = {"properties": {"ok": {"type": "boolean"}}}
    person = ScriptedPerson(True, False, True)
    elicitor, _ = elicitation(person)
    assert not elicitor.begin_again()
    first = [await elicitor.answer_form(message, schema) for message in ("1", "1")]
    assert elicitor.begin_again()
    assert [await elicitor.answer_form(message, schema) for message in ("1", "1")] == first
    assert not elicitor.begin_again()
    assert await elicitor.answer_form("1", schema) == ElicitationReply("accept", {"ok": True})
    assert len(person.questions) == 3
    assert elicitor.begin_again()
    assert [(await elicitor.answer_form("1", schema)).content for _ in range(3)] == [
        {"ok": True},
        {"ok": False},
        {"ok": True},
    ]
