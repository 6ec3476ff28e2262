from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import conversations, inquiries, journal
from jpweb.store.choices import Origin
from jpweb.store.errors import NoWorkspace
from jpweb.store.jp_files import mirror, reader_pool
from jpweb.store.jp_files.mirror import MirrorReport
from jpweb.store.jp_files.workspace import read_metadata
from jpweb.store.models import DEMO_ROOT, Conversation, Inquiry, JournalEntry, Workspace
from jpweb.stream import wire
from jpweb.stream.events import ChatResponse, EventKind
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import (
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.store import making
from tests.store.making import read_tree, write_folder

pytestmark = pytest.mark.django_db
REAL = Path(__file__).parents[3].parent / "shared" / "workspace"
NAME = "17000000000-a-talk"
KINDS: list[EventKind] = [
    make_call("c"), make_inquiry("c.apply.1"), make_answer("c.apply.1"), make_result("c"),
]  # fmt: skip


def bytes_of(conversation: Conversation) -> bytes:
    texts = conversation.journal.order_by("position").values_list("text", flat=True)
    return wire.join_array(list(texts)).encode()


def get_only(root: Path) -> Conversation:
    return Conversation.objects.get(workspace__root=str(root))


def keys(conversation: Conversation) -> list[int]:
    return list(conversation.journal.order_by("position").values_list("pk", flat=True))


def mirror_again(root: Path) -> MirrorReport:
    return mirror.mirror_workspace(root)[1]


def same_bytes(root: Path) -> None:
    root_path = DEMO_ROOT if root == mirror.DEMO_PATH else str(root.resolve())
    workspace = Workspace.objects.get(root=root_path)
    paths = [*(root / ".jp" / "conversations").glob("**/events.json")]
    assert workspace.conversations.count() == len(paths)
    for path in paths:
        conversation = workspace.conversations.get(jp_id=path.parent.name.partition("-")[0])
        assert bytes_of(conversation) == path.read_bytes(), path.parent.name
        positions = conversation.journal.order_by("position").values_list("position", flat=True)
        assert list(positions) == list(range(conversation.entry_count))


def test_mirror_of_the_demo_exports_the_same_bytes():
    before = read_tree(mirror.DEMO_PATH)
    workspace, report = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    same_bytes(mirror.DEMO_PATH)
    assert read_tree(mirror.DEMO_PATH) == before, "JP's files stay untouched"
    assert (workspace.name, report.problems, report.unchanged_count) == ("Demo", [], 0)
    assert report.event_count == JournalEntry.objects.count()
    assert report.inquiries.total() == Inquiry.objects.count()
    assert set(report.inquiries) == {"answered", "redacted", "cancelled", "unanswered"}
    assert (report.unknown_elements > 0, report.broken_elements > 0) == (True, True)
    assert Conversation.objects.filter(archived=True).count() == 1
    pinned = Conversation.objects.exclude(pinned_at=None).get()
    assert pinned.labels == {"project": "orchard", "tour": ""}


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real workspace at {REAL}")
def test_mirror_of_the_real_workspace_exports_its_bytes_and_57_answers():
    _, report = mirror.mirror_workspace(REAL)
    same_bytes(REAL)
    assert (report.conversation_count, report.problems) == (11, [])
    assert report.inquiries == {"answered": 57}
    assert Inquiry.objects.filter(state="answered").count() == Inquiry.objects.count() == 57
    assert not Inquiry.objects.filter(asker="").exists()


def test_second_mirror_pass_writes_nothing(django_assert_max_num_queries: Any):
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    rows = [list(model.objects.order_by("pk").values()) for model in (Conversation, Inquiry)]
    entries = list(JournalEntry.objects.order_by("pk").values_list("pk", flat=True))
    with django_assert_max_num_queries(10):
        _, report = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    assert (report.unchanged_count, report.event_count, report.changed_ids) == (5, 0, [])
    assert rows == [list(m.objects.order_by("pk").values()) for m in (Conversation, Inquiry)]
    assert entries == list(JournalEntry.objects.order_by("pk").values_list("pk", flat=True))


def test_growth_only_adds(tmp_path: Path):
    write_folder(tmp_path, NAME, stream(*KINDS[:2]))
    mirror_again(tmp_path)
    conversation, first = get_only(tmp_path), Inquiry.objects.get()
    before = keys(conversation)
    write_folder(tmp_path, NAME, stream(*KINDS, ChatResponse("message", "Done.")))
    report = mirror_again(tmp_path)
    later_row, second = get_only(tmp_path), Inquiry.objects.get()
    assert keys(later_row)[: len(before)] == before
    assert (report.event_count, later_row.entry_count, later_row.pk) == (3, 5, conversation.pk)
    assert later_row.revision == conversation.revision
    assert report.changed_ids == [conversation.pk]
    assert (first.state, second.state, second.pk) == ("open", "answered", first.pk)
    assert second.response_position == 2
    assert later_row.last_activity > conversation.last_activity


def test_a_rewrite_replaces_from_the_first_difference(tmp_path: Path):
    write_folder(tmp_path, NAME, stream(*KINDS))
    mirror_again(tmp_path)
    conversation, first = get_only(tmp_path), Inquiry.objects.get()
    before = keys(conversation)
    rewritten = [*stream(*KINDS[:3]), make_element(make_result("c", "Otherwise."))]
    write_folder(tmp_path, NAME, rewritten)
    assert mirror_again(tmp_path).event_count == 1
    after = keys(get_only(tmp_path))
    assert (after[:3], after[3] == before[3]) == (before[:3], False)
    assert get_only(tmp_path).revision == conversation.revision + 1
    assert bytes_of(get_only(tmp_path)) == making.stream_file(rewritten)
    assert Inquiry.objects.get().pk == first.pk


def test_mirror_of_a_truncated_stream_deletes_entries_and_inquiries(tmp_path: Path):
    write_folder(tmp_path, NAME, stream(*KINDS))
    mirror_again(tmp_path)
    write_folder(tmp_path, NAME, stream(KINDS[0]))
    mirror_again(tmp_path)
    assert (get_only(tmp_path).entry_count, len(keys(get_only(tmp_path)))) == (1, 1)
    assert not Inquiry.objects.exists()


def test_an_inquiry_that_moves_keeps_its_key(tmp_path: Path):
    write_folder(tmp_path, NAME, stream(*KINDS))
    mirror_again(tmp_path)
    first = Inquiry.objects.get()
    before_it = make_element(ChatResponse("message", "Before."), at="2026-01-01 00:00:00.0")
    write_folder(tmp_path, NAME, [before_it, *stream(*KINDS)])
    mirror_again(tmp_path)
    second = Inquiry.objects.get()
    assert (second.pk, second.position) == (first.pk, first.position + 1)


def break_json(folder: Path) -> None:
    (folder / "events.json").write_bytes(b'[{"type": ')


def take_events(folder: Path) -> None:
    (folder / "events.json").unlink()


def bar_events(folder: Path) -> None:
    take_events(folder)
    (folder / "events.json").mkdir()


def put_nul(folder: Path) -> None:
    (folder / "events.json").write_bytes(b'["\0"]')


def break_metadata(folder: Path) -> None:
    (folder / "metadata.json").write_bytes(b"{")


BREAKS = [break_json, take_events, bar_events, put_nul, break_metadata]


@pytest.mark.parametrize("breaks", BREAKS)
def test_mirror_names_unreadable_conversations_and_loads_the_others(tmp_path: Path, breaks: Any):
    breaks(write_folder(tmp_path, "17000000001-broken", stream(*KINDS)))
    write_folder(tmp_path, "17000000002-whole", stream(*KINDS))
    report = mirror_again(tmp_path)
    (problem,) = report.problems
    assert problem.startswith("17000000001-broken: ")
    assert "\n" not in problem
    broken, readable = Conversation.objects.order_by("jp_id")
    assert broken.problem
    assert problem.endswith(broken.problem)
    assert (readable.problem, readable.entry_count) == ("", 4)
    assert report.conversation_count == 2


@pytest.mark.parametrize("breaks", BREAKS)
def test_mirror_keeps_entries_while_a_conversation_is_unreadable(tmp_path: Path, breaks: Any):
    folder = write_folder(tmp_path, NAME, stream(*KINDS), title="A title", labels={"a": "b"})
    mirror_again(tmp_path)
    before = keys(get_only(tmp_path))
    breaks(folder)
    assert len(mirror_again(tmp_path).problems) == 1
    broken = get_only(tmp_path)
    assert keys(broken) == before
    assert (broken.title, broken.labels, broken.entry_count) == ("A title", {"a": "b"}, 4)
    assert Inquiry.objects.get().state == "answered"
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    write_folder(tmp_path, NAME, stream(*KINDS), title="A title")
    assert mirror_again(tmp_path).problems == []
    assert (get_only(tmp_path).problem, keys(get_only(tmp_path))) == ("", before)


def test_mirror_indexes_a_new_title_although_events_are_unreadable(tmp_path: Path):
    folder = write_folder(tmp_path, NAME, stream(*KINDS), title="A title")
    mirror_again(tmp_path)
    Conversation.objects.update(needs_indexing=False)
    break_json(folder)
    (folder / "metadata.json").write_text('{"title": "Another title"}')
    mirror_again(tmp_path)
    assert (get_only(tmp_path).title, get_only(tmp_path).needs_indexing) == ("Another title", True)


@pytest.mark.parametrize(
    "target", ["jpweb.store.inquiries.replace_rows", "jpweb.store.journal.replace_rows"]
)
def test_a_pass_that_fails_midway_leaves_the_conversation_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
):
    write_folder(tmp_path, NAME, stream(*KINDS[:2]), title="Before")
    mirror_again(tmp_path)
    before = [list(m.objects.values()) for m in (Conversation, JournalEntry, Inquiry)]
    write_folder(tmp_path, NAME, stream(*KINDS), title="After")
    module, _, name = target.rpartition(".")
    real = getattr({"journal": journal, "inquiries": inquiries}[module.rpartition(".")[2]], name)

    def fails(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise OSError("disk full")

    monkeypatch.setattr(target, fails)
    with pytest.raises(OSError, match="disk full"):
        mirror_again(tmp_path)
    assert before == [list(m.objects.values()) for m in (Conversation, JournalEntry, Inquiry)]
    monkeypatch.undo()
    assert mirror_again(tmp_path).event_count == 2


@pytest.mark.parametrize(
    ("small_bytes", "is_read_again"),
    [pytest.param(0, True, id="long"), pytest.param(1_000_000, False, id="small")],
)
def test_conversation_that_another_pass_wrote_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_bytes: int, is_read_again: bool
):
    monkeypatch.setattr(reader_pool, "MAX_SMALL_BYTES", small_bytes)
    write_folder(tmp_path, NAME, stream(*KINDS))
    real = read_metadata

    def read_late(disk_conversation: Any) -> Any:
        monkeypatch.undo()
        mirror_again(tmp_path)
        return real(disk_conversation)

    monkeypatch.setattr("jpweb.store.jp_files.workspace.read_metadata", read_late)
    report = mirror_again(tmp_path)
    (conversation,) = Conversation.objects.all()
    changed_ids = [conversation.pk] if is_read_again else []
    assert (report.event_count, report.problems, report.changed_ids) == (0, [], changed_ids)
    assert conversation.journal.count() == conversation.entry_count == len(KINDS)


