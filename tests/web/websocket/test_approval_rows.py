"""Rows of calls that wait for an approval, on pages of people who may not decide it."""

from __future__ import annotations

from typing import Any

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals as decisions
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store import approvals, runs
from jpweb.store.choices import ApprovalKind
from jpweb.store.inbox import queue
from jpweb.store.models import Approval
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.sockets import Socket, connect_page, make_hello
from tests.web.world import World, signed_in


def request_approval(world: World, kind: ApprovalKind = ApprovalKind.RUN) -> Approval:
    subject = {"arguments": {}, "content": "Done.", "described": "vault", "edit": False}
    return approvals.request_approval(world.conversation.pk, kind, "call_1", "vault", subject)


async def decide(row: Approval, world: World) -> None:
    decider = making.decider(world.people["owner"])
    await decisions.decide_approval(row.pk, ApprovalVerdict(allow=True), decider)


def read_page_key(world: World) -> str:
    """Return the state of the approvals that a reader's page has when it is loaded."""
    client = signed_in(world.people["reader"])
    page = parse_page(client.get(f"/conversations/{world.conversation.pk}?at=end"))
    return page.find_one(id="approval-state")["data-approvals"]


async def make_page_state(world: World) -> dict[str, Any]:
    hello = await run_in_db_thread(make_hello, world)
    return hello | {"approval_state": await run_in_db_thread(read_page_key, world)}


async def receive_row(socket: Socket) -> str:
    """Return the row of the call that a page is sent."""
    page: ParsedPage = parse_page(await socket.receive_all())
    return page.find_one(**{"data-kind": "tool_call_request"}).text


async def test_call_row_shows_a_pending_approval_and_its_decision(shared_world: World):
    await run_in_db_thread(making.settle, shared_world.question, Answered(True))
    hello = await make_page_state(shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        row = await run_in_db_thread(request_approval, shared_world)
        await decisions.publish_decided(row)
        assert "Waiting for approval" in await receive_row(socket)
        await decide(row, shared_world)
        line = await receive_row(socket)
        assert "Allowed" in line
        assert "Waiting for approval" not in line


async def test_page_that_comes_back_gets_the_row_that_changed(shared_world: World):
    row = await run_in_db_thread(request_approval, shared_world)
    hello = await make_page_state(shared_world)
    await decide(row, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert "Allowed" in await receive_row(socket)
    hello = await make_page_state(shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert "Allowed" not in await socket.receive_all(), "it has the row already"


def test_marks_differ_once_an_approval_is_requested_and_withdrawn(world: World):
    """A signal that is lost costs a delay: processes poll these marks."""
    marks, key = [], world.conversation.pk

    def note_marks() -> None:
        newest_run: Any = runs.get_newest(key)
        run_marks = newest_run.newest_approval_id, newest_run.open_approval_count
        marks.append((queue.get_conversation_marks([key])[key], run_marks))

    note_marks()
    row = request_approval(world)
    note_marks()
    approvals.withdraw_approval(row.pk)
    note_marks()
    assert len(set(map(repr, marks))) == 3
    assert [run_marks for _, run_marks in marks] == [(None, None), (row.pk, 1), (row.pk, None)]
