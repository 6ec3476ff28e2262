"""Cards of permission and delivery prompts, and text of tool calls, over a page's socket."""

from __future__ import annotations

import asyncio

import pytest

from jpweb.agent.ports import Permitted, RunPrompt
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.store import approvals as rows
from jpweb.store import runs
from jpweb.store.inquiries import Decider
from jpweb.store.models import Approval, Membership
from jpweb.stream.inquiry import CancellationReason
from jpweb.web.websocket import conversation_updates
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import SOON, Socket, connect_page, make_hello
from tests.web.world import World

ASKS = RunPrompt("call_1", "vault", "vault (local)", {"path": "a.md"})


async def card(socket: Socket, key: int) -> dict[str, str]:
    """Return the card of a prompt once it comes."""
    async with asyncio.timeout(SOON):
        while True:
            for tag in parse_page(await socket.receive_all()):
                if tag.get("id") == f"approval-{key}":
                    return tag


async def test_socket_shows_a_prompt_to_deciders_until_it_is_decided(
    shared_world: World,
):
    hello = await run_in_db_thread(make_hello, shared_world)
    people = shared_world.people
    async with (
        connect_page(people["responder"], **hello) as answering_socket,
        connect_page(people["owner"], inbox=True, questions=hello["questions"]) as inbox_socket,
        connect_page(people["reader"], **hello | {"questions": []}) as reading,
    ):
        for socket in (answering_socket, inbox_socket, reading):
            await socket.receive_all()
        prompter = BrowserPrompter(
            shared_world.conversation.pk, shared_world.workspace.pk, lambda: Decider("system")
        )
        call = asyncio.create_task(prompter.permit(ASKS))
        html_page = parse_page(await answering_socket.receive())
        (tag,) = [t for t in html_page if t.get("data-approval-kind") == "run"]
        key = int(tag["data-approval"])
        assert tag["data-outcome"] == "open"
        assert html_page.find_one(id="question-count")["data-count"] == "2"
        assert [t.text for t in html_page if "data-position" in t] == ["2 of 2"]
        assert (await card(inbox_socket, key))["data-outcome"] == "open"
        assert "approval-" not in await reading.receive_all()
        await approvals.decide_approval(key, ApprovalVerdict(True), making.decider(people["owner"]))
        assert await asyncio.wait_for(call, SOON) == Permitted({"path": "a.md"})
        for socket in (answering_socket, inbox_socket):
            settled_card = parse_page(await socket.receive_all())
            assert settled_card.find_one(id=f"approval-{key}")["data-outcome"] == "decided"
            assert "by Owner" in settled_card.text
            assert settled_card.find_one(id="question-count")["data-count"] == "1"


async def test_a_page_that_shows_a_prompt_is_not_sent_it_again(shared_world: World):
    row = await run_in_db_thread(making.prompt, shared_world.run)
    hello = await run_in_db_thread(make_hello, shared_world, row)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        html_page = parse_page(await socket.receive_all())
        ids = [t["id"] for t in html_page if "id" in t]
        assert ids == ["question-count", "hidden-count"]
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert not parse_page(await socket.receive_all()).find_all(id=f"approval-{row.pk}")


async def test_socket_reconnect_returns_new_and_decided_prompts(
    shared_world: World,
):
    old = await run_in_db_thread(making.prompt, shared_world.run)
    hello = await run_in_db_thread(make_hello, shared_world, old)
    new = await run_in_db_thread(making.prompt, shared_world.run)
    await run_in_db_thread(
        rows.decide_approval, old.pk, {"allow": False}, making.decider(shared_world.people["owner"])
    )
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        html_page = parse_page(await socket.receive_all())
    outcomes = [html_page.find_one(id=f"approval-{row.pk}")["data-outcome"] for row in (old, new)]
    assert outcomes == ["decided", "open"]


