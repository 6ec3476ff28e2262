"""A conversation of jp's that is continued here, where an owner allows writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.runtime import conversation_config
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.choices import Origin, WritePolicy
from jpweb.store.errors import ReadOnlyConversation, StoreError
from jpweb.store.jp_files import attachments, metadata_file, mirror
from jpweb.store.models import Conversation, JournalEntry, Run
from jpweb.store.redaction import application, plans
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ChatResponse, ConfigDelta, Element, TurnStart
from tests.builders import make_call, make_element, make_inquiry
from tests.runtime import providers
from tests.store import making
from tests.store.jp_files.test_attachments import FORMS, Attached, stage

__all__ = ["stage"]

JP_ID = 17880786645
BASE = b'{"assistant": {"model": {"id": {"provider": "openai", "name": "of-jp"}}}}'
TURN = [
    make_element(TurnStart()),
    make_element(ChatRequest("From a terminal")),
    make_element(ChatResponse("message", "An answer of jp's")),
]
ADDED = make_element(ChatResponse("message", "jp again"))


class JpConversation:
    """A conversation that jp wrote into the workspace of a stage, mirrored."""

    def __init__(self, stage: Attached, elements: list[Element]) -> None:
        self.stage = stage
        self.folder = making.write_folder(stage.root, f"{JP_ID}-of-jp", elements)
        (self.folder / "base_config.json").write_bytes(BASE)
        self.refresh()
        self.row = Conversation.objects.get(jp_id=JP_ID)
        stage.conversation = self.row

    def refresh(self) -> None:
        mirror.mirror_workspace(self.stage.root)

    def write(self, elements: list[Element]) -> None:
        (self.folder / "events.json").write_bytes(making.stream_file(elements))

    def read(self) -> list[Element]:
        texts = wire.split_array((self.folder / "events.json").read_bytes())
        return [wire.read_element(text) for text in texts]

    def save(self, elements: list[Element]) -> None:
        """Save the conversation as jp does, in each root, and let a pass read it."""
        for copy in self.copies:
            (copy / "base_config.json").write_bytes(BASE)
            (copy / "events.json").write_bytes(making.stream_file(elements))
        self.refresh()

    @property
    def copies(self) -> list[Path]:
        homes = (self.stage.silo / "conversations", self.stage.root / ".jp" / "conversations")
        return [path for home in homes for path in home.glob(f"{JP_ID}*")]


async def begin(stage: Attached, elements: list[Element] | None = None) -> JpConversation:
    return await run_in_db_thread(JpConversation, stage, elements or TURN)


@pytest.mark.parametrize("form", FORMS)
async def test_turn_of_an_adopted_conversation_is_appended_to_jps_file(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, form: WritePolicy
):
    jp = await begin(stage)
    await run_in_db_thread(stage.write, form)
    before = (jp.folder / "events.json").read_bytes()
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"
    assert len(jp.copies) == 2
    for copy in jp.copies:
        data = (copy / "events.json").read_bytes()
        assert data.startswith(before.removesuffix(b"\n]\n") + b",")
        assert len(wire.split_array(data)) > len(TURN) + 2
        assert (copy / "base_config.json").read_bytes() == BASE
    assert (await stage.row()).origin == Origin.NATIVE


def read_model(row: Conversation) -> str:
    return conversation_config.name_model(
        conversation_config.load_conversation_config(row).configuration
    )


async def test_adopted_conversation_runs_with_its_base_configuration(stage: Attached):
    jp = await begin(stage)
    assert await run_in_db_thread(read_model, jp.row) == "openai/of-jp"
    attachment = await run_in_db_thread(attachments.attach_files, jp.row.pk)
    assert attachment is not None
    attachment.release()
    adopted = await stage.row()
    assert adopted.origin == Origin.NATIVE
    assert await run_in_db_thread(read_model, adopted) == "openai/of-jp"


async def test_adopted_conversation_first_imports_new_events_of_jp(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    jp = await begin(stage)
    later_elements = [*TURN[:2], make_element(ChatResponse("message", "Another answer"))]
    jp.write(later_elements)
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"
    assert [element.raw for element in (await stage.elements())[:3]] == [
        e.raw for e in later_elements
    ]


async def test_jp_continues_a_conversation_adopted_by_jpweb(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    jp = await begin(stage)
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    await run_in_db_thread(jp.save, [*jp.read(), ADDED])
    assert (await stage.elements())[-1].raw == ADDED.raw
    assert (await stage.row()).problem == ""


@pytest.mark.parametrize("turn", [TURN, TURN[1:]], ids=["with", "without turn_start"])
async def test_older_layout_that_jp_renews_stays_the_same_conversation(
    stage: Attached, monkeypatch: pytest.MonkeyPatch, turn: list[Element]
):
    config = make_element(ConfigDelta(json.loads(BASE)))
    jp = await begin(stage, [config, *turn])
    (jp.folder / "base_config.json").unlink()
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"
    first, *ours = jp.read()
    assert (first.raw, (await stage.row()).turns) == (config.raw, 2)
    renewed = [*TURN, *ours[len(turn) :], ADDED]
    await run_in_db_thread(jp.save, renewed)
    row = await stage.row()
    assert (row.problem, row.turns) == ("", 2)
    assert [e.raw for e in await stage.elements()] == [e.raw for e in renewed]
    assert await run_in_db_thread(read_model, row) == "openai/of-jp"
    assert (await stage.play_turn()).state == "done"
    assert [e.raw for e in jp.read()[: len(renewed)]] == [e.raw for e in renewed]


async def test_rewritten_older_layout_without_an_event_is_refused(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    config = make_element(ConfigDelta(json.loads(BASE)))
    jp = await begin(stage, [config, *TURN])
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    before, written = await stage.elements(), jp.read()
    for elements in (written[1:-1], [*written[2:], ADDED]):
        await run_in_db_thread(jp.save, elements)
        assert "The copy in the workspace differs" in (await stage.row()).problem
        assert await stage.elements() == before


async def test_adopted_conversation_imports_from_jp_when_writing_is_off(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    jp = await begin(stage)
    providers.use_provider(monkeypatch, providers.Says())
    await stage.play_turn()
    await run_in_db_thread(stage.write, WritePolicy.OFF)
    title_change = metadata_file.make_title_change("Named here")
    await run_in_db_thread(metadata_file.apply_change, jp.row.pk, title_change)
    await run_in_db_thread(jp.save, [*jp.read(), ADDED])
    row = await stage.row()
    assert (await stage.elements())[-1].raw == ADDED.raw
    assert (row.problem, row.title) == ("", "Named here")
    assert await run_in_db_thread(read_model, row) == "openai/of-jp"
    await run_in_db_thread(stage.write, WritePolicy.CURRENT)
    assert (await stage.play_turn()).state == "done"
    await run_in_db_thread(jp.refresh)
    assert (await stage.row()).title == "Named here"


async def test_a_call_that_jp_left_open_does_not_stop_the_next_turn(
    stage: Attached, monkeypatch: pytest.MonkeyPatch
):
    await begin(
        stage, [*TURN[:2], make_element(make_call("c")), make_element(make_inquiry("c.q.1"))]
    )
    providers.use_provider(monkeypatch, providers.Says())
    assert (await stage.play_turn()).state == "done"


def remove(jp: JpConversation) -> None:
    for name in ("events.json", "metadata.json", "base_config.json"):
        (jp.folder / name).unlink()
    jp.folder.rmdir()


def archive(jp: JpConversation) -> None:
    target = jp.folder.parent / ".archive"
    target.mkdir()
    jp.folder.rename(target / jp.folder.name)


def spoil(jp: JpConversation) -> None:
    (jp.folder / "events.json").write_text("[")


def redact(jp: JpConversation) -> None:
    anchor = JournalEntry.objects.get(conversation=jp.row, position=2).anchor
    request = plans.RedactionRequest(anchor, "private")
    application.redact(jp.row, request, jp.stage.ada)


def age(jp: JpConversation) -> None:
    (jp.folder / "events.json").rename(jp.folder / "messages.json")


def forbid(jp: JpConversation) -> None:
    jp.stage.write(WritePolicy.OFF)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (remove, StoreError, "jp deleted this conversation"),
        (archive, StoreError, "jp archived this conversation"),
        (spoil, StoreError, "events.json cannot be read"),
        (redact, StoreError, "redacted here"),
        (age, StoreError, "saved by an older version of jp"),
        (forbid, ReadOnlyConversation, "Continue it in a terminal"),
    ],
)
async def test_start_run_refuses_conversations_that_cannot_be_adopted(
    stage: Attached,
    monkeypatch: pytest.MonkeyPatch,
    change: Any,
    error: type[StoreError],
    message: str,
):
    jp = await begin(stage)
    await run_in_db_thread(change, jp)
    providers.use_provider(monkeypatch, providers.Says())
    with pytest.raises(error, match=message):
        await stage.start()
    assert (await stage.row()).origin == Origin.MIRRORED
    assert await run_in_db_thread(Run.objects.count) == 0
    assert not stage.lock.exists()
