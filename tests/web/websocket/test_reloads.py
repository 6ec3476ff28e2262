"""Whatever changes, an open page shows what a reload would show, element by element."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals as decisions
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store import approvals, journal, runs
from jpweb.store.choices import ApprovalKind, RunState, WritePolicy
from jpweb.store.database import clock
from jpweb.store.jp_files import external_appends
from jpweb.store.models import Approval, Conversation, Run, Workspace
from jpweb.stream import timestamps, wire
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest, TurnStart
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.builders import make_result
from tests.machine.sizes import IS_PROOF, choose_size, mark_proof
from tests.store import making
from tests.web.sockets import connect_page
from tests.web.websocket.live_page import LivePage
from tests.web.world import World, signed_in

Change = Callable[["Story"], Awaitable[None]]


class Story:
    """Changes of a conversation, each published as the program does."""

    def __init__(self, world: World) -> None:
        self.world, self.run = world, world.run
        self.key = world.conversation.pk

    async def publish(self) -> None:
        await publisher.publish_questions_changed(self.world.workspace.pk)
        await publisher.publish_conversation_changed(self.key)

    async def append(self, *kinds: Any) -> None:
        events = [making.event(kind) for kind in kinds]
        await run_in_db_thread(journal.append_events, self.key, events, self.run)
        await self.publish()

    async def ask(self) -> None:
        self.question = await run_in_db_thread(making.question, self.run)
        await self.publish()

    async def answer(self) -> None:
        decider = making.decider(self.world.people["owner"])
        await run_in_db_thread(making.settle, self.question, Answered(True), decider)
        await self.publish()

    async def cancel(self) -> None:
        outcome = Cancelled(CancellationReason.USER)
        await run_in_db_thread(making.settle, self.question, outcome)
        await self.publish()

    async def answer_first(self) -> None:
        self.question = self.world.question
        await self.answer()

    async def request_approval(self) -> None:
        subject = {"arguments": {}, "content": "Done.", "described": "vault", "edit": False}
        call = (ApprovalKind.RUN, "call_1", "vault", subject)
        self.approval: Approval = await run_in_db_thread(
            approvals.request_approval, self.key, *call
        )
        await decisions.publish_decided(self.approval)

    async def decide(self) -> None:
        decider = making.decider(self.world.people["owner"])
        await decisions.decide_approval(self.approval.pk, ApprovalVerdict(allow=True), decider)

    async def finish_call(self) -> None:
        await self.append(make_result("call_1", "All done."))

    async def stream_reply(self) -> None:
        length = await run_in_db_thread(making.count_entries, self.key)
        await publisher.publish_partial_text(self.key, "message", "It is done.", length)
        await self.append(ChatResponse("message", "It is done."))

    async def end_run(self) -> None:
        await run_in_db_thread(runs.end_run, self.run, RunState.DONE)
        await self.publish()

    async def fail_run(self) -> None:
        await run_in_db_thread(runs.end_run, self.run, RunState.FAILED, "The server is away.")
        await self.publish()

    async def start_run(self) -> None:
        """Start a run whose call has a time of its own, by which approvals find their call."""
        starter = self.world.people["owner"]
        run = await run_in_db_thread(runs.start_run, self.key, starter.pk, "scripted")
        self.run = await run_in_db_thread(making.acquire_run, run)
        now = timestamps.format_timestamp(clock.now())
        kinds = (
            TurnStart(),
            ChatRequest("Again", author="Ada"),
            ToolCallRequest("call_1", "vault"),
        )
        events = [making.event(kind, now) for kind in kinds]
        await run_in_db_thread(journal.append_events, self.key, events, self.run)
        await self.publish()

    async def park(self) -> None:
        rows = Run.objects.filter(pk=self.run.pk)
        await run_in_db_thread(rows.update, state=RunState.PARKED)
        await self.publish()

    async def resume(self) -> None:
        rows = Run.objects.filter(pk=self.run.pk)
        await run_in_db_thread(rows.update, state=RunState.RUNNING)
        await self.publish()

    async def change(self, **values: Any) -> None:
        rows = Conversation.objects.filter(pk=self.key)
        await run_in_db_thread(rows.update, **values)
        await publisher.publish_conversation_changed(self.key)

    async def rename(self) -> None:
        await self.change(title="Another title")

    async def label(self) -> None:
        await self.change(labels={"kind": "release"})

    async def pin(self) -> None:
        await self.change(pinned_at=datetime(2026, 1, 2, tzinfo=UTC))

    async def remove(self) -> None:
        await self.change(removed_at=datetime(2026, 1, 2, tzinfo=UTC))

    async def fail_to_save(self) -> None:
        await self.change(problem="No longer saved to the garden: the disk is full")

    async def save(self) -> None:
        await self.change(problem="")

    async def empty(self) -> None:
        """Remove all events, as jp may from its file."""
        await self.replace_rows()

    async def refill(self) -> None:
        await self.replace_rows(TurnStart(), ChatRequest("Again"))

    async def replace_rows(self, *kinds: Any) -> None:
        def replace() -> None:
            elements = [wire.write_element(making.event(kind)) for kind in kinds]
            row = Conversation.objects.get(pk=self.key)
            external_appends._replace_rows(row, elements)
            row.save()

        await run_in_db_thread(replace)
        await self.publish()

    async def archive(self) -> None:
        await self.change(archived=True)

    async def unarchive(self) -> None:
        await self.change(archived=False)


#: In an order in which each can happen.
CHANGES: tuple[Change, ...] = (
    Story.answer_first,
    Story.ask,
    Story.park,
    Story.answer,
    Story.resume,
    Story.ask,
    Story.cancel,
    Story.request_approval,
    Story.decide,
    Story.finish_call,
    Story.stream_reply,
    Story.fail_to_save,
    Story.rename,
    Story.save,
    Story.label,
    Story.pin,
    Story.end_run,
    Story.archive,
    Story.unarchive,
    Story.start_run,
    Story.ask,
    Story.fail_run,
    Story.start_run,
    Story.request_approval,
    Story.end_run,
    Story.remove,
)


def load_page(world: World, name: str, show: str = "") -> LivePage:
    """Return a person's page as it is loaded now, with everything read."""
    client = signed_in(world.people[name])
    path = f"/conversations/{world.conversation.pk}?at=end&show={show}"
    client.get(path)
    return LivePage(client.get(path).content.decode(), show)


