"""Mirror passes that meet a conversation which a person continues, or imports, at that moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import journal, runs
from jpweb.store.choices import Origin, RunState, WritePolicy
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments, locks, mirror, reader, row_writer
from jpweb.store.jp_files.attachments import Attachment
from jpweb.store.jp_files.mirror import MirrorReport
from jpweb.store.jp_files.workspace import DiskConversation, find_conversation, find_workspace
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Run
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from tests.builders import make_element
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
JP_ID = 17880786645
NAME, LATER_NAME = f"{JP_ID}-of-jp", f"{JP_ID + 1}-later"
LATER = "2026-02-03 04:05:06.0"
TURN = [
    make_element(TurnStart()),
    make_element(ChatRequest("From a terminal")),
    make_element(ChatResponse("message", "An answer of jp's")),
]
TWO_TURNS = [
    *TURN,
    make_element(TurnStart(), at=LATER),
    make_element(ChatRequest("Again"), at=LATER),
    make_element(ChatResponse("message", "A second answer"), at=LATER),
]
OPENING = [make_element(TurnStart()), make_element(ChatRequest("From a browser"))]


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    """Return a mirrored conversation of an attached workspace."""
    write_folder(tmp_path, NAME, TURN)
    workspace, _ = mirror.mirror_workspace(tmp_path)
    attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    return Conversation.objects.select_related("workspace").get(jp_id=JP_ID)


def read_file(conversation: Conversation) -> list[str]:
    home = Path(conversation.workspace.root) / ".jp" / "conversations"
    return wire.split_array(next(home.glob(f"{conversation.jp_id}*/events.json")).read_bytes())


def read_journal(conversation: Conversation) -> list[str]:
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    return list(entries.values_list("text", flat=True))


def begin_turn(conversation: Conversation) -> tuple[Attachment, Run]:
    """Start a turn, as a person does who sends a message."""
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    events = [event for element in OPENING for event in element.events]
    run = runs.start_run(conversation.pk, making.person().pk, "scripted", "", events)
    attachment.write_files()
    return attachment, making.acquire_run(run)


def before_each_write(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Act once, when a pass has read its files and is about to write the first rows."""
    write_reading, acts = mirror._write_reading, [act]

    def act_first(*args: Any, **options: Any) -> None:
        if acts:
            acts.pop()()
        write_reading(*args, **options)

    monkeypatch.setattr(mirror, "_write_reading", act_first)


def parse(
    conversation: Conversation,
) -> tuple[DiskConversation, reader.ParsedConversation]:
    disk_workspace = find_workspace(Path(conversation.workspace.root))
    disk_conversation = find_conversation(disk_workspace, conversation.jp_id)
    assert disk_conversation is not None
    return disk_conversation, reader.parse_conversation(disk_conversation)


def test_pass_keeps_the_events_of_a_turn_that_began_after_it_read(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, NAME, TWO_TURNS)
    write_folder(tmp_path, LATER_NAME, TURN)
    begun: list[tuple[Attachment, Run]] = []
    before_each_write(monkeypatch, lambda: begun.append(begin_turn(conversation)))
    _, report = mirror.mirror_workspace(tmp_path)
    expected = [element.raw for element in (*TWO_TURNS, *OPENING)]
    assert read_journal(conversation) == expected
    assert Conversation.objects.get(jp_id=JP_ID).origin == Origin.NATIVE
    assert [line for line in report.problems if NAME not in line] == []
    assert Conversation.objects.get(jp_id=JP_ID + 1).entry_count == len(TURN), "the pass goes on"
    attachment, run = begun[0]
    reply = making.event(ChatResponse("message", "Hello, browser"))
    journal.append_events(conversation.pk, [reply], run)
    attachment.write_files()
    attachment.release()
    assert read_file(conversation) == read_journal(conversation)
    assert read_file(conversation)[:-1] == expected
    runs.end_run(run, RunState.DONE)
    assert mirror.mirror_workspace(tmp_path)[1].problems == []
    assert read_journal(conversation)[:-1] == expected


