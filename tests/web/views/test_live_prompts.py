"""Cards of permission and delivery prompts, and text of tool calls, over a page's socket."""

from __future__ import annotations

import asyncio

import pytest

from jpweb.agent.ports import Permitted, RunPrompt
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals
from jpweb.runtime.inquiries.approvals import Verdict
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.store import approvals as rows
from jpweb.store import runs
from jpweb.store.inquiries import Decider
from jpweb.store.models import Approval, Membership
from jpweb.stream.inquiry import CancellationReason
from jpweb.web.websocket import conversation_updates
from tests.store import making
from tests.web.reading import read
from tests.web.sockets import SOON, Socket, page, shows
from tests.web.world import World

ASKS = RunPrompt("call_1", "vault", "vault (local)", {"path": "a.md"})


async def card(socket: Socket, key: int) -> dict[str, str]:
    """Return the card of a prompt once it comes."""
    async with asyncio.timeout(SOON):
        while True:
            for tag in read(await socket.everything()):
                if tag.get("id") == f"approval-{key}":
                    return tag


async def test_a_prompt_comes_to_those_who_may_decide_and_goes_when_somebody_has(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    who = lasting.people
    async with (
        page(who["responder"], **says) as here,
        page(who["owner"], inbox=True, questions=says["questions"]) as desk,
        page(who["reader"], **says | {"questions": []}) as reading,
    ):
        for socket in (here, desk, reading):
            await socket.everything()
        prompter = BrowserPrompter(lasting.talk.pk, lasting.home.pk, lambda: Decider("system"))
        call = asyncio.create_task(prompter.permit(ASKS))
        heard = read(await here.hears())
        (tag,) = [t for t in heard if t.get("data-approval-kind") == "run"]
        key = int(tag["data-approval"])
        assert tag["data-outcome"] == "open"
        assert heard.one(id="question-count")["data-count"] == "2"
        assert [t.text for t in heard if "data-position" in t] == ["2 of 2"]
        assert (await card(desk, key))["data-outcome"] == "open"
        assert "approval-" not in await reading.everything()
        await approvals.decide_approval(key, Verdict(True), making.decider(who["owner"]))
        assert await asyncio.wait_for(call, SOON) == Permitted({"path": "a.md"})
        for socket in (here, desk):
            settled = read(await socket.everything())
            assert settled.one(id=f"approval-{key}")["data-outcome"] == "decided"
            assert "by Owner" in settled.text
            assert settled.one(id="question-count")["data-count"] == "1"


async def test_a_page_that_shows_a_prompt_is_not_sent_it_again(lasting: World):
    row = await run_in_db_thread(making.prompt, lasting.run)
    says = await run_in_db_thread(shows, lasting, row)
    async with page(lasting.people["responder"], **says) as socket:
        heard = read(await socket.everything())
        ids = [t["id"] for t in heard if "id" in t]
        assert ids == ["question-count", "hidden-count"]
        await publisher.publish_questions_changed(lasting.home.pk)
        assert not read(await socket.everything()).all(id=f"approval-{row.pk}")


async def test_a_page_that_comes_back_gets_what_came_and_what_became_of_the_rest(lasting: World):
    old = await run_in_db_thread(making.prompt, lasting.run)
    says = await run_in_db_thread(shows, lasting, old)
    new = await run_in_db_thread(making.prompt, lasting.run)
    await run_in_db_thread(
        rows.decide_approval, old.pk, {"allow": False}, making.decider(lasting.people["owner"])
    )
    async with page(lasting.people["responder"], **says) as socket:
        heard = read(await socket.everything())
    outcomes = [heard.one(id=f"approval-{row.pk}")["data-outcome"] for row in (old, new)]
    assert outcomes == ["decided", "open"]


async def test_prompts_of_other_conversations_are_not_on_a_conversations_page(lasting: World):
    def elsewhere() -> Approval:
        return making.prompt(making.running(making.conversation(lasting.home)))

    row = await run_in_db_thread(elsewhere)
    async with page(
        lasting.people["responder"], **await run_in_db_thread(shows, lasting)
    ) as socket:
        heard = read(await socket.everything())
    assert not heard.all(id=f"approval-{row.pk}")
    assert heard.one(id="question-count")["data-count"] == "2"


async def test_the_end_of_a_run_takes_its_prompts_away(lasting: World):
    row = await run_in_db_thread(making.prompt, lasting.run)
    async with page(
        lasting.people["responder"], **await run_in_db_thread(shows, lasting, row)
    ) as socket:
        await socket.everything()
        await run_in_db_thread(runs.close_open, lasting.run, CancellationReason.LOST)
        await publisher.publish_questions_changed(lasting.home.pk)
        settled = await card(socket, row.pk)
    assert settled["data-outcome"] == "withdrawn"


@pytest.mark.parametrize("who", ["outsider", "rival", "reader"])
async def test_naming_a_prompt_shows_nothing_to_those_who_may_not_decide(lasting: World, who: str):
    row = await run_in_db_thread(making.prompt, lasting.run, described="private tool")
    refused = {"allow": False, "reason": "private"}
    await run_in_db_thread(
        rows.decide_approval, row.pk, refused, making.decider(lasting.people["owner"])
    )
    async with page(lasting.people[who], inbox=True, approvals=[row.pk, 10**9]) as socket:
        heard = await socket.everything()
    assert heard.count("no longer available") == 2
    assert "private" not in heard
    assert "Owner" not in heard


async def test_a_card_that_is_open_but_no_longer_ones_own_goes(lasting: World):
    row = await run_in_db_thread(making.prompt, lasting.run)
    says = await run_in_db_thread(shows, lasting, row)
    await run_in_db_thread(
        Membership.objects.filter(person=lasting.people["responder"]).update, role=10
    )
    async with page(lasting.people["responder"], **says) as socket:
        heard = read(await socket.everything())
    assert "no longer available" in heard.one(id=f"approval-{row.pk}").text


@pytest.mark.parametrize(
    "text", ['{"approvals": 1}', '{"approvals": ["x"]}', '{"approvals": [-1]}']
)
async def test_prompts_that_cannot_be_read_close(lasting: World, text: str):
    async with page(lasting.people["owner"]) as socket:
        await socket.say(text)
        assert await socket.closes() == 4400


async def test_a_tool_call_is_shown_as_code_while_it_comes(lasting: World):
    async with page(lasting.people["reader"], **await run_in_db_thread(shows, lasting)) as socket:
        await socket.everything()
        await publisher.publish_partial_text(lasting.talk.pk, "tool_call", 'vault {"path": "<b>')
        heard = read(await socket.hears())
    assert [t.text for t in heard if t.tag in ("code", "pre")] == ["vault", '{"path": "<b>']
    assert "tool" in heard.one(id="partial-text")["class"].split()


@pytest.mark.parametrize(
    ("variant", "size", "kept"),
    [("tool_call", 4000, 4000), ("tool_call", 4001, 4000), ("message", 9000, 9000)],
)
def test_of_a_long_tool_call_the_end_is_shown_with_its_size(variant: str, size: int, kept: int):
    name = "vault " if variant == "tool_call" else ""
    shown = read(conversation_updates.render_partial_text(variant, name + "x" * (size - 1) + "!"))
    (text,) = shown.all(**{"class": "text"})
    assert (len(text.text), text.text[-1]) == (kept, "!")
    assert (f"{size} characters so far" in shown.text) is (kept < size)


@pytest.mark.parametrize(("text", "hidden"), [("vault ", False), ("", True)])
def test_a_tool_call_shows_as_soon_as_it_has_a_name(text: str, hidden: bool):
    assert (
        "hidden"
        in read(conversation_updates.render_partial_text("tool_call", text)).one(id="partial-text")
    ) is hidden
