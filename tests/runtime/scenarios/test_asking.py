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
from tests.machine.vendors import Request, vendor
from tests.runtime.playing import done, eventually
from tests.runtime.scenarios.talking import BOTH, DONE, gives, offered
from tests.runtime.scenarios.wires import NOTED, SIGNATURES, THOUGHT, choice, schema, sent_back
from tests.runtime.scenarios.workshop import CANARY, Workshop, processes

#: A vendor of each protocol: llama.cpp and OpenRouter speak that of Ollama.
PROTOCOLS = {"anthropic", "google", "ollama", "openai"}
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
    await shop.asked("name")
    await shop.asked("confirm")
    await shop.answer("name", NAME)

    async def second_model_answered() -> bool:
        return "answered call_1.loud.1 assistant" in await shop.told()

    await eventually(second_model_answered)
    await shop.answer("confirm", "true")
    await shop.answer("passphrase", CANARY)


def noting(seen: list[int]) -> Callable[[Mapping[str, Any]], Any]:
    """Return the second model's reply; it notes how many of its questions are on record then."""

    def reply(body: Mapping[str, Any]) -> Any:
        asked = JournalEntry.objects.filter(kind="inquiry_request", text__contains="call_1.loud.1")
        seen.append(asked.count())
        connection.close()
        return gives(True)(body)

    return reply


async def played(shop: Workshop, name: str) -> tuple[list[Request], list[int]]:
    """Play the whole scenario; return the requests, and what the second model's noted."""
    seen: list[int] = []
    with vendor(name, [BOTH, noting(seen), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        await done(task)
        row = await shop.row(run)
        assert (row.state, row.problem, row.failure) == ("done", "", "")
        assert (row.provider, row.model) == (name, MODELS[name])
        return standin.requests, seen


@pytest.mark.parametrize(
    "name", [*sorted(PROTOCOLS), *mark_proof(*sorted(MODELS.keys() - PROTOCOLS))]
)
async def test_two_tools_ask_and_every_step_is_on_record(
    shop: Workshop, name: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    requests, seen = await played(shop, name)
    told = await shop.told()
    assert (told[:6], set(told[6:8]), told[8:]) == (BEGINNING, ASKED_AT_ONCE, ENDING)
    assert seen == [1], "the question is on record before anybody is asked"
    events = await shop.events()
    assert tuple(event.metadata for event in events[2:6]) == NOTED[name]
    assert [(r.content, r.is_error) for r in await shop.results()] == [
        (f"HELLO, {NAME}!\n", False),
        (f"Deployed with a key whose digest is {PROOF}.", False),
    ]
    rows = await run_in_db_thread(list, Inquiry.objects.filter(conversation=shop.talk))
    assert {row.inquiry_id: (row.asker, row.answer, row.decider_name) for row in rows} == {
        "call_1.name.1": ("greet", NAME, "Eve"),
        "call_1.loud.1": ("greet", True, ""),
        "call_2.confirm.1": ("deploy", True, "Eve"),
        "call_2.passphrase.1": ("deploy", None, "Eve"),
    }
    check_requests(name, requests)
    logged = "".join(str(record.__dict__) for record in caplog.records)
    for secret in (CANARY, KEY):
        assert secret not in await shop.everything()
        assert secret not in logged
        assert secret not in "".join(json.dumps(request.body) for request in requests)


def check_requests(name: str, requests: list[Request]) -> None:
    """Check what crossed the wire: what had to, and nothing of anybody's questions besides."""
    first, second_model, last = [request.body for request in requests]
    for body in (first, last):
        assert {"greet", "deploy", "wild", "ask_user"} <= set(offered(body))
        assert schema(name, body) is None
        assert choice(name, body) in ("auto", "validated")
        assert holds(body) == set()
    assert NAME not in json.dumps(second_model, ensure_ascii=False)
    assert json.dumps(last, ensure_ascii=False).count(NAME) == 1, "in the tool's own result"
    assert holds(second_model) == {"loud"}
    # Google's library adds a title, which says nothing
    wanted = {key: value for key, value in schema(name, second_model).items() if key != "title"}
    assert wanted == SCHEMA
    assert choice(name, second_model) == "none"
    assert offered(second_model) == offered(first), "the prompt's cache lasts"
    calls = ["call_1", "call_2"]
    assert sent_back(name, last) == (SIGNATURES[name], calls, calls)
    assert sent_back(name, second_model)[:2] == (SIGNATURES[name], calls)
    if SIGNATURES[name] is None:
        assert THOUGHT not in json.dumps(last)


def holds(body: Mapping[str, Any]) -> set[str]:
    """Return which questions a request holds anything of; ``events`` where it holds an event."""
    text = json.dumps(body, ensure_ascii=False)
    found = {key for key, words in QUESTIONS.items() if words in text}
    events = ("inquiry", "call_1.name", "call_1.loud", "call_2.confirm", "call_2.passphrase")
    return found | {"events" for word in events if word in text}


async def test_a_second_model_without_structured_replies_answers_by_a_tool(shop: Workshop):
    with vendor("openrouter", [BOTH, gives(True), DONE]) as standin:
        await run_in_db_thread(shop.play, standin, model="somebody/model")
        _, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        await done(task)
        body = standin.requests[1].body
    assert (await shop.told())[-1] == "message: All done."
    assert schema("openrouter", body) is None
    (reply,) = [t["function"] for t in body["tools"] if t["function"]["name"] == "reply"]
    assert reply["parameters"]["properties"] == SCHEMA["properties"]
    assert choice("openrouter", body) != "none", "else it could not reply at all"


async def test_while_a_tool_has_the_secret_no_process_shows_it(shop: Workshop):
    """The tool waits at a FIFO before it ends, so that there is something to look at."""
    fifo = shop.root / "fifo"
    os.mkfifo(fifo)
    tool = shop.root / "tools" / "deploy.py"
    proof = "proof = hashlib"
    assert proof in tool.read_text()
    tool.write_text(tool.read_text().replace(proof, f"open({str(fifo)!r}).read()\n{proof}"))
    with vendor("anthropic", [BOTH, gives(True), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        _, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        end = await eventually(lambda: opened(fifo))
        found = processes("tools/deploy.py")
        private = [Path(value) for _, environ in found.values() for value in contexts(environ)]
        modes = {path.stat().st_mode & 0o777 for path in private}
        assert any(CANARY in path.read_text() for path in private), "the tool has it there"
        os.close(end)
        await done(task)
    shown = [text for texts in found.values() for text in texts]
    assert any('"confirm":true' in text for text in shown), "other answers stand in the arguments"
    assert [text for text in shown if CANARY in text] == []
    assert modes == {0o600}
    assert [path for path in private if path.exists()] == []
    assert (await shop.results())[1].content.endswith(f"{PROOF}.")


async def opened(fifo: Path) -> int | None:
    """Return the end to write to, once somebody reads."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def contexts(environ: str) -> list[str]:
    pairs = (pair.partition("=") for pair in environ.split("\0"))
    return [value for name, _, value in pairs if name == "JPWEB_CONTEXT"]
