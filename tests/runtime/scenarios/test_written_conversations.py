"""A conversation that is run here and written into the workspace, read back from there."""

from __future__ import annotations

import os
from pathlib import Path

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.choices import Origin, WritePolicy
from jpweb.store.jp_files import attachments, mirror
from jpweb.store.models import Conversation, Inquiry, Workspace
from jpweb.stream import wire
from jpweb.stream.outline import Outline, build_outline
from jpweb.stream.transcript.items import ToolCall
from tests.machine.vendors import run_vendor
from tests.runtime.playing import wait_for_task
from tests.runtime.scenarios.talking import BOTH, DONE, reply_with_answer
from tests.runtime.scenarios.test_asking import answer_everything
from tests.runtime.scenarios.wires import NOTED
from tests.runtime.scenarios.workshop import CANARY, Workshop

#: Each call with its questions, how these ended, and whose result it has.
SHAPE = [
    ("call_1", ["name", "loud"], ["answered", "answered"], "call_1"),
    ("call_2", ["confirm", "passphrase"], ["answered", "redacted"], "call_2"),
]
COLUMNS = ("anchor", "inquiry_id", "state", "answer", "answer_type", "decided_by", "decider_name")


def shape(outline: Outline) -> list[tuple[str, list[str], list[str], str]]:
    calls = [item for turn in outline.turns for item in turn.items if isinstance(item, ToolCall)]
    return [
        (
            tool_call.call.id,
            [group.key for group in tool_call.question_groups],
            [inquiry.state for inquiry in tool_call.inquiries],
            tool_call.response.element.kind.to_fields()["id"]
            if tool_call.response and tool_call.response.element.kind
            else "",
        )
        for tool_call in calls
    ]


async def play_attached(shop: Workshop) -> list[Path]:
    """Play the whole scenario in an attached workspace; return the two copies of its stream."""
    silo = Path(os.environ["JP_USER_DATA_DIR"]) / "workspace" / "workshop-works"
    silo.mkdir(parents=True)
    await run_in_db_thread(attachments.set_write_policy, shop.workspace, WritePolicy.CURRENT)
    with run_vendor("anthropic", [BOTH, reply_with_answer(True), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        _, task = await shop.start("Greet and deploy")
        await answer_everything(shop)
        await wait_for_task(task)
    homes = (silo / "conversations", shop.root / ".jp" / "conversations")
    return [file for home in homes for file in home.glob("*/events.json")]


async def test_run_is_written_to_both_copies_as_recorded(shop: Workshop):
    copies = [file.read_bytes() for file in await play_attached(shop)]
    assert len(copies) == 2
    assert copies[0] == copies[1]
    elements = [wire.read_element(text) for text in wire.split_array(copies[0])]
    assert build_outline(elements) == build_outline(await shop.elements())
    assert shape(build_outline(elements)) == SHAPE
    notes = [event.metadata for element in elements[2:6] for event in element.events]
    assert tuple(notes) == NOTED["anthropic"]
    assert CANARY.encode() not in copies[0]


async def test_a_mirror_of_these_files_is_the_same_conversation(shop: Workshop):
    """For the mirror the workspace is one that it has never seen."""
    await play_attached(shop)
    workspace_rows = Workspace.objects.filter(pk=shop.workspace.pk)
    await run_in_db_thread(
        workspace_rows.update, root="/elsewhere", jp_id="other", copies_id="other"
    )
    workspace, report = await run_in_db_thread(mirror.mirror_workspace, shop.root)
    assert (report.conversation_count, report.inquiries) == (1, {"answered": 3, "redacted": 1})
    assert (report.unknown_elements, report.broken_elements, report.problems) == (0, 0, [])
    copy = await run_in_db_thread(
        Conversation.objects.get, workspace=workspace, origin=Origin.MIRRORED
    )
    elements = await run_in_db_thread(journal.read_elements, copy.pk)
    assert build_outline(elements) == build_outline(await shop.elements())
    rows = Inquiry.objects.order_by("position").values_list(*COLUMNS)
    own_rows = await run_in_db_thread(list, rows.filter(conversation=shop.conversation))
    assert await run_in_db_thread(list, rows.filter(conversation=copy)) == own_rows
    assert len(own_rows) == 4