def test_a_path_without_a_workspace_writes_nothing(tmp_path: Path):
    with pytest.raises(NoWorkspace):
        mirror.mirror_workspace(tmp_path)
    assert not Workspace.objects.exists()


def test_archiving_moves_the_same_conversation(tmp_path: Path):
    folder = write_folder(tmp_path, NAME, stream(*KINDS))
    mirror_again(tmp_path)
    before = keys(get_only(tmp_path))
    home = tmp_path / ".jp" / "conversations" / ".archive"
    home.mkdir()
    folder.rename(home / NAME)
    mirror_again(tmp_path)
    assert (get_only(tmp_path).archived, keys(get_only(tmp_path))) == (True, before)


def test_mirror_marks_a_conversation_that_jp_removed_and_keeps_it(tmp_path: Path):
    folder = write_folder(tmp_path, NAME, stream(*KINDS))
    mirror_again(tmp_path)
    folder.rename(tmp_path / "away")
    assert mirror_again(tmp_path).removed == 1
    assert get_only(tmp_path).removed_at is not None
    assert len(keys(get_only(tmp_path))) == 4
    assert mirror_again(tmp_path).removed == 0, "told once"
    (tmp_path / "away").rename(folder)
    assert mirror_again(tmp_path).removed == 0
    assert get_only(tmp_path).removed_at is None


