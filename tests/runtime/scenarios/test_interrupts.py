"""Interrupts as the browser says them, while real tools run and real replies come."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime import runs
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from tests.machine.vendors import Call, Reply, Say, run_vendor
from tests.runtime.playing import eventually, subscribe, wait_for_task
from tests.runtime.scenarios.talking import DONE
from tests.runtime.scenarios.workshop import CLOSED, Workshop, is_alive
from tests.store.making import decider

GREET = Reply(Call("greet", {}, "call_1"))
BEGUN = ["turn_start", "asked: Begin", "call call_1 greet"]
#: Starts a child, says who both are, and waits for somebody to write to a FIFO.
BUSY = """
sleep 600 >/dev/null 2>&1 &
echo $$ $! >> pids
cat fifo >/dev/null
kill $!
printf 'All of it.'
"""


class Busy:
    """The tool ``greet`` as one that runs until it is told to go on."""

    def __init__(self, shop: Workshop) -> None:
        self._root = shop.root
        os.mkfifo(self._root / "fifo")
        (self._root / "tools" / "greet.sh").write_text(BUSY)

    async def running(self, times: int = 1) -> list[int]:
        """Return the processes of the latest of so many executions, once they run."""

        async def find_lines() -> list[str]:
            file = self._root / "pids"
            lines = file.read_text().splitlines() if file.exists() else []
            return lines[times - 1 : times]

        (line,) = await eventually(find_lines)
        pids = [int(pid) for pid in line.split()]
        assert all(is_alive(pid) for pid in pids)
        return pids

    async def go_on(self) -> None:
        await asyncio.to_thread(Path(self._root / "fifo").write_text, "go on")


async def wait_until_gone(pids: list[int]) -> None:
    """Return once none of the processes is there; a child is reaped by whoever adopts it."""

    async def none() -> bool:
        return not any(is_alive(pid) for pid in pids)

    await eventually(none)


async def test_a_stop_ends_the_tool_with_everything_it_started(shop: Workshop):
    busy = Busy(shop)
    with run_vendor("openai", [GREET]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start()
        pids = await busy.running()
        assert await runs.interrupt_run(shop.conversation.pk, decider(shop.eve), "stop")
        await wait_for_task(task)
        assert len(standin.requests) == 1
    await wait_until_gone(pids)
    assert (await shop.row(run)).state == "stopped"
    assert await shop.list_lines() == [*BEGUN, "result call_1"]
    assert [r.content for r in await shop.results()] == [model_messages.STOPPED]


async def test_a_restart_runs_the_tool_again_and_the_model_learns_nothing_of_it(shop: Workshop):
    busy = Busy(shop)
    with run_vendor("anthropic", [GREET, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start()
        first = await busy.running()
        assert await runs.interrupt_run(shop.conversation.pk, decider(shop.eve), "restart")
        second = await busy.running(2)
        await wait_until_gone(first)
        await busy.go_on()
        await wait_for_task(task)
        assert len(standin.requests) == 2
    await wait_until_gone(second)
    assert (await shop.row(run)).state == "done"
    assert await shop.list_lines() == [*BEGUN, "result call_1", "message: All done."]
    assert [r.content for r in await shop.results()] == ["All of it."]


async def test_restart_repeats_the_open_question(shop: Workshop):
    with run_vendor("anthropic", [GREET, DONE]) as standin:
        toml = "[conversation.tools.greet.questions.loud]\nanswer = false"
        await run_in_db_thread(shop.play, standin, f"{CLOSED}{toml}")
        _, task = await shop.start()
        row = await shop.get_question_by_id("name")
        assert await runs.interrupt_run(shop.conversation.pk, decider(shop.eve), "restart")

        async def asked_again() -> bool:
            return "ask call_1.name.2" in await shop.list_lines()

        await eventually(asked_again)
        await shop.answer("name", "Ada")
        await wait_for_task(task)
    assert (await shop.reload(row)).decider_name == "Eve"
    assert await shop.list_lines() == [
        *BEGUN,
        "ask call_1.name.1",
        "user call_1.name.1 person",
        "ask call_1.name.2",
        "answered call_1.name.2 person",
        "ask call_1.loud.1",
        "answered call_1.loud.1 configuration",
        "result call_1",
        "message: All done.",
    ]
    assert [r.content for r in await shop.results()] == ["Hello, Ada.\n"]


async def test_response_to_a_running_tool_becomes_its_result(shop: Workshop):
    busy = Busy(shop)
    with run_vendor("google", [GREET, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start()
        pids = await busy.running()
        words = "Greet nobody today"
        assert await runs.interrupt_run(shop.conversation.pk, decider(shop.eve), "respond", words)
        await wait_for_task(task)
        request_text = str(standin.requests[1].body)
    await wait_until_gone(pids)
    assert (await shop.row(run)).state == "done"
    assert await shop.list_lines() == [*BEGUN, "result call_1", "message: All done."]
    assert [r.content for r in await shop.results()] == [model_messages.describe_response(words)]
    assert request_text.count(words) == 1


async def test_empty_response_ends_the_tool_with_its_configured_text(shop: Workshop):
    busy = Busy(shop)
    with run_vendor("ollama", [GREET, DONE]) as standin:
        toml = '[conversation.tools.greet]\ncancellation_response = "Not now."'
        await run_in_db_thread(shop.play, standin, f"{CLOSED}{toml}")
        run, task = await shop.start()
        pids = await busy.running()
        assert await runs.interrupt_run(shop.conversation.pk, decider(shop.eve), "respond")
        await wait_for_task(task)
    await wait_until_gone(pids)
    assert (await shop.row(run)).state == "done"
    assert await shop.list_lines() == [*BEGUN, "result call_1", "message: All done."]
    assert [r.content for r in await shop.results()] == ["Not now."]


async def test_response_to_a_partial_reply_ends_it_and_gets_a_reply(shop: Workshop):
    with run_vendor("anthropic", [Reply(Say("Half a word"), end="hang"), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        async with subscribe(publisher.make_conversation_topic(shop.conversation.pk)) as hear:
            run, task = await shop.start()
            while not (await hear()).get("text"):
                pass
        assert await runs.interrupt_run(
            shop.conversation.pk, decider(shop.eve), "respond", "Shorter, please"
        )
        await wait_for_task(task)
        assert await asyncio.to_thread(standin.hangup_event.wait, 60), "the connection is closed"
        last = standin.requests[1].body["messages"]
    assert (await shop.row(run)).state == "done"
    lines = await shop.list_lines()
    assert lines[:2] == ["turn_start", "asked: Begin"]
    assert lines[2].startswith("message: Half")
    assert lines[3:] == ["asked: Shorter, please", "message: All done."]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert last[2]["content"][0]["text"] == "Shorter, please"
    (request,) = [e.kind for e in await shop.events() if "Shorter" in str(e.kind)]
    assert request.to_fields()["author"] == "Eve"
