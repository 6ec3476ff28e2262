"""Long conversations are written in batches; short ones, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.jp_files import mirror, reader, reader_pool, row_writer
from jpweb.store.jp_files.reader import ParsedConversation
from jpweb.store.jp_files.workspace import DiskConversation
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Turn
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, TurnStart
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db(transaction=True)
NAME, OTHER_NAME = "17000000000-long", "17000000001-other"
KINDS: list[EventKind] = [
    TurnStart(),
    ChatRequest("One"),
    make_call("c"),
    make_inquiry("c.q.1"),
    make_inquiry("c.r.1"),
    make_answer("c.q.1"),
    make_answer("c.r.1", False),
    make_result("c"),
    TurnStart(),
    ChatRequest("Two"),
    ChatResponse("message", "Done."),
]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The length of the journal at each pause, and whether others could write then."""
    states: list[tuple[int, bool]] = []

    def pause() -> None:
        states.append((JournalEntry.objects.count(), not connection.in_atomic_block))

    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 4)
    monkeypatch.setattr(row_writer, "_pause_between_batches", pause)
    monkeypatch.setattr("jpweb.store.jp_files.reader_pool.MAX_SMALL_BYTES", 0)
    return states


def rows() -> list[Any]:
    """Return what a mirror wrote, without the keys that the database gave."""
    entries = JournalEntry.objects.order_by("position")
    return [
        list(
            Conversation.objects.values("entry_count", "turns", "category_counts", "last_activity")
        ),
        list(
            entries.values_list("position", "text", "kind", "anchor", "item_position", "category")
        ),
        list(Turn.objects.order_by("number").values_list("number", "position", "title")),
        list(Inquiry.objects.order_by("position").values_list("anchor", "state", "answer")),
    ]


@pytest.mark.parametrize(
    ("limit_name", "limit", "reading_count", "commit_count"),
    [
        ("MAX_SMALL_FOLDERS", 2, 2, 1),
        ("MAX_SMALL_FOLDERS", 1, 2, 3),
        ("MAX_SMALL_BYTES", 1, 2, 3),
        ("MAX_SMALL_ELEMENTS", 2 * len(KINDS), 2, 1),
        ("MAX_SMALL_ELEMENTS", 2 * len(KINDS) - 1, 3, 3),
    ],
)
def test_small_new_workspace_is_read_and_then_one_transaction(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit_name: str,
    limit: int,
    reading_count: int,
    commit_count: int,
):
    monkeypatch.setattr(reader_pool, limit_name, limit)
    for name in (NAME, OTHER_NAME):
        write_folder(tmp_path, name, stream(*KINDS))
    parse, parsed_names = reader.parse_conversation, []

    def record_reading(folder: DiskConversation, *limits: int) -> ParsedConversation:
        assert not connection.in_atomic_block
        parsed = parse(folder, *limits)
        parsed_names.append(folder.folder.name)
        return parsed

    monkeypatch.setattr(reader, "parse_conversation", record_reading)
    with CaptureQueriesContext(connection) as captured:
        _, report = mirror.mirror_workspace(tmp_path)
    assert (report.event_count, report.problems) == (2 * len(KINDS), [])
    assert len(parsed_names) == reading_count
    assert [query["sql"] for query in captured].count("COMMIT") == commit_count
    assert mirror.mirror_workspace(tmp_path)[1].unchanged_count == 2


def test_copy_in_batches_writes_the_same_rows(tmp_path: Path, pauses: list[Any]):
    write_folder(tmp_path, NAME, stream(*KINDS))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_writer, "MAX_BATCH_ENTRIES", 100)
        workspace, at_once = mirror.mirror_workspace(tmp_path)
    expected = rows()
    workspace.delete()
    assert pauses == []
    _, report = mirror.mirror_workspace(tmp_path)
    assert rows() == expected
    assert (report.event_count, report.inquiries) == (at_once.event_count, at_once.inquiries)
    assert pauses == [(4, True), (8, True), (11, True), (11, True)]
    assert mirror.mirror_workspace(tmp_path)[1].unchanged_count == 1