def test_pass_leaves_a_conversation_that_was_imported_after_it_read(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, LATER_NAME, TURN)
    imported: list[Conversation] = []

    def import_other() -> None:
        row = making.mirrored_conversation(
            conversation.workspace, TurnStart(), ChatRequest("Evidence")
        )
        Conversation.objects.filter(pk=row.pk).update(origin=Origin.IMPORTED, jp_id=JP_ID + 1)
        imported.append(row)

    before_each_write(monkeypatch, import_other)
    _, report = mirror.mirror_workspace(tmp_path)
    row = Conversation.objects.get(jp_id=JP_ID + 1)
    assert (row.origin, row.entry_count, len(read_journal(imported[0]))) == ("imported", 2, 2)
    assert len(report.problems) == 1
    assert mirror.mirror_workspace(tmp_path)[1].problems == []


def test_copy_in_batches_keeps_a_question_that_was_asked_meanwhile(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, NAME, TWO_TURNS)

    def ask_at_the_end() -> None:
        row = Conversation.objects.get(jp_id=JP_ID)
        if row.entry_count == len(TWO_TURNS) and row.origin == Origin.MIRRORED:
            Conversation.objects.filter(pk=row.pk).update(origin=Origin.NATIVE)
            making.question(making.start_run(row))

    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 2)
    monkeypatch.setattr(row_writer, "_pause_between_batches", ask_at_the_end)
    mirror.mirror_workspace(tmp_path)
    assert Inquiry.objects.get().state == "open"
    assert len(read_journal(conversation)) > len(TWO_TURNS)


def test_copy_in_batches_stops_where_a_turn_begins_between_them(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, NAME, TWO_TURNS)
    begun: list[tuple[Attachment, Run]] = []

    def begin_once() -> None:
        if not begun:
            monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 100)
            begun.append(begin_turn(conversation))

    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 1)
    monkeypatch.setattr(row_writer, "_pause_between_batches", begin_once)
    mirror.mirror_workspace(tmp_path)
    begun[0][0].release()
    assert read_journal(conversation) == [element.raw for element in (*TWO_TURNS, *OPENING)]


def test_turn_does_not_start_on_an_older_reading_of_a_pass(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    older_reading = parse(conversation)
    write_folder(tmp_path, NAME, TWO_TURNS)
    refresh = mirror.refresh_conversation

    def refresh_before_the_pass_writes(*args: Any) -> None:
        refresh(*args)
        mirror._write_reading(conversation.workspace, *older_reading, MirrorReport(), is_new=False)

    with monkeypatch.context() as patched:
        patched.setattr(mirror, "refresh_conversation", refresh_before_the_pass_writes)
        with pytest.raises(StoreError, match="Try again"):
            attachments.attach_files(conversation.pk)
    assert Conversation.objects.get(jp_id=JP_ID).origin == Origin.MIRRORED
    attachment, _ = begin_turn(conversation)
    attachment.release()
    assert read_file(conversation) == [element.raw for element in (*TWO_TURNS, *OPENING)]


def test_turn_does_not_start_on_a_reading_that_came_with_the_lock(
    conversation: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    older_reading = parse(conversation)
    write_folder(tmp_path, NAME, TWO_TURNS)
    mirror.mirror_workspace(tmp_path)
    hold_lock = locks.hold_lock

    def hold_after_the_pass_wrote(*args: Any) -> Any:
        mirror._write_reading(conversation.workspace, *older_reading, MirrorReport(), is_new=False)
        return hold_lock(*args)

    monkeypatch.setattr(locks, "hold_lock", hold_after_the_pass_wrote)
    attachment, _ = begin_turn(conversation)
    attachment.release()
    assert read_file(conversation) == [element.raw for element in (*TWO_TURNS, *OPENING)]


def test_turn_follows_one_of_another_process_that_continued_it_first(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    hold_lock = locks.hold_lock

    def hold_after_the_other(*args: Any) -> Any:
        monkeypatch.setattr(locks, "hold_lock", hold_lock)
        attachment, run = begin_turn(conversation)
        runs.end_run(run, RunState.DONE)
        attachment.release()
        return hold_lock(*args)

    monkeypatch.setattr(locks, "hold_lock", hold_after_the_other)
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    attachment.release()
    assert read_journal(conversation) == [element.raw for element in (*TURN, *OPENING)]
    assert read_file(conversation) == read_journal(conversation)
