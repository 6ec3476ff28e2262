from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from jpweb.agent.config import McpServer
from jpweb.agent.ports import Answer
from jpweb.agent.tool_outcome import Failed, Question, Success
from jpweb.agent.tools.mcp import CallLimits, connect_servers
from jpweb.agent.tools.mcp import tool as mcp_tool
from jpweb.agent.tools.mcp.client import describe_error
from jpweb.agent.tools.mcp.tool import PausableTimeout
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason
from tests.agent.tools.local.commands import wait_until
from tests.agent.tools.mcp.serving import (
    LIGHT,
    OLDER,
    SERVER,
    ScriptedPerson,
    call_tool,
    make_stdio_server,
)
from tests.agent.tools.mcp.stalling import serve_stalling
from tests.machine.sizes import mark_proof

OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
TEXT = {"type": "object", "properties": {"a": {"type": "string"}}}
PASS = {"type": "object", "properties": {"word": {"type": "string", "format": "password"}}}


def older(folder, *version) -> Any:
    return make_stdio_server(str(folder), *version, file=OLDER)


def form(message="Sure?", schema=None) -> Any:
    return {"message": message, "requestedSchema": schema or OK}


def choose_server(request) -> McpServer:
    if request.param == "http":
        return McpServer("probe", url=request.getfixturevalue("http_url"))
    return make_stdio_server(file={"stdio": SERVER, "light": LIGHT}[request.param])


@pytest.fixture(params=["http", *mark_proof("stdio")])
def server(request):
    """The SDK's own server: its questions belong to their calls."""
    return choose_server(request)


@pytest.fixture(params=["light", "http"])
def quiet_server(request):
    """A server that asks nothing."""
    return choose_server(request)


async def test_mcp_result_joins_texts_and_drops_other_content(tmp_path, quiet_server):
    async with connect_servers([quiet_server], tmp_path) as connections:
        assert await call_tool(connections, "parts") == Success("one\n\nfrom a file\n\ntwo")


async def test_an_error_of_the_tool_is_a_failure(tmp_path, quiet_server):
    async with connect_servers([quiet_server], tmp_path) as connections:
        outcome = await call_tool(connections, "fail", {"why": "no luck"})
        assert isinstance(outcome, Failed)
        assert "no luck" in outcome.message


@pytest.mark.parametrize("code", [-32000, -32700, -32050])
async def test_error_of_a_server_is_told_in_its_words_under_any_code(tmp_path, code):
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            error = {"code": code, "message": "Your quota is used up."}
            assert await call_tool(connections, "add", {"error": error}) == Failed(
                "The call to the MCP server probe failed: Your quota is used up."
            )


async def test_compressed_reply_to_a_call_is_named_and_fails_only_that_call(tmp_path):
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            server.headers = "\r\nContent-Encoding: gzip"
            assert await call_tool(connections, "add", {"size": 1}) == Failed(
                "The call to the MCP server probe failed: its reply is compressed, although the "
                "request excludes that"
            )
            server.headers = ""
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")


def test_error_under_the_sdks_code_is_a_loss_only_in_the_sdks_words():
    assert describe_error(MCPError(-32000, "Sign in first")) == "it returned an error"
    lost_text = "it ended, or the connection to it was lost"
    assert describe_error(MCPError(-32000, "Connection closed")) == lost_text


@pytest.mark.parametrize(
    "error",
    [httpx2.InvalidURL("ghp_key"), httpx2.UnsupportedProtocol("ftp"), httpx2.ConnectError("no")],
    ids=["invalid", "unsupported", "unreachable"],
)
def test_error_of_an_address_is_one_sentence_without_it(error: Exception):
    assert describe_error(ExceptionGroup("g", [error])) == "its address can't be reached"


async def test_a_result_is_not_matched_with_patterns_of_its_server(tmp_path):
    async with connect_servers([make_stdio_server()], tmp_path) as connections:
        assert await call_tool(connections, "match", {"size": 1}) == Success("match")


async def test_a_result_that_is_too_long_is_refused(tmp_path):
    async with connect_servers(
        [make_stdio_server()], tmp_path, limits=CallLimits(max_chars=10)
    ) as connections:
        assert await call_tool(connections, "much", {"size": 10}) == Success("x" * 10)
        assert await call_tool(connections, "much", {"size": 11}) == Failed(
            "The result of the MCP server probe is longer than 10 characters. "
            "Retry only in a way that returns less."
        )
        outcome = await call_tool(connections, "fail", {"why": "no luck at all"})
        assert isinstance(outcome, Failed)
        assert "longer than 10" in outcome.message