async def test_prompts_of_other_conversations_are_not_on_a_conversations_page(shared_world: World):
    def make_prompt_elsewhere() -> Approval:
        return making.prompt(making.start_run(making.conversation(shared_world.workspace)))

    row = await run_in_db_thread(make_prompt_elsewhere)
    async with connect_page(
        shared_world.people["responder"], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        html_page = parse_page(await socket.receive_all())
    assert not html_page.find_all(id=f"approval-{row.pk}")
    assert html_page.find_one(id="question-count")["data-count"] == "2"


async def test_the_end_of_a_run_takes_its_prompts_away(shared_world: World):
    row = await run_in_db_thread(making.prompt, shared_world.run)
    async with connect_page(
        shared_world.people["responder"], **await run_in_db_thread(make_hello, shared_world, row)
    ) as socket:
        await socket.receive_all()
        await run_in_db_thread(runs.close_open, shared_world.run, CancellationReason.LOST)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        settled_card = await card(socket, row.pk)
    assert settled_card["data-outcome"] == "withdrawn"


@pytest.mark.parametrize("person_name", ["outsider", "rival", "reader"])
async def test_naming_a_prompt_shows_nothing_to_those_who_may_not_decide(
    shared_world: World, person_name: str
):
    row = await run_in_db_thread(making.prompt, shared_world.run, described="private tool")
    refusal = {"allow": False, "reason": "private"}
    await run_in_db_thread(
        rows.decide_approval, row.pk, refusal, making.decider(shared_world.people["owner"])
    )
    async with connect_page(
        shared_world.people[person_name], inbox=True, approvals=[row.pk, 10**9]
    ) as socket:
        html = await socket.receive_all()
    assert html.count("no longer available") == 2
    assert "private" not in html
    assert "Owner" not in html


async def test_socket_removes_open_prompts_of_a_person_without_the_role(shared_world: World):
    row = await run_in_db_thread(making.prompt, shared_world.run)
    hello = await run_in_db_thread(make_hello, shared_world, row)
    await run_in_db_thread(
        Membership.objects.filter(person=shared_world.people["responder"]).update, role=10
    )
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        html_page = parse_page(await socket.receive_all())
    assert "no longer available" in html_page.find_one(id=f"approval-{row.pk}").text


@pytest.mark.parametrize(
    "text", ['{"approvals": 1}', '{"approvals": ["x"]}', '{"approvals": [-1]}']
)
async def test_prompts_that_cannot_be_read_close(shared_world: World, text: str):
    async with connect_page(shared_world.people["owner"]) as socket:
        await socket.say(text)
        assert await socket.closes() == 4400


async def test_a_tool_call_is_shown_as_code_while_it_comes(shared_world: World):
    async with connect_page(
        shared_world.people["reader"], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        await socket.receive_all()
        await publisher.publish_partial_text(
            shared_world.conversation.pk, "tool_call", 'vault {"path": "<b>'
        )
        html_page = parse_page(await socket.receive())
    assert [t.text for t in html_page if t.tag in ("code", "pre")] == ["vault", '{"path": "<b>']
    assert "tool" in html_page.find_one(id="partial-text")["class"].split()


@pytest.mark.parametrize(
    ("variant", "size", "kept_chars"),
    [("tool_call", 4000, 4000), ("tool_call", 4001, 4000), ("message", 9000, 9000)],
)
def test_partial_tool_call_shows_its_end_and_size(variant: str, size: int, kept_chars: int):
    name = "vault " if variant == "tool_call" else ""
    html_page = parse_page(
        conversation_updates.render_partial_text(variant, name + "x" * (size - 1) + "!")
    )
    (text,) = html_page.find_all(**{"class": "text"})
    assert (len(text.text), text.text[-1]) == (kept_chars, "!")
    assert (f"{size} characters so far" in html_page.text) is (kept_chars < size)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12 2 5 Slow down.", "Trying again in 12 s (2 of 5)… Slow down."),
        ("0 1 5 Slow down.", "Trying again (1 of 5)… Slow down."),
    ],
)
def test_partial_text_of_a_retry_shows_the_time_of_the_next_request(text: str, words: str):
    box = parse_page(conversation_updates.render_partial_text("retry", text))
    assert " ".join(box.find_one(id="partial-text").text.replace("…", "… ").split()) == words
    ended = parse_page(conversation_updates.render_partial_text("retry", ""))
    assert "hidden" in ended.find_one(id="partial-text")


@pytest.mark.parametrize(("text", "hidden"), [("vault ", False), ("", True)])
def test_a_tool_call_shows_as_soon_as_it_has_a_name(text: str, hidden: bool):
    assert (
        "hidden"
        in parse_page(conversation_updates.render_partial_text("tool_call", text)).find_one(
            id="partial-text"
        )
    ) is hidden