def test_copy_killed_between_batches_continues_in_the_next_pass(
    tmp_path: Path, pauses: list[Any], monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, NAME, stream(*KINDS))
    with monkeypatch.context() as patched:
        patched.setattr(row_writer, "_pause_between_batches", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            mirror.mirror_workspace(tmp_path)
    first = list(JournalEntry.objects.values_list("pk", flat=True))
    assert (len(first), Conversation.objects.get().entry_count) == (4, 4)
    _, report = mirror.mirror_workspace(tmp_path)
    assert report.event_count == len(KINDS) - 4
    assert [entry.pk for entry in JournalEntry.objects.order_by("position")[:4]] == first
    assert Conversation.objects.get().turns == 2


def test_copy_of_a_rewritten_stream_replaces_its_end(tmp_path: Path, pauses: list[Any]):
    write_folder(tmp_path, NAME, stream(*KINDS))
    mirror.mirror_workspace(tmp_path)
    changed_kinds = [*KINDS[:5], *KINDS[7:], TurnStart(), ChatRequest("Three")]
    write_folder(tmp_path, NAME, stream(*changed_kinds))
    mirror.mirror_workspace(tmp_path)
    batched = rows()
    Conversation.objects.all().delete()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_writer, "MAX_BATCH_ENTRIES", 100)
        mirror.mirror_workspace(tmp_path)
    assert rows() == batched


def test_copy_stops_where_another_pass_writes(
    tmp_path: Path, pauses: list[Any], monkeypatch: pytest.MonkeyPatch
):
    write_folder(tmp_path, NAME, stream(*KINDS))
    moves = iter([1])

    def meddle() -> None:
        if next(moves, 0):
            mirror.mirror_workspace(tmp_path)

    monkeypatch.setattr(row_writer, "_pause_between_batches", meddle)
    _, report = mirror.mirror_workspace(tmp_path)
    assert report.problems == [f"{NAME}: it was written by another pass meanwhile."]
    assert JournalEntry.objects.count() == len(KINDS)
    assert mirror.mirror_workspace(tmp_path)[1].unchanged_count == 1


def test_batches_are_bounded_in_characters(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(row_writer, "MAX_BATCH_CHARS", 10)
    entries = [("x" * size, "", "", 0, "") for size in (1, 9, 20, 3, 3)]
    assert list(row_writer._iterate_batch_bounds(entries, 0)) == [(0, 2), (2, 3), (3, 5)]


def test_mirror_refuses_a_file_of_too_many_elements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "MAX_ELEMENTS", 3)
    write_folder(tmp_path, NAME, b"[0,0,0,0]")
    write_folder(tmp_path, "17000000001-short", b"[0,0,0]")
    _, report = mirror.mirror_workspace(tmp_path)
    assert report.problems == [f"{NAME}: events.json has more than 3 elements. It was not read"]
    assert JournalEntry.objects.count() == 3


def test_mirror_survives_a_file_that_takes_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def exhaust(data: bytes) -> None:
        raise MemoryError

    write_folder(tmp_path, NAME, b"[0]")
    monkeypatch.setattr("jpweb.stream.wire.split_with_framing", exhaust)
    _, report = mirror.mirror_workspace(tmp_path)
    assert report.problems == [f"{NAME}: events.json cannot be read: there is not enough memory"]


def test_copy_in_batches_inserts_changed_turns_of_equal_entries(tmp_path: Path, pauses: list[Any]):
    write_folder(tmp_path, NAME, stream(*KINDS))
    mirror.mirror_workspace(tmp_path)
    expected = rows()
    Turn.objects.filter(number=0).update(title="[redacted by Ada: leaked]")
    write_folder(tmp_path, NAME, stream(*KINDS), title="Another")
    mirror.mirror_workspace(tmp_path)
    assert rows() == expected