async def test_mcp_elicitation_becomes_a_question(tmp_path, server):
    person = ScriptedPerson(True, False)
    async with connect_servers([server], tmp_path) as connections:
        for text in ("a: True", "a: False"):
            assert await call_tool(connections, "remove", {"what": "a"}, person) == Success(text)
    assert (
        person.questions
        == [
            Question(
                "ok",
                "Really?",
                Boolean(),
                context="Remove a?",
                exclusive=True,
                persistence=AnswerReusePolicy.NONE,
            )
        ]
        * 2
    )


async def test_calls_that_run_at_once_are_asked_each_for_its_own(tmp_path, server):
    barrier = asyncio.Barrier(2)

    def person(expected) -> Any:
        async def ask(question):
            await barrier.wait()
            assert question.context == f"Remove {expected}?"
            return Answer(expected == "a")

        return ask

    async with connect_servers([server], tmp_path) as connections:
        outcomes = await asyncio.gather(
            *(call_tool(connections, "remove", {"what": word}, person(word)) for word in "ab")
        )
    assert outcomes == [Success("a: True"), Success("b: False")]


async def test_calls_to_an_older_server_take_turns(tmp_path):
    first, second = ScriptedPerson(True), ScriptedPerson(False)
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcomes = await asyncio.gather(
            call_tool(
                connections, "ask", {"forms": [form("1"), form("1")]}, ScriptedPerson(True, True)
            ),
            call_tool(connections, "ask", {"forms": [form("2")]}, second),
        )
        assert await call_tool(connections, "ask", {"forms": [form()]}, first) == Success(
            '[{"action": "accept", "content": {"ok": true}}]'
        )
    assert [len(json.loads(outcome.content)) for outcome in outcomes] == [2, 1]
    assert [question.context for question in second.questions] == ["2"]


async def test_a_server_too_old_to_ask_takes_calls_at_once(tmp_path):
    async with connect_servers([older(tmp_path, "2025-03-26")], tmp_path) as connections:
        hanging = asyncio.create_task(call_tool(connections, "hang"))
        await wait_until((tmp_path / "hanging").exists)
        assert await call_tool(connections, "ask") == Success("[]")
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging


@pytest.mark.parametrize(
    ("answers", "reply"),
    [
        ([CancellationReason.USER], {"action": "decline"}),
        ([CancellationReason.EXPIRED], {"action": "cancel"}),
    ],
)
async def test_a_declined_question_declines_the_form(tmp_path, answers, reply):
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcome = await call_tool(connections, "ask", {"forms": [form()]}, ScriptedPerson(*answers))
    assert json.loads(outcome.content) == [reply]


async def test_mcp_elicitation_with_unsupported_fields_is_declined(tmp_path):
    address = {"mode": "url", "message": "m", "url": "https://example.org", "elicitationId": "1"}
    nested = form(schema={"type": "object", "properties": {"a": {"type": "object"}}})
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcome = await call_tool(connections, "ask", {"forms": [address, nested]})
    assert json.loads(outcome.content) == [{"action": "decline"}] * 2


async def test_ids_of_repeated_questions_differ(tmp_path):
    person = ScriptedPerson(True, True)
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        await call_tool(connections, "ask", {"forms": [form(), form()]}, person)
    assert [question.id for question in person.questions] == ["ok", "ok_2"]


async def test_a_secret_that_the_server_repeats_is_taken_out(tmp_path):
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcome = await call_tool(
            connections, "ask", {"forms": [form(schema=PASS)]}, ScriptedPerson("correct horse")
        )
    assert json.loads(outcome.content) == [{"action": "accept", "content": {"word": "[redacted]"}}]


@pytest.mark.parametrize("tool", ["refuse", "babble"])
async def test_a_secret_in_an_error_is_taken_out_before_the_error_is_cut(tmp_path, tool):
    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcome = await call_tool(
            connections, tool, {"forms": [form(schema=PASS)]}, ScriptedPerson("correct horse")
        )
    assert isinstance(outcome, Failed)
    assert "corr" not in outcome.message
    words = {"refuse": "xxx [red", "babble": "failed: its reply doesn't follow the protocol"}
    assert words[tool] in outcome.message


async def test_the_keys_of_a_server_are_taken_out_of_its_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "ghp_0123")
    server = replace(older(tmp_path), variables=("TOKEN",))
    async with connect_servers([server], tmp_path) as connections:
        key_form = form(message="Key?", schema=TEXT)
        outcome = await call_tool(
            connections, "refuse", {"forms": [key_form]}, ScriptedPerson("ghp_0123")
        )
    assert isinstance(outcome, Failed)
    assert "ghp" not in outcome.message


