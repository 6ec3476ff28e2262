from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F

from jpweb.store.choices import FilesState
from jpweb.store.jp_files import mirror, pass_progress
from jpweb.store.jp_files.pass_progress import FilesReport, PassCounter
from jpweb.store.models import Conversation, MirrorPass, Workspace
from jpweb.stream.events import ChatResponse
from tests.builders import stream
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of a mirrored workspace with one conversation."""
    write_folder(tmp_path, "17000000000-a-talk", stream(ChatResponse("message", "One")))
    mirror.mirror_workspace(tmp_path)
    return tmp_path


def describe() -> FilesReport:
    (report,) = pass_progress.describe_files(Workspace.objects.all()).values()
    return report


def test_describe_files_during_a_pass_counts_read_files(root: Path):
    assert describe() == FilesReport(FilesState.FOLLOWED)
    pass_progress.record_progress(root, PassCounter(2, 30))
    pass_progress.record_progress(root, PassCounter(12, 30))
    assert describe() == FilesReport(FilesState.READING, 12, 30)
    pass_progress.record_end(root, PassCounter(30, 30))
    assert describe() == FilesReport(FilesState.FOLLOWED, 30, 30)


def test_describe_files_without_a_heartbeat_says_interrupted(root: Path):
    pass_progress.record_progress(root, PassCounter(12, 30))
    age = timedelta(seconds=pass_progress.STALE_SECONDS)
    MirrorPass.objects.update(beat_at=F("beat_at") - age + timedelta(seconds=10))
    assert describe().state == FilesState.READING
    MirrorPass.objects.update(beat_at=F("beat_at") - timedelta(seconds=10))
    assert describe() == FilesReport(FilesState.INTERRUPTED, 12, 30)
    pass_progress.record_progress(root, PassCounter(13, 30))
    assert describe() == FilesReport(FilesState.READING, 13, 30)


def test_record_end_with_a_problem_stays_until_a_pass_succeeds(root: Path):
    pass_progress.record_end(root, PassCounter(4, 30), "The disk\0 is gone. " + "x" * 600)
    report = describe()
    assert report.state == FilesState.FAILED
    assert report.problem.startswith("The disk\N{REPLACEMENT CHARACTER} is gone.")
    pass_progress.record_end(root, PassCounter(30, 30))
    assert describe() == FilesReport(FilesState.FOLLOWED, 30, 30)


def test_record_end_of_a_pass_that_differs_in_nothing_writes_nothing(root: Path):
    pass_progress.record_end(root, PassCounter(1, 1))
    assert not MirrorPass.objects.exists()
    pass_progress.record_end(root, PassCounter(1, 1), notes=["a: refused", "b: refused"])
    (beat_at,) = MirrorPass.objects.values_list("beat_at", flat=True)
    pass_progress.record_end(root, PassCounter(1, 1), notes=["a: refused", "b: refused"])
    assert MirrorPass.objects.get().beat_at == beat_at
    assert describe().notes == ("a: refused", "b: refused")


def test_describe_files_counts_unreadable_conversations(root: Path):
    (root / ".jp" / "conversations" / "17000000000-a-talk" / "events.json").write_text("{")
    link = root / ".jp" / "conversations" / "17000000001-linked"
    link.symlink_to(root)
    _, report = mirror.mirror_workspace(root)
    assert describe().unreadable_count == 1
    assert len(report.problems) == 2
    assert report.notes == (report.problems[0],)
    assert report.notes[0].startswith("17000000001-linked: ")
    Conversation.objects.update(archived=True)
    assert describe().unreadable_count == 1


def test_describe_files_of_a_stopped_workspace_says_so_first(root: Path):
    pass_progress.record_progress(root, PassCounter(12, 30))
    Workspace.objects.update(is_followed=False)
    assert describe().state == FilesState.STOPPED


def test_record_unwatched_of_a_refused_folder_says_why(root: Path):
    pass_progress.record_unwatched(root)
    assert describe().state == FilesState.FOLLOWED
    conversations = root / ".jp" / "conversations"
    conversations.rename(root / "moved")
    conversations.symlink_to(root / "moved")
    pass_progress.record_unwatched(root)
    assert describe().state == FilesState.FAILED
    assert f"{conversations} cannot be read" in describe().problem


def test_record_progress_of_an_unknown_root_writes_nothing(tmp_path: Path):
    pass_progress.record_progress(tmp_path, PassCounter(1, 2))
    pass_progress.record_end(tmp_path, PassCounter(1, 2), "It is gone.")
    assert not MirrorPass.objects.exists()