def test_a_native_conversation_of_the_same_id_is_not_touched(tmp_path: Path):
    write_folder(tmp_path, NAME, stream(*KINDS))
    (tmp_path / ".jp" / "conversations" / NAME).rename(tmp_path / "later")
    workspace, _ = mirror.mirror_workspace(tmp_path)
    conversation = conversations.create_conversation(workspace, "Ours", making.person().pk)
    Conversation.objects.filter(pk=conversation.pk).update(jp_id=17000000000)
    (tmp_path / "later").rename(tmp_path / ".jp" / "conversations" / NAME)
    mirror_again(tmp_path)
    row = get_only(tmp_path)
    assert (row.title, row.origin, row.entry_count) == ("Ours", Origin.NATIVE, 0)


HOSTILE = "a\x00b\ud800c"


def test_mirror_loads_hostile_text(tmp_path: Path):
    """PostgreSQL takes no NUL, and no database half a surrogate."""
    by = {"kind": HOSTILE[:3], "name": "n\x00", "id": 1}
    hostile = [
        raw({"type": "no\x00vel", "value": "\x00"}),
        make_element(make_call("c\x00", name="t\x00l", argument="\x00")),
        make_element(
            make_inquiry("c\x00.q\x00.1", "Go\x00?"), metadata={"jpweb": {"label": "l\x00"}}
        ),
        make_element(
            InquiryResponse("c\x00.q\x00.1", Answered({"k\x00": ["v\x00"]})),
            metadata={"jpweb": {"by": by}},
        ),
        make_element(make_result("c\x00", "r\x00")),
    ]
    write_folder(tmp_path, NAME, hostile, title=HOSTILE, labels={HOSTILE: HOSTILE})
    report = mirror_again(tmp_path)
    assert report.problems == []
    conversation, row = get_only(tmp_path), Inquiry.objects.get()
    assert bytes_of(conversation) == making.stream_file(hostile)
    values = [conversation.title, conversation.labels, row.question, row.answer, row.asker]
    row_text = json.dumps([*values, row.label])
    assert "\\u0000" not in row_text
    assert "\\ud800" not in row_text
    assert (row.state, row.decider_name, row.decider_id) == (
        "answered",
        "n\N{REPLACEMENT CHARACTER}",
        None,
    )
    assert mirror_again(tmp_path).unchanged_count == 1


