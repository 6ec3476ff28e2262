"""What jp did to a native conversation that was written into its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.store import conversations, exports, journal
from jpweb.store import runs as stored
from jpweb.store.choices import RunState, WritePolicy
from jpweb.store.jp_files import attachments, external_appends, mirror, workspace
from jpweb.store.jp_files.external_appends import CopiesDiverged
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
def home(tmp_path: Path) -> Workspace:
    (tmp_path / ".jp" / "conversations").mkdir(parents=True)
    home_row, _ = mirror.mirror_workspace(tmp_path)
    attachments.set_write_policy(home_row, WritePolicy.CURRENT)
    return Workspace.objects.get(pk=home_row.pk)


@pytest.fixture
def talk(home: Workspace) -> Any:
    """Return a native conversation whose files stand in the workspace as they were written."""
    conversation = conversations.create_conversation(home, "Ours", making.person().pk)
    run = making.acquire_run(stored.start_run(conversation.pk, making.person().pk, "scripted"))
    journal.append_events(conversation.pk, [making.event(kind) for kind in SAID], run)
    stored.end_run(run, RunState.DONE)
    on_disk(conversation, OURS)
    return fresh(conversation)


def on_disk(talk: Conversation, elements: list[Element] | bytes) -> Path:
    return write_folder(Path(talk.workspace.root), str(talk.jp_id), elements, title="Ours")


def fresh(talk: Conversation) -> Conversation:
    return Conversation.objects.select_related("workspace").get(pk=talk.pk)


def mirror_again(talk: Conversation) -> mirror.MirrorReport:
    return mirror.mirror_workspace(Path(talk.workspace.root))[1]


def test_what_jp_says_of_a_conversation_is_taken_in_as_well(talk: Conversation):
    write_folder(
        Path(talk.workspace.root), str(talk.jp_id), OURS, title="Theirs", labels={"area": "x"},
        pinned_at=LATER,
    )  # fmt: skip
    mirror_again(talk)
    row = fresh(talk)
    assert (row.title, row.labels, row.needs_indexing) == ("Theirs", {"area": "x"}, True)
    assert row.pinned_at is not None
    (Path(talk.workspace.root) / ".jp" / "conversations" / str(talk.jp_id) / "metadata.json"
     ).write_text("{")  # fmt: skip
    mirror_again(talk)
    assert (fresh(talk).title, fresh(talk).problem) == ("Theirs", "")


def test_what_jp_added_is_taken_in_by_a_pass_once(talk: Conversation):
    mirror_again(talk)
    keys = list(talk.journal.order_by("position").values_list("pk", flat=True))
    on_disk(talk, [*OURS, *ADDED])
    report = mirror_again(talk)
    assert (report.changed_ids, report.problems, report.conversation_count) == ([talk.pk], [], 0)
    grown_talk = fresh(talk)
    assert (grown_talk.entry_count, grown_talk.turns, grown_talk.title, grown_talk.origin) == (
        7,
        2,
        "Ours",
        "native",
    )
    assert grown_talk.last_activity == timestamps.parse_timestamp(LATER)
    assert list(grown_talk.journal.order_by("position").values_list("pk", flat=True))[:2] == keys
    assert join_pieces(exports.export_jp_json(grown_talk)) == making.stream_file([*OURS, *ADDED])
    assert mirror_again(talk).changed_ids == []


def test_its_questions_are_derived_and_keep_their_keys(talk: Conversation):
    on_disk(talk, [*OURS, *ADDED[:2]])
    mirror_again(talk)
    first = Inquiry.objects.get()
    assert first.state in ("open", "unanswered")
    on_disk(talk, [*OURS, *ADDED])
    mirror_again(talk)
    second = Inquiry.objects.get()
    assert (second.pk, second.state, second.answer) == (first.pk, "answered", True)


def test_what_is_on_disk_of_less_than_ours_changes_nothing(talk: Conversation):
    on_disk(talk, OURS[:1])
    report = mirror_again(talk)
    assert (report.changed_ids, report.problems) == ([], [])
    assert (fresh(talk).entry_count, fresh(talk).problem) == (2, "")


def test_another_layout_of_the_same_is_no_change(talk: Conversation):
    on_disk(talk, making.stream_file(OURS).replace(b"\n", b"\r\n"))
    assert (mirror_again(talk).changed_ids, mirror_again(talk).problems) == ([], [])
    assert join_pieces(exports.export_jp_json(fresh(talk))) == making.stream_file(OURS)


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
def test_of_two_that_differ_both_stay_and_it_is_said_once(talk: Conversation, data: bytes):
    disk_folder = on_disk(talk, data)
    report = mirror_again(talk)
    (problem,) = report.problems
    assert problem.startswith(f"jp-c{talk.jp_id}: The copy in the workspace differs: ")
    assert fresh(talk).problem in problem
    assert (disk_folder / "events.json").read_bytes() == data
    assert join_pieces(exports.export_jp_json(fresh(talk))) == making.stream_file(OURS)
    assert mirror_again(talk).problems == [], "told once"
    with pytest.raises(CopiesDiverged, match="The copy in the workspace differs"):
        attachments.attach_files(talk.pk)
    assert list((Path(talk.workspace.root) / ".jp" / "locks").iterdir()) == [], "let go"


def test_copies_that_agree_again_are_taken_in_and_the_problem_is_gone(talk: Conversation):
    on_disk(talk, DIFFERENT["rewritten"])
    mirror_again(talk)
    on_disk(talk, [*OURS, ADDED[0]])
    assert mirror_again(talk).changed_ids == [talk.pk]
    assert (fresh(talk).problem, fresh(talk).entry_count) == ("", 3)


@pytest.mark.parametrize(
    "outcome", [Cancelled(CancellationReason.USER), Redacted()], ids=["cancelled", "redacted"]
)
def test_outcome_that_an_older_jp_dropped_stays(talk: Conversation, outcome: Cancelled | Redacted):
    asked = [*OURS, *ADDED[:2]]
    response = make_element(InquiryResponse("c.q.1", outcome), at=LATER)
    on_disk(talk, [*asked, response])
    mirror_again(talk)
    fields = {"timestamp": LATER, "type": "inquiry_response", "id": "c.q.1", "answer": None}
    on_disk(talk, [*asked, raw(fields), ADDED[3]])
    assert mirror_again(talk).changed_ids == [talk.pk]
    assert (fresh(talk).problem, Inquiry.objects.get().state) == ("", outcome.TAG)
    assert [element.raw for element in journal.read_elements(talk.pk)[4:]] == [
        response.raw,
        ADDED[3].raw,
    ]
    on_disk(talk, [*asked, raw(fields | {"id": "c.q.2"}), ADDED[3]])
    assert "differs" in mirror_again(talk).problems[0]


def test_a_file_that_is_gone_is_no_loss_here(talk: Conversation):
    (on_disk(talk, OURS) / "events.json").unlink()
    with pytest.raises(CopiesDiverged, match="can't be read"):
        attachments.attach_files(talk.pk)
    assert join_pieces(exports.export_jp_json(fresh(talk))) == making.stream_file(OURS)


def test_nothing_is_taken_in_while_a_run_writes(talk: Conversation):
    run = making.acquire_run(stored.start_run(talk.pk, making.person().pk, "scripted"))
    on_disk(talk, [*OURS, *ADDED])
    assert mirror_again(talk).changed_ids == []
    assert fresh(talk).entry_count == 2
    stored.end_run(run, RunState.DONE)
    assert mirror_again(talk).changed_ids == [talk.pk]


def test_a_pass_looks_at_no_conversation_of_one_that_is_not_attached(talk: Conversation):
    attachments.set_write_policy(talk.workspace, WritePolicy.OFF)
    before = Conversation.objects.filter(pk=talk.pk).values().get()
    for data in (making.stream_file([*OURS, *ADDED]), DIFFERENT["rewritten"]):
        on_disk(talk, data)
        report = mirror_again(talk)
        assert (report.changed_ids, report.problems, report.conversation_count) == ([], [], 0)
    assert Conversation.objects.filter(pk=talk.pk).values().get() == before
    assert JournalEntry.objects.count() == 2


def test_the_archived_copy_is_followed_too(talk: Conversation):
    home = on_disk(talk, [*OURS, *ADDED]).parent
    (home / ".archive").mkdir()
    (home / str(talk.jp_id)).rename(home / ".archive" / str(talk.jp_id))
    assert mirror_again(talk).changed_ids == [talk.pk]


def test_folder_that_was_only_moved_is_archived_once(talk: Conversation):
    home = on_disk(talk, OURS).parent
    mirror_again(talk)
    (home / ".archive").mkdir()
    (home / str(talk.jp_id)).rename(home / ".archive" / str(talk.jp_id))
    mirror_again(talk)
    assert fresh(talk).archived
    (home / ".archive" / str(talk.jp_id) / "events.json").write_bytes(DIFFERENT["rewritten"])
    Conversation.objects.update(archived=False)
    assert [len(mirror_again(talk).problems) for _ in range(2)] == [1, 0]
    assert fresh(talk).archived


def test_take_in_tells_how_many(talk: Conversation):
    on_disk(talk, [*OURS, *ADDED])
    disk_workspace = workspace.find_workspace(Path(talk.workspace.root))
    (copy,) = workspace.iterate_conversations(disk_workspace)
    assert external_appends.append_external(talk, copy) == len(ADDED)
    assert external_appends.append_external(talk, copy) == 0


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MAX_ELEMENTS", "its file can't be read: it has more than 4 events"),
        ("MAX_ADDED_ELEMENTS", "jp added more than 4 events at once"),
    ],
)
def test_take_in_refuses_too_many_elements(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
):
    monkeypatch.setattr(external_appends, limit, 4)
    on_disk(talk, [*OURS, *ADDED])
    (problem,) = mirror_again(talk).problems
    assert message in problem
    assert (fresh(talk).entry_count, message in fresh(talk).problem) == (2, True)
    assert mirror_again(talk).problems == []
