"""Progress and result of the mirror pass over a workspace, stored for the pages of any process.

The watcher writes a heartbeat about once a second, by the database's clock. A pass without one has
lost its process; the next pass continues it, because unchanged conversations are skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, ExpressionWrapper, Q
from django.db.models.functions import Now

from jpweb.store import db_text
from jpweb.store.choices import FilesState
from jpweb.store.conversation_list.filters import has_problem
from jpweb.store.errors import NoWorkspace
from jpweb.store.jp_files import mirror, workspace
from jpweb.store.models import Conversation, MirrorPass, Workspace

#: Seconds without a heartbeat after which a pass counts as interrupted.
STALE_SECONDS = 30
#: Notes and characters of a problem that are stored.
MAX_NOTES, MAX_PROBLEM_CHARS = 20, 500


@dataclass(slots=True)
class PassCounter:
    """The conversations that a running pass has read, and all of them; its thread writes both."""

    done_count: int = 0
    total_count: int = 0

    def set_counts(self, done_count: int, total: int, _folder: str) -> None:
        """Take the progress of ``mirror.mirror_workspace``."""
        self.done_count, self.total_count = done_count, total


class FilesReport(NamedTuple):
    """The state of a workspace's files, for people.

    ``problem`` says why a pass failed, ``notes`` what each pass leaves out. Both may name paths of
    the server.
    """

    state: FilesState
    done_count: int = 0
    total_count: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()
    unreadable_count: int = 0

    @property
    def is_reading(self) -> bool:
        return self.state == FilesState.READING

    @property
    def is_unsettled(self) -> bool:
        """Whether the state changes without an act of a person."""
        return self.state in (FilesState.READING, FilesState.INTERRUPTED, FilesState.FAILED)


def record_expected(workspace_id: int, conversation_count: int) -> None:
    """Record that a pass over a new workspace is due, with so many conversations to read."""
    _save_pass(workspace_id, is_running=True, total_count=conversation_count)


def record_progress(root: Path, counter: PassCounter) -> None:
    """Record the heartbeat of a running pass; nothing before the workspace has a row."""
    workspace_id = _find_id(root)
    if workspace_id is not None:
        _save_pass(
            workspace_id,
            is_running=True,
            done_count=counter.done_count,
            total_count=counter.total_count,
        )


def record_end(
    root: Path, counter: PassCounter, problem: str = "", notes: Collection[str] = ()
) -> None:
    """Record that a pass has ended, with the problem that ended it early; only where it differs.

    Most passes find nothing and write nothing.
    """
    result = {
        "is_running": False,
        "problem": _end_sentence(db_text.clean_text(problem)[: MAX_PROBLEM_CHARS - 1]),
        "notes": "\n".join(list(notes)[:MAX_NOTES]),
    }
    recorded_pass = MirrorPass.objects.filter(workspace__root=str(root)).values(*result).first()
    if recorded_pass == result or (recorded_pass is None and not problem and not notes):
        return
    workspace_id = _find_id(root)
    if workspace_id is not None:
        counts = {"done_count": counter.done_count, "total_count": counter.total_count}
        _save_pass(workspace_id, **result, **counts)


def record_unwatched(root: Path) -> None:
    """Record why a workspace has no folder to watch: its conversations cannot be read, or none."""
    try:
        list(workspace.iterate_conversations(workspace.find_workspace_at(root)))
    except NoWorkspace as error:
        record_end(root, PassCounter(), str(error))
    else:
        record_end(root, PassCounter())


def describe_files(workspace_rows: Iterable[Workspace]) -> dict[int, FilesReport]:
    """Return the state of the files of each workspace, by its key."""
    rows = list(workspace_rows)
    is_stale = Q(beat_at__lt=Now() - timedelta(seconds=STALE_SECONDS))
    passes = {
        mirror_pass.workspace_id: mirror_pass
        for mirror_pass in MirrorPass.objects.filter(workspace__in=rows).annotate(
            is_stale=ExpressionWrapper(is_stale, BooleanField())
        )
    }
    unreadable_rows = Conversation.objects.filter(
        has_problem(), workspace__in=rows, archived__in=[False, True], removed_at=None
    )
    counts = dict(unreadable_rows.values_list("workspace").annotate(Count("pk")).order_by())
    return {
        row.pk: _make_report(
            mirror.read_files_state(row), passes.get(row.pk), counts.get(row.pk, 0)
        )
        for row in rows
    }


def _make_report(state: FilesState, mirror_pass: Any | None, unreadable_count: int) -> FilesReport:
    if state != FilesState.FOLLOWED or mirror_pass is None:
        return FilesReport(state, unreadable_count=unreadable_count)
    if mirror_pass.is_running:
        state = FilesState.INTERRUPTED if mirror_pass.is_stale else FilesState.READING
    elif mirror_pass.problem:
        state = FilesState.FAILED
    return FilesReport(
        state,
        mirror_pass.done_count,
        mirror_pass.total_count,
        mirror_pass.problem,
        tuple(mirror_pass.notes.splitlines()),
        unreadable_count,
    )


def _end_sentence(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."


def _find_id(root: Path) -> int | None:
    return Workspace.objects.filter(root=str(root)).values_list("pk", flat=True).first()


def _save_pass(workspace_id: int, **values: Any) -> None:
    MirrorPass.objects.bulk_create(
        [MirrorPass(workspace_id=workspace_id, beat_at=Now(), **values)],
        update_conflicts=True,
        unique_fields=["workspace"],
        update_fields=["beat_at", *values],
    )