def test_a_folder_whose_name_is_no_text_is_read(tmp_path: Path):
    folder = write_folder(tmp_path, NAME, stream(*KINDS))
    folder.rename(folder.with_name("17000000000-\udcff"))
    break_metadata(folder.with_name("17000000000-\udcff"))
    report = mirror_again(tmp_path)
    assert len(report.problems) == 1
    report.problems[0].encode()
    assert get_only(tmp_path).entry_count == 4


def test_mirror_keeps_a_deciders_name_without_linking_the_person(tmp_path: Path):
    ada = making.person("ada")
    by = {"jpweb": {"by": {"kind": "person", "name": "Ada", "id": ada.pk}}}
    kinds = [*stream(*KINDS[:2]), make_element(KINDS[2], metadata=by)]
    write_folder(tmp_path, NAME, kinds)
    mirror_again(tmp_path)
    row = Inquiry.objects.get()
    assert (row.decided_by, row.decider_name, row.decider_id) == ("person", "Ada", None)


@pytest.mark.parametrize("by", ["x", None, [], 5, {"kind": 5, "name": ["x"], "id": "x"}])
def test_a_note_of_another_shape_is_no_crash(tmp_path: Path, by: Any):
    metadata = {"jpweb": {"by": by, "label": by}}
    kinds = [
        *stream(KINDS[0]),
        make_element(KINDS[1], metadata=metadata),
        make_element(KINDS[2], metadata=metadata),
    ]
    write_folder(tmp_path, NAME, kinds)
    assert mirror_again(tmp_path).problems == []
    assert Inquiry.objects.get().decider_id is None


def test_mirror_of_an_empty_conversation_has_no_entries(tmp_path: Path):
    write_folder(tmp_path, NAME, [], last_activated_at="2026-01-02 03:04:05.0")
    write_folder(tmp_path, "17000000001-untold", [])
    mirror_again(tmp_path)
    first, second = Conversation.objects.order_by("jp_id")
    assert (first.entry_count, first.last_activity.year) == (0, 2026)
    assert second.last_activity.isoformat().startswith("2023-11-14")


def test_roots_and_folders_to_watch(tmp_path: Path):
    write_folder(tmp_path, NAME, [])
    workspace, _ = mirror.mirror_workspace(tmp_path)
    mirror.mirror_workspace(mirror.DEMO_PATH)
    making.workspace("Nowhere")
    assert mirror.list_roots() == [Path(workspace.root)]
    conversations = Path(workspace.root) / ".jp" / "conversations"
    assert mirror.list_watched_folders(tmp_path) == [conversations, conversations / NAME]
    assert mirror.list_watched_folders(tmp_path.parent / "nowhere") == []
