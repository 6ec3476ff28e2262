"""A turn whose tools ask, from what a person says to what the model makes of it, for each vendor.

The model reasons, speaks and calls two tools at once. Each asks twice: a person, or a second
model behind the same address.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.models import Inquiry, JournalEntry
from tests.agent.providers.conversing import KEY, MODELS
from tests.machine.sizes import mark_proof
from tests.machine.vendors import Request, run_vendor
from tests.runtime.playing import eventually, wait_for_task
from tests.runtime.scenarios.talking import BOTH, DONE, list_offered_tools, reply_with_answer
from tests.runtime.scenarios.wires import (
    NOTED,
    SIGNATURES,
    THOUGHT,
    get_schema,
    get_tool_choice,
    sent_back,
)
from tests.runtime.scenarios.workshop import CANARY, Workshop, list_processes

#: A vendor that signs each thought, and one that signs calls; tests/agent/providers has what is
#: sent to all others and read of them.
TYPICAL = ("anthropic", "google")
PROOF = hashlib.sha256(CANARY.encode()).hexdigest()[:8]
NAME = "Zoë Quill"
#: Every question of the two tools, and what is said beside one.
QUESTIONS = {
    "name": "Whom shall I greet?",
    "loud": "Shall it be loud?",
    "confirm": "Deploy blog?",
    "context": "Three files have changed",
    "passphrase": "The passphrase?",
}
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}},
    "required": ["answer"],
    "additionalProperties": False,
}
BEGINNING = [
    "turn_start",
    "asked: Greet and deploy",
    f"reasoning: {THOUGHT}",
    "message: I do both.",
    "call call_1 greet",
    "call call_2 deploy",
]
ASKED_AT_ONCE = {"ask call_1.name.1", "ask call_2.confirm.1"}
ENDING = [
    "answered call_1.name.1 person",
    "ask call_1.loud.1",
    "answered call_1.loud.1 assistant",
    "answered call_2.confirm.1 person",
    "ask call_2.passphrase.1",
    "redacted call_2.passphrase.1 person",
    "result call_1",
    "result call_2",
    "message: All done.",
]


async def answer_everything(shop: Workshop) -> None:
    """Answer what is for a person, question after question, so that the order is known."""
    await shop.get_question_by_id("name")
    await shop.get_question_by_id("confirm")
    await shop.answer("name", NAME)

    async def second_model_answered() -> bool:
        return "answered call_1.loud.1 assistant" in await shop.list_lines()

    await eventually(second_model_answered)
    await shop.answer("confirm", "true")
    await shop.answer("passphrase", CANARY)


def noting(counts: list[int]) -> Callable[[Mapping[str, Any]], Any]:
    """Return the second model's reply; it notes how many of its questions are on record then."""

    def reply(body: Mapping[str, Any]) -> Any:
        entries = JournalEntry.objects.filter(
            kind="inquiry_request", text__contains="call_1.loud.1"
        )
        counts.append(entries.count())
        connection.close()
        return reply_with_answer(True)(body)

    return reply