async def find_differences(page: LivePage, *view: Any) -> list[tuple[str, str, str]]:
    """Return the parts of a page that differ from those of the page that is loaded now."""
    expected = (await run_in_db_thread(load_page, *view)).describe()
    return [
        (part, text, expected[part])
        for part, text in page.describe().items()
        if text != expected[part]
    ]


@pytest.fixture
def saved_world(shared_world: World) -> World:
    """Return a world whose conversations are saved to files, so that an archive is read-only."""
    Workspace.objects.filter(pk=shared_world.workspace.pk).update(writing=WritePolicy.CURRENT)
    return shared_world


@pytest.mark.parametrize(
    ("name", "show"),
    [("owner", ""), ("reader", "tools"), *mark_proof(("owner", "tools"), ("reader", ""))],
)
async def test_open_page_shows_what_a_reload_shows(saved_world: World, name: str, show: str):
    story, view = Story(saved_world), (saved_world, name, show)
    page = await run_in_db_thread(load_page, *view)
    async with connect_page(saved_world.people[name], **page.read_state()) as socket:
        page.apply_update(await socket.receive_all())
        for number, change in enumerate(CHANGES):
            await change(story)
            page.apply_update(await socket.receive_all())
            # In make test a reader, whose parts are some of the owner's, reloads at every fourth.
            if IS_PROOF or name == "owner" or number % 4 == 0:
                assert await find_differences(page, *view) == [], change.__name__


@pytest.mark.parametrize("show", ["", *mark_proof("tools")])
async def test_open_page_of_an_empty_conversation_shows_what_a_reload_shows(
    saved_world: World, show: str
):
    saved_world.conversation = await run_in_db_thread(making.conversation, saved_world.workspace)
    story, view = Story(saved_world), (saved_world, "owner", show)
    page = await run_in_db_thread(load_page, *view)
    async with connect_page(saved_world.people["owner"], **page.read_state()) as socket:
        page.apply_update(await socket.receive_all())
        for change in (
            Story.start_run,
            Story.finish_call,
            Story.end_run,
            Story.empty,
            Story.refill,
        ):
            await change(story)
            page.apply_update(await socket.receive_all())
            assert await find_differences(page, *view) == [], change.__name__


@pytest.mark.parametrize("missed_count", range(1, len(CHANGES) + 1, choose_size(12, 4)))
@pytest.mark.parametrize("name", ["owner", "reader"])
async def test_page_that_comes_back_shows_what_a_reload_shows(
    saved_world: World, name: str, missed_count: int
):
    story, view = Story(saved_world), (saved_world, name)
    for change in CHANGES[:-missed_count]:
        await change(story)
    page = await run_in_db_thread(load_page, *view)
    for change in CHANGES[-missed_count:]:
        await change(story)
    async with connect_page(saved_world.people[name], **page.read_state()) as socket:
        page.apply_update(await socket.receive_all())
    assert await find_differences(page, *view) == []
