"""Tools of an MCP server that really runs, and tools that nobody has trusted, through a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime import runs
from jpweb.runtime.configuration import ToolAvailability
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.store.models import Run
from tests.machine.vendors import Call, Reply, run_vendor
from tests.runtime.playing import wait_for_task
from tests.runtime.scenarios.talking import DONE, list_offered_tools
from tests.runtime.scenarios.workshop import Workshop, is_alive, list_processes
from tests.store.making import decider

BOOK = Reply(Call("book_table", {"guests": 4}, "call_1"))
BEGUN = ["turn_start", "asked: Begin", "call call_1 book_table", "ask call_1.window.1"]
OPEN = ""


async def begin_asking_turn(shop: Workshop) -> Any:
    """Begin a turn whose server asks; return the run, its task, and the open question."""
    run, task = await shop.start()
    return run, task, await shop.get_question_by_id("window")


async def test_mcp_server_elicits_an_answer_and_continues_its_call(shop: Workshop):
    with run_vendor("anthropic", [BOOK, DONE]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        run, task, row = await begin_asking_turn(shop)
        assert (row.asker, row.source) == ("book_table", "tool")
        assert row.question["context"] == "There is one table left for 4."
        assert row.question["text"] == "A table at the window?"
        await resolution.answer_inquiry(row.pk, "true", decider(shop.eve))
        await wait_for_task(task)
        assert "book_table" in list_offered_tools(standin.requests[0].body)
        assert "A table at the window?" not in str([r.body for r in standin.requests])
    assert (await shop.row(run)).state == "done"
    assert await shop.list_lines() == [
        *BEGUN,
        "answered call_1.window.1 person",
        "result call_1",
        "message: All done.",
    ]
    assert [r.content for r in await shop.results()] == ["A table for 4, at the window."]


@pytest.mark.proof  # its answer takes the same way, above; declining is in test_elicitation.py
async def test_mcp_server_receives_a_declined_elicitation(shop: Workshop):
    with run_vendor("openai", [BOOK, DONE]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        run, task, row = await begin_asking_turn(shop)
        await resolution.decline_inquiry(row.pk, decider(shop.eve))
        await wait_for_task(task)
    assert (await shop.row(run)).state == "done"
    lines = await shop.list_lines()
    assert lines[:4] == BEGUN
    assert lines[4] == "user call_1.window.1 person"
    assert lines[-1] == "message: All done."
    (result,) = await shop.results()
    assert "decline" in result.content.lower()


async def test_a_stop_while_a_server_asks_ends_question_call_and_server(shop: Workshop):
    with run_vendor("google", [BOOK]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        run, task, _ = await begin_asking_turn(shop)
        servers = list_kitchens(shop)
        assert len(servers) == 1
        await runs.stop_run(shop.conversation.pk, decider(shop.eve))
        await wait_for_task(task)
        assert len(standin.requests) == 1
    assert (await shop.row(run)).state == "stopped"
    assert await shop.list_lines() == [*BEGUN, "user call_1.window.1 person", "result call_1"]
    assert [r.content for r in await shop.results()] == [model_messages.STOPPED]
    assert [pid for pid in servers if is_alive(pid)] == []


async def test_required_server_that_does_not_start_ends_the_turn_first(
    shop: Workshop,
):
    shop.configure(lambda text: text.replace('"tools/kitchen.py"', '"tools/nothing.py"'))
    with run_vendor("ollama", [BOOK, DONE]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        run = await shop.play_turn()
        assert standin.requests == []
    assert run.state == "failed"
    assert run.problem.startswith("The MCP server kitchen is required and is not available: ")
    assert "providers.mcp.kitchen.optional = true" in run.problem


async def test_optional_server_that_does_not_start_costs_only_its_tools(
    shop: Workshop, caplog: pytest.LogCaptureFixture
):
    optional = '["tools/nothing.py"]\noptional = true'
    shop.configure(lambda text: text.replace('["tools/kitchen.py"]', optional))
    with run_vendor("ollama", [BOOK, DONE]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        run = await shop.play_turn()
        bodies = [request.body for request in standin.requests]
    assert run.state == "done"
    assert [
        ("book_table" in list_offered_tools(body), "greet" in list_offered_tools(body))
        for body in bodies
    ] == [(False, True)] * 2
    (result,) = await shop.results()
    assert result.is_error
    assert result.content.startswith(
        "The tool book_table is not available: the MCP server kitchen is not available: "
    )
    assert "nothing.py" not in result.content, "what a server prints is for who runs jpweb"
    assert "nothing.py" in caplog.text
    assert (await shop.list_lines())[-1] == "message: All done."


#: What is done after everything has been trusted, and what the model then reads.
DOUBTS: Mapping[str, tuple[Any, ToolAvailability, ToolAvailability]] = {
    "trust withdrawn": (
        lambda shop: shop.distrust("greet", "kitchen"),
        ToolAvailability.NEW,
        ToolAvailability.SERVER_NEW,
    ),
    "commands changed": (
        lambda shop: shop.configure(
            lambda text: text.replace("tools/greet.sh", "-x tools/greet.sh").replace(
                '["tools/kitchen.py"]', '["-v", "tools/kitchen.py"]'
            )
        ),
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    ),
}


@pytest.mark.parametrize("doubt", DOUBTS)
async def test_untrusted_tool_is_not_offered_and_never_runs(shop: Workshop, doubt: str):
    change, of_tool, of_server = DOUBTS[doubt]
    mark = shop.root / "ran"
    tool = shop.root / "tools" / "greet.sh"
    tool.write_text(f"echo >> {mark}\n{tool.read_text()}")
    pids: list[int] = []

    def reply_with_both(_body: Mapping[str, Any]) -> Reply:
        pids.extend(list_kitchens(shop))
        return Reply(Call("greet", {}, "call_1"), Call("book_table", {"guests": 2}, "call_2"))

    with run_vendor("llamacpp", [reply_with_both, DONE]) as standin:
        await run_in_db_thread(shop.play, standin, OPEN)
        await run_in_db_thread(change, shop)
        run = await shop.play_turn()
        bodies = [request.body for request in standin.requests]
    assert run.state == "done"
    for body in bodies:
        assert {"greet", "book_table"}.isdisjoint(list_offered_tools(body))
        assert "deploy" in list_offered_tools(body)
    assert [(r.content, r.is_error) for r in await shop.results()] == [
        (model_messages.describe_unavailable("greet", of_tool.value), True),
        (model_messages.describe_unavailable("book_table", of_server.value), True),
    ]
    assert all(". Do not call it again" in r.content for r in await shop.results())
    assert pids == []
    assert not mark.exists()


async def test_config_change_during_a_turn_applies_to_the_next_turn(shop: Workshop):
    """A turn plays by what was trusted when it began."""
    greet = Reply(Call("greet", {}, "call_1"))
    with run_vendor("llamacpp", [greet, DONE, greet, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        _, task = await shop.start()
        row = await shop.get_question_by_id("name")
        await run_in_db_thread(shop.distrust, "greet")
        await resolution.decline_inquiry(row.pk, decider(shop.eve))
        await wait_for_task(task)
        assert (await shop.play_turn("Again")).state == "done"
        offers = ["greet" in list_offered_tools(request.body) for request in standin.requests]
    assert offers == [True, True, False, False]
    assert [r.content for r in await shop.results()] == [
        model_messages.INPUT_CANCELLED,
        model_messages.describe_unavailable("greet", ToolAvailability.NEW.value),
    ]
    assert await run_in_db_thread(Run.objects.count) == 2


def list_kitchens(shop: Workshop) -> list[int]:
    """Return the kitchens that run in this workshop."""
    return list(list_processes("tools/kitchen.py", shop.root))