async def test_error_in_an_mcp_elicitation_is_raised_and_ends_the_call(tmp_path, server):
    class QuestionError(RuntimeError):
        pass

    async def ask(question):
        raise QuestionError

    async with connect_servers([server], tmp_path) as connections:
        with pytest.raises(QuestionError):
            await call_tool(connections, "remove", {"what": "a"}, ask)
        assert await call_tool(connections, "add", {"a": 1}) == Success("3")


async def test_cancelled_mcp_call_notifies_the_server(tmp_path, quiet_server):
    async with connect_servers([quiet_server], tmp_path) as connections:
        task = asyncio.create_task(call_tool(connections, "wait", {"folder": str(tmp_path)}))
        await wait_until((tmp_path / "waiting").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until((tmp_path / "cancelled").exists)


async def test_a_call_that_is_cancelled_while_it_asks_withdraws_the_question(tmp_path):
    start_event, withdrawn = asyncio.Event(), asyncio.Event()

    async def ask(question):
        start_event.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        task = asyncio.create_task(call_tool(connections, "ask", {"forms": [form()]}, ask))
        await start_event.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await withdrawn.wait()
        await wait_until((tmp_path / "cancelled").exists)
        assert await call_tool(connections, "ask") == Success("[]")


async def test_a_call_that_takes_too_long_is_given_up(tmp_path):
    async with connect_servers(
        [make_stdio_server()], tmp_path, limits=CallLimits(seconds=0.5)
    ) as connections:
        assert await call_tool(connections, "wait", {"folder": str(tmp_path)}) == Failed(
            "The MCP server probe did not answer within 0.5 seconds. "
            "Retry only with less for it to do."
        )
        await wait_until((tmp_path / "cancelled").exists)


@pytest.fixture
def clocks(monkeypatch) -> list[PausableTimeout]:
    """Return the list of the time limits of calls from here on."""
    clocks: list[PausableTimeout] = []

    class RecordedTimeout(PausableTimeout):
        def __init__(self, seconds: float) -> None:
            super().__init__(seconds)
            clocks.append(self)

    monkeypatch.setattr(mcp_tool, "PausableTimeout", RecordedTimeout)
    return clocks


async def test_the_time_that_people_take_is_not_counted(tmp_path, clocks):
    async def ask(question):
        assert [clock._limit.when() for clock in clocks] == [None], "it stands still"
        return Answer(True)

    async with connect_servers([older(tmp_path)], tmp_path) as connections:
        outcome = await call_tool(connections, "ask", {"forms": [form()]}, ask)
    assert isinstance(outcome, Success)
    assert clocks[0]._limit.when() is not None, "it went on"


async def test_time_counts_again_once_the_server_cancels_its_form(tmp_path, clocks):
    """The SDK's servers cancel a form that is not answered in their own time."""
    questions: list[Question] = []

    async def ask(question):
        questions.append(question)
        clocks[0]._seconds = 0.3  # from here on: the server's start does not count
        (tmp_path / "asking").touch()
        await asyncio.Event().wait()

    limits = CallLimits(seconds=20)
    async with connect_servers([older(tmp_path)], tmp_path, limits=limits) as connections:
        async with asyncio.timeout(20):
            outcome = await call_tool(connections, "withdraw", {"form": form()}, ask)
    assert isinstance(outcome, Failed)
    assert "did not answer within 20 seconds" in outcome.message
    assert len(questions) == 1


async def test_clock_ignores_a_form_that_ends_after_the_call():
    clock = PausableTimeout(10)
    async with clock:
        clock.set_paused(True)
    clock.set_paused(False)


async def test_a_clock_that_has_run_out_stays_so():
    clock = PausableTimeout(0.01)
    with pytest.raises(TimeoutError):
        async with clock:
            await asyncio.Event().wait()
    clock.set_paused(True)


def forgetful(monkeypatch, times: int) -> McpServer:
    monkeypatch.setenv("PROBE_FORGETS", str(times))
    return make_stdio_server(file=SERVER, variables=("PROBE_FORGETS",))


async def test_late_answer_reaches_the_tool_by_another_call(tmp_path, monkeypatch):
    person = ScriptedPerson(True)
    async with connect_servers([forgetful(monkeypatch, 1)], tmp_path) as connections:
        outcome = await call_tool(connections, "remove", {"what": "a"}, person)
    assert outcome == Success("a: True")
    assert len(person.questions) == 1


async def test_server_that_refuses_every_state_fails_the_call(tmp_path, monkeypatch):
    person = ScriptedPerson(True)
    async with connect_servers([forgetful(monkeypatch, 5)], tmp_path) as connections:
        outcome = await call_tool(connections, "remove", {"what": "a"}, person)
    assert isinstance(outcome, Failed)
    assert "requestState" in outcome.message
    assert len(person.questions) == 1
