"""What jp did to a native conversation that was written into its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.store import conversations, exports, journal
from jpweb.store import runs as stored
from jpweb.store.choices import RunState, WritePolicy
from jpweb.store.errors import NoWorkspace
from jpweb.store.jp_files import attachments, external_appends, mirror
from jpweb.store.jp_files.directory_handles import Directory
from jpweb.store.jp_files.external_appends import CopiesDiverged
from jpweb.store.jp_files.workspace import find_workspace, iterate_conversations
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Workspace
from jpweb.stream import timestamps
from jpweb.stream.events import ChatRequest, Element, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result, raw
from tests.exporting import join_pieces
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
SAID = (TurnStart(), ChatRequest("Hello"))
OURS = [make_element(kind) for kind in SAID]
LATER = "2026-02-03 04:05:06.0"
ADDED = [
    make_element(kind, at=LATER)
    for kind in (
        make_call("c"),
        make_inquiry("c.q.1"),
        make_answer("c.q.1"),
        make_result("c"),
        TurnStart(),
    )
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".jp" / "conversations").mkdir(parents=True)
    new_workspace, _ = mirror.mirror_workspace(tmp_path)
    attachments.set_write_policy(new_workspace, WritePolicy.CURRENT)
    return Workspace.objects.get(pk=new_workspace.pk)


@pytest.fixture
def conversation(workspace: Workspace) -> Any:
    """Return a native conversation whose files stand in the workspace as they were written."""
    conversation = conversations.create_conversation(workspace, "Ours", making.person().pk)
    run = making.acquire_run(stored.start_run(conversation.pk, making.person().pk, "scripted"))
    journal.append_events(conversation.pk, [making.event(kind) for kind in SAID], run)
    stored.end_run(run, RunState.DONE)
    on_disk(conversation, OURS)
    return fresh(conversation)


def on_disk(conversation: Conversation, elements: list[Element] | bytes) -> Path:
    return write_folder(
        Path(conversation.workspace.root), str(conversation.jp_id), elements, title="Ours"
    )


def fresh(conversation: Conversation) -> Conversation:
    return Conversation.objects.select_related("workspace").get(pk=conversation.pk)


def mirror_again(conversation: Conversation) -> mirror.MirrorReport:
    return mirror.mirror_workspace(Path(conversation.workspace.root))[1]


def test_metadata_that_jp_changed_is_imported(conversation: Conversation):
    root, name = Path(conversation.workspace.root), str(conversation.jp_id)
    write_folder(root, name, OURS, title="Theirs", labels={"area": "x"}, pinned_at=LATER)
    mirror_again(conversation)
    row = fresh(conversation)
    assert (row.title, row.labels, row.needs_indexing) == ("Theirs", {"area": "x"}, True)
    assert row.pinned_at is not None
    (root / ".jp" / "conversations" / name / "metadata.json").write_text("{")
    mirror_again(conversation)
    assert (fresh(conversation).title, fresh(conversation).problem) == ("Theirs", "")


def test_elements_that_jp_added_are_appended_once(conversation: Conversation):
    mirror_again(conversation)
    keys = list(conversation.journal.order_by("position").values_list("pk", flat=True))
    on_disk(conversation, [*OURS, *ADDED])
    report = mirror_again(conversation)
    assert (report.changed_ids, report.problems, report.conversation_count) == (
        [conversation.pk],
        [],
        0,
    )
    grown_conversation = fresh(conversation)
    assert (
        grown_conversation.entry_count,
        grown_conversation.turns,
        grown_conversation.title,
        grown_conversation.origin,
    ) == (
        7,
        2,
        "Ours",
        "native",
    )
    assert grown_conversation.last_activity == timestamps.parse_timestamp(LATER)
    assert (
        list(grown_conversation.journal.order_by("position").values_list("pk", flat=True))[:2]
        == keys
    )
    assert join_pieces(exports.export_jp_json(grown_conversation)) == making.stream_file(
        [*OURS, *ADDED]
    )
    assert mirror_again(conversation).changed_ids == []


def test_inquiries_appended_by_jp_keep_their_keys_when_settled(conversation: Conversation):
    on_disk(conversation, [*OURS, *ADDED[:2]])
    mirror_again(conversation)
    first = Inquiry.objects.get()
    assert first.state in ("open", "unanswered")
    on_disk(conversation, [*OURS, *ADDED])
    mirror_again(conversation)
    second = Inquiry.objects.get()
    assert (second.pk, second.state, second.answer) == (first.pk, "answered", True)


def test_shorter_file_changes_nothing(conversation: Conversation):
    on_disk(conversation, OURS[:1])
    report = mirror_again(conversation)
    assert (report.changed_ids, report.problems) == ([], [])
    assert (fresh(conversation).entry_count, fresh(conversation).problem) == (2, "")


def test_file_with_other_line_ends_is_no_change(conversation: Conversation):
    on_disk(conversation, making.stream_file(OURS).replace(b"\n", b"\r\n"))
    assert (mirror_again(conversation).changed_ids, mirror_again(conversation).problems) == ([], [])
    assert join_pieces(exports.export_jp_json(fresh(conversation))) == making.stream_file(OURS)


DIFFERENT = {
    "rewritten": making.stream_file([OURS[0], make_element(ChatRequest("Goodbye"))]),
    "cut and grown": making.stream_file([OURS[0], *ADDED]),
    "emptied": b"[]\n",
    "grown by a NUL": making.stream_file(
        [*OURS, make_element(ChatRequest("Goodbye"), at=LATER)]
    ).replace(b"Goodbye", b"Good\0bye"),
    "no JSON": b"[{",
    "no array": b"{}",
}


@pytest.mark.parametrize("data", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_diverged_copies_are_kept_and_reported_once(conversation: Conversation, data: bytes):
    disk_folder = on_disk(conversation, data)
    report = mirror_again(conversation)
    assert report.changed_ids == [conversation.pk]
    (problem,) = report.problems
    assert problem.startswith(f"jp-c{conversation.jp_id}: The copy in the workspace differs: ")
    assert fresh(conversation).problem in problem
    assert (disk_folder / "events.json").read_bytes() == data
    assert join_pieces(exports.export_jp_json(fresh(conversation))) == making.stream_file(OURS)
    report = mirror_again(conversation)
    assert (report.changed_ids, report.problems) == ([], []), "told once"
    with pytest.raises(CopiesDiverged, match="The copy in the workspace differs"):
        attachments.attach_files(conversation.pk)
    assert list((Path(conversation.workspace.root) / ".jp" / "locks").iterdir()) == [], "let go"


def test_copies_that_agree_again_are_imported_and_clear_the_problem(conversation: Conversation):
    on_disk(conversation, DIFFERENT["rewritten"])
    mirror_again(conversation)
    on_disk(conversation, [*OURS, ADDED[0]])
    assert mirror_again(conversation).changed_ids == [conversation.pk]
    assert (fresh(conversation).problem, fresh(conversation).entry_count) == ("", 3)


def test_pass_reports_copies_that_agree_again_without_new_events(
    conversation: Conversation,
):
    on_disk(conversation, DIFFERENT["no JSON"])
    mirror_again(conversation)
    on_disk(conversation, OURS)
    assert mirror_again(conversation).changed_ids == [conversation.pk]
    assert fresh(conversation).problem == ""
    assert mirror_again(conversation).changed_ids == []


@pytest.mark.parametrize(
    "outcome", [Cancelled(CancellationReason.USER), Redacted()], ids=["cancelled", "redacted"]
)
def test_outcome_that_an_older_jp_dropped_stays(
    conversation: Conversation, outcome: Cancelled | Redacted
):
    asked = [*OURS, *ADDED[:2]]
    response = make_element(InquiryResponse("c.q.1", outcome), at=LATER)
    on_disk(conversation, [*asked, response])
    mirror_again(conversation)
    fields = {"timestamp": LATER, "type": "inquiry_response", "id": "c.q.1", "answer": None}
    on_disk(conversation, [*asked, raw(fields), ADDED[3]])
    assert mirror_again(conversation).changed_ids == [conversation.pk]
    assert (fresh(conversation).problem, Inquiry.objects.get().state) == ("", outcome.TAG)
    assert [element.raw for element in journal.read_elements(conversation.pk)[4:]] == [
        response.raw,
        ADDED[3].raw,
    ]
    on_disk(conversation, [*asked, raw(fields | {"id": "c.q.2"}), ADDED[3]])
    assert "differs" in mirror_again(conversation).problems[0]


def test_missing_file_keeps_the_journal(conversation: Conversation):
    (on_disk(conversation, OURS) / "events.json").unlink()
    with pytest.raises(CopiesDiverged, match="can't be read"):
        attachments.attach_files(conversation.pk)
    assert join_pieces(exports.export_jp_json(fresh(conversation))) == making.stream_file(OURS)


def test_elements_of_jp_are_appended_only_after_the_run(conversation: Conversation):
    run = making.acquire_run(stored.start_run(conversation.pk, making.person().pk, "scripted"))
    on_disk(conversation, [*OURS, *ADDED])
    assert mirror_again(conversation).changed_ids == []
    assert fresh(conversation).entry_count == 2
    stored.end_run(run, RunState.DONE)
    assert mirror_again(conversation).changed_ids == [conversation.pk]


def test_a_pass_looks_at_no_conversation_of_one_that_is_not_attached(conversation: Conversation):
    attachments.set_write_policy(conversation.workspace, WritePolicy.OFF)
    before = Conversation.objects.filter(pk=conversation.pk).values().get()
    for data in (making.stream_file([*OURS, *ADDED]), DIFFERENT["rewritten"]):
        on_disk(conversation, data)
        report = mirror_again(conversation)
        assert (report.changed_ids, report.problems, report.conversation_count) == ([], [], 0)
    assert Conversation.objects.filter(pk=conversation.pk).values().get() == before
    assert JournalEntry.objects.count() == 2


def test_the_archived_copy_is_followed_too(conversation: Conversation):
    home = on_disk(conversation, [*OURS, *ADDED]).parent
    (home / ".archive").mkdir()
    (home / str(conversation.jp_id)).rename(home / ".archive" / str(conversation.jp_id))
    assert mirror_again(conversation).changed_ids == [conversation.pk]


def test_folder_that_was_only_moved_is_archived_once(conversation: Conversation):
    home = on_disk(conversation, OURS).parent
    mirror_again(conversation)
    (home / ".archive").mkdir()
    (home / str(conversation.jp_id)).rename(home / ".archive" / str(conversation.jp_id))
    mirror_again(conversation)
    assert fresh(conversation).archived
    (home / ".archive" / str(conversation.jp_id) / "events.json").write_bytes(
        DIFFERENT["rewritten"]
    )
    Conversation.objects.update(archived=False)
    assert [len(mirror_again(conversation).problems) for _ in range(2)] == [1, 0]
    assert fresh(conversation).archived


def test_append_external_returns_the_number_of_new_elements(conversation: Conversation):
    on_disk(conversation, [*OURS, *ADDED])
    disk_workspace = find_workspace(Path(conversation.workspace.root))
    (copy,) = iterate_conversations(disk_workspace)
    assert external_appends.append_external(conversation, copy) == len(ADDED)
    assert external_appends.append_external(conversation, copy) == 0


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MAX_ELEMENTS", "its file can't be read: it has more than 4 events"),
        ("MAX_ADDED_ELEMENTS", "jp added more than 4 events at once"),
    ],
)
def test_append_external_refuses_too_many_elements(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
):
    monkeypatch.setattr(external_appends, limit, 4)
    on_disk(conversation, [*OURS, *ADDED])
    (problem,) = mirror_again(conversation).problems
    assert message in problem
    assert (fresh(conversation).entry_count, message in fresh(conversation).problem) == (2, True)
    assert mirror_again(conversation).problems == []


def count_opened_folders(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many folders inside of others an attachment opens."""
    opened_names: list[str] = []
    open_subdirectory = Directory.open_subdirectory

    def count(directory: Directory, name: str) -> Directory:
        opened_names.append(name)
        return open_subdirectory(directory, name)

    with monkeypatch.context() as patched:
        patched.setattr(Directory, "open_subdirectory", count)
        attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    attachment.release()
    return len(opened_names)


def test_attachment_opens_no_folder_of_other_conversations(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    parent = on_disk(conversation, OURS).parent
    counts = set[int]()
    for neighbors in (range(3), range(3, 300)):
        for number in neighbors:
            (parent / f"1700000{number:04}").mkdir()
        counts.add(count_opened_folders(conversation, monkeypatch))
    assert len(counts) == 1


def test_attachment_says_that_a_refused_folder_cannot_be_read(conversation: Conversation):
    mirror_again(conversation)
    folder = on_disk(conversation, OURS)
    folder.rename(folder.parents[2] / "away")
    folder.symlink_to(folder.parents[2] / "away")
    with pytest.raises(NoWorkspace, match=r"can't be read.*symbolic link"):
        attachments.attach_files(conversation.pk)