async def play_scenario(shop: Workshop, name: str) -> tuple[list[Request], list[int]]:
    """Play the whole scenario; return the requests, and what the second model's noted."""
    counts: list[int] = []
    with run_vendor(name, [BOTH, noting(counts), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        await wait_for_task(task)
        row = await shop.row(run)
        assert (row.state, row.problem, row.failure) == ("done", "", "")
        assert (row.provider, row.model) == (name, MODELS[name])
        return standin.requests, counts


@pytest.mark.parametrize("name", [*TYPICAL, *mark_proof(*sorted(MODELS.keys() - {*TYPICAL}))])
async def test_turn_with_questions_of_two_tools_records_every_step(
    shop: Workshop, name: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    requests, counts = await play_scenario(shop, name)
    lines = await shop.list_lines()
    assert (lines[:6], set(lines[6:8]), lines[8:]) == (BEGINNING, ASKED_AT_ONCE, ENDING)
    assert counts == [1], "the question is on record before anybody is asked"
    events = await shop.events()
    assert tuple(event.metadata for event in events[2:6]) == NOTED[name]
    assert [(r.content, r.is_error) for r in await shop.results()] == [
        (f"HELLO, {NAME}!\n", False),
        (f"Deployed with a key whose digest is {PROOF}.", False),
    ]
    rows = await run_in_db_thread(list, Inquiry.objects.filter(conversation=shop.conversation))
    assert {row.inquiry_id: (row.asker, row.answer, row.decider_name) for row in rows} == {
        "call_1.name.1": ("greet", NAME, "Eve"),
        "call_1.loud.1": ("greet", True, ""),
        "call_2.confirm.1": ("deploy", True, "Eve"),
        "call_2.passphrase.1": ("deploy", None, "Eve"),
    }
    check_requests(name, requests)
    logged = "".join(str(record.__dict__) for record in caplog.records)
    for secret in (CANARY, KEY):
        assert secret not in await shop.dump_rows()
        assert secret not in logged
        assert secret not in "".join(json.dumps(request.body) for request in requests)


def check_requests(name: str, requests: list[Request]) -> None:
    """Check what crossed the wire: what had to, and nothing of anybody's questions besides."""
    first, second_model, last = [request.body for request in requests]
    for body in (first, last):
        assert {"greet", "deploy", "wild", "ask_user"} <= set(list_offered_tools(body))
        assert get_schema(name, body) is None
        assert get_tool_choice(name, body) in ("auto", "validated")
        assert find_question_traces(body) == set()
    assert NAME not in json.dumps(second_model, ensure_ascii=False)
    assert json.dumps(last, ensure_ascii=False).count(NAME) == 1, "in the tool's own result"
    assert find_question_traces(second_model) == {"loud"}
    # Google's library adds a title, which says nothing
    sent_schema = {
        key: value for key, value in get_schema(name, second_model).items() if key != "title"
    }
    assert sent_schema == SCHEMA
    assert get_tool_choice(name, second_model) == "none"
    assert list_offered_tools(second_model) == list_offered_tools(first), "the prompt's cache lasts"
    calls = ["call_1", "call_2"]
    assert sent_back(name, last) == (SIGNATURES[name], calls, calls)
    # Unsigned reasoning goes back in the loop of calls alone.
    thoughts = [] if SIGNATURES[name] == [THOUGHT] else SIGNATURES[name]
    assert sent_back(name, second_model)[:2] == (thoughts, calls)


def find_question_traces(body: Mapping[str, Any]) -> set[str]:
    """Return which questions a request holds anything of; ``events`` where it holds an event."""
    text = json.dumps(body, ensure_ascii=False)
    names = {key for key, words in QUESTIONS.items() if words in text}
    events = ("inquiry", "call_1.name", "call_1.loud", "call_2.confirm", "call_2.passphrase")
    return names | {"events" for word in events if word in text}


async def test_a_second_model_without_structured_replies_answers_by_a_tool(shop: Workshop):
    with run_vendor("openrouter", [BOTH, reply_with_answer(True), DONE]) as standin:
        await run_in_db_thread(shop.play, standin, model="somebody/model")
        _, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        await wait_for_task(task)
        body = standin.requests[1].body
    assert (await shop.list_lines())[-1] == "message: All done."
    assert get_schema("openrouter", body) is None
    (reply,) = [t["function"] for t in body["tools"] if t["function"]["name"] == "reply"]
    assert reply["parameters"]["properties"] == SCHEMA["properties"]
    assert get_tool_choice("openrouter", body) != "none", "else it could not reply at all"


async def test_secret_of_a_running_tool_is_in_no_process_listing(shop: Workshop):
    """The tool waits at a FIFO before it ends, so that there is something to look at."""
    fifo = shop.root / "fifo"
    os.mkfifo(fifo)
    tool = shop.root / "tools" / "deploy.py"
    proof = "proof = hashlib"
    assert proof in tool.read_text()
    tool.write_text(tool.read_text().replace(proof, f"open({str(fifo)!r}).read()\n{proof}"))
    with run_vendor("anthropic", [BOTH, reply_with_answer(True), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        _, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        end = await eventually(lambda: open_fifo(fifo))
        processes_by_pid = list_processes("tools/deploy.py", shop.root)
        private = [
            Path(value) for _, environ in processes_by_pid.values() for value in contexts(environ)
        ]
        modes = {path.stat().st_mode & 0o777 for path in private}
        assert any(CANARY in path.read_text() for path in private), "the tool has it there"
        os.close(end)
        await wait_for_task(task)
    process_texts = [text for texts in processes_by_pid.values() for text in texts]
    assert any('"confirm":true' in text for text in process_texts), (
        "other answers stand in the arguments"
    )
    assert [text for text in process_texts if CANARY in text] == []
    assert modes == {0o600}
    assert [path for path in private if path.exists()] == []
    assert (await shop.results())[1].content.endswith(f"{PROOF}.")


async def open_fifo(fifo: Path) -> int | None:
    """Return the end to write to, once somebody reads."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def contexts(environ: str) -> list[str]:
    pairs = (pair.partition("=") for pair in environ.split("\0"))
    return [value for name, _, value in pairs if name == "JPWEB_CONTEXT"]
