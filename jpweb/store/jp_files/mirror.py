"""Mirrors: conversations of a JP workspace, copied and read-only. JP's files stay unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from jpweb import installation
from jpweb.store import db_text, journal
from jpweb.store.choices import FilesState, Origin, WritePolicy
from jpweb.store.database import clock
from jpweb.store.errors import InvalidName, NoWorkspace, StoreError
from jpweb.store.jp_files import (
    directory_handles,
    external_appends,
    reader_pool,
    row_writer,
    silo_bindings,
    workspace,
)
from jpweb.store.jp_files.reader import ParsedConversation
from jpweb.store.jp_files.workspace import DiskConversation, DiskWorkspace, Refusals
from jpweb.store.models import DEMO_ROOT, Conversation, Workspace
from jpweb.store.people import names
from jpweb.store.sql import compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream.stats import StreamStats, count_noun, count_stream

DEMO_PATH = Path(__file__).parent / "demo"
_RESOLVED_DEMO = installation.resolve_path(DEMO_PATH)
#: Columns whose change makes a mirror pass read a conversation again.
_COMPARED_COLUMNS = ("fingerprint", "archived", "source")

#: The ORM takes 0.13 ms longer for each of these, of a pass over a new workspace of 25 ms.
_find_by_root = CompiledQuery(lambda roots: Workspace.objects.filter(root__in=roots))
_find_other_names = CompiledQuery(
    lambda excluded_names: Workspace.objects.exclude(name__in=excluded_names).values_list("name")
)


@dataclass(slots=True)
class MirrorReport:
    """The result of a mirror pass over a workspace; ``problems`` are lines for people.

    ``notes`` are those of them that every pass finds, such as a refused folder.
    """

    conversation_count: int = 0
    unchanged_count: int = 0
    event_count: int = 0
    inquiries: Counter[str] = field(default_factory=Counter)
    unknown_elements: int = 0
    broken_elements: int = 0
    removed: int = 0
    problems: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    #: Keys of the conversations that were read again.
    changed_ids: list[int] = field(default_factory=list)

    def format_line(self) -> str:
        """Return one line for people."""
        parts = [count_noun(self.conversation_count, "conversation")]
        if self.unchanged_count:
            parts.append(f"{self.unchanged_count} unchanged")
        if self.event_count:
            parts.append(count_noun(self.event_count, "new event"))
        if self.inquiries:
            states = ", ".join(f"{n} {tag}" for tag, n in sorted(self.inquiries.items()))
            parts.append(f"{count_noun(self.inquiries.total(), 'question')} ({states})")
        if self.unknown_elements or self.broken_elements:
            parts.append(
                f"{self.unknown_elements} unknown and {self.broken_elements} broken elements, "
                "shown raw"
            )
        if self.removed:
            parts.append(f"{self.removed} deleted in jp, kept here")
        if self.problems:
            parts.append(f"{len(self.problems)} with problems")
        return "; ".join(parts)


class _DiskListing(NamedTuple):
    """The conversations on disk and the refused ones.

    ``small_readings`` are the parsed conversations of a new workspace, by JP's id, where one
    transaction may write them all.
    """

    folders: list[DiskConversation]
    refusals: Refusals
    small_readings: dict[int, ParsedConversation] | None


def _ignore_progress(_done_count: int, _total_count: int, _folder: str) -> None:
    """Ignore progress."""


def mirror_workspace(
    path: Path,
    name: str = "",
    progress: Callable[[int, int, str], None] = _ignore_progress,
    *,
    is_root: bool = False,
) -> tuple[Workspace, MirrorReport]:
    """Copy the changed conversations of the workspace at ``path``, or above unless ``is_root``.

    ``progress`` gets (done, total, folder name) before each conversation. A conversation
    that cannot be read keeps its previous rows, with the problem. Raises NoWorkspace,
    InvalidName.
    """
    report = MirrorReport()
    find = workspace.find_workspace_at if is_root else workspace.find_workspace
    disk_workspace = find(path)
    existing_row = find_row(disk_workspace)
    bound_id = silo_bindings.choose_bound_id(existing_row, disk_workspace)
    disk_workspace = silo_bindings.bind_silo(disk_workspace, bound_id)
    report.problems += filter(
        None,
        (*disk_workspace.notes, db_text.clean_text(silo_bindings.describe_unbound(disk_workspace))),
    )
    listing = _read_folders(disk_workspace, existing_row, report)
    report.notes = tuple(report.problems)
    # A small new workspace is one transaction: a commit costs as much as thirty elements.
    with nullcontext() if listing.small_readings is None else transaction.atomic():
        workspace_row, is_new = _get_or_create_row(disk_workspace, name, existing_row, bound_id)
        _mirror_folders(workspace_row, listing, report, progress, is_new=is_new)
        silo_bindings.record_silo(workspace_row, disk_workspace)
        if not listing.refusals.has_silo:
            report.removed += external_appends.mark_removed(
                workspace_row, disk_workspace, listing.folders
            )
        return workspace_row, report


def _read_folders(
    disk_workspace: DiskWorkspace, workspace_row: Workspace | None, report: MirrorReport
) -> _DiskListing:
    """Return the listing; the refused conversations are reported."""
    refusals = Refusals(has_silo=silo_bindings.is_silo_missing(workspace_row, disk_workspace))
    folders = list(workspace.iterate_conversations(disk_workspace, refusals))
    if refusals.has_silo:
        report.problems.append(silo_bindings.MISSING_SILO_TEXT)
    report.problems += map(db_text.clean_text, refusals.lines)
    small_readings = reader_pool.read_small(folders) if workspace_row is None else None
    return _DiskListing(folders, refusals, small_readings)


def _mirror_folders(
    workspace_row: Workspace,
    listing: _DiskListing,
    report: MirrorReport,
    progress: Callable[[int, int, str], None],
    *,
    is_new: bool,
) -> None:
    """Copy the changed conversations; ``is_new`` where the workspace's row is."""
    folders, refusals, small_readings = listing
    conversations = Conversation.objects.filter(workspace=workspace_row)
    rows = (
        ()
        if is_new
        else conversations.values_list("jp_id", "origin", "removed_at", *_COMPARED_COLUMNS)
    )
    origins = {key: origin for key, origin, *_ in rows}
    if Origin.NATIVE in origins.values():
        folders = _append_external(workspace_row, folders, report)
    folders = [folder for folder in folders if origins.get(folder.jp_id) != Origin.IMPORTED]
    known_values = {
        key: tuple(columns)
        for key, origin, removed_at, *columns in rows
        if origin == Origin.MIRRORED and removed_at is None
    }
    report.conversation_count = len(folders)
    changed_ids = {
        folder.jp_id
        for folder in folders
        if _is_changed(folder, known_values.get(folder.jp_id, ("",)), refusals)
    }
    report.unchanged_count = len(folders) - len(changed_ids)
    with reader_pool.read_ahead(
        [folder for folder in folders if folder.jp_id in changed_ids], small_readings
    ) as readings:
        for done_count, folder in enumerate(folders):
            progress(done_count, len(folders), folder.folder.name)
            if folder.jp_id in changed_ids:
                _write_reading(
                    workspace_row,
                    folder,
                    next(readings),
                    report,
                    is_new=folder.jp_id not in origins,
                )
    present_ids = refusals.jp_ids.union(folder.jp_id for folder in folders)
    missing_ids = [key for key in known_values if key not in present_ids]
    if missing_ids and not refusals.has_silo:
        report.removed = _mark_removed(conversations, missing_ids, refusals)
    progress(len(folders), len(folders), "")


def _mark_removed(
    conversations: QuerySet[Conversation], missing_ids: list[int], refusals: Refusals
) -> int:
    """Mark missing conversations as removed by jp; returns their number.

    Archived ones may still be in an archive that is refused.
    """
    removed_rows = conversations.filter(origin=Origin.MIRRORED, jp_id__in=missing_ids)
    if refusals.has_archive:
        removed_rows = removed_rows.filter(archived=False)
    return removed_rows.update(removed_at=clock.now())


def _is_changed(folder: DiskConversation, values: tuple[Any, ...], refusals: Refusals) -> bool:
    if refusals.has_silo and silo_bindings.is_older(folder.fingerprint, values[0]):
        return False
    return values != _list_compared_values(folder)


def _list_compared_values(folder: DiskConversation) -> tuple[str, bool, str]:
    """Return a conversation's values of ``_COMPARED_COLUMNS``."""
    return folder.fingerprint, folder.is_archived, db_text.clean_text(folder.folder.name)


def _get_database_root(disk_workspace: DiskWorkspace) -> str:
    return DEMO_ROOT if disk_workspace.root == _RESOLVED_DEMO else str(disk_workspace.root)


def _get_or_create_row(
    disk_workspace: DiskWorkspace, name: str, workspace_row: Workspace | None, bound_id: str
) -> tuple[Workspace, bool]:
    """Return the row of a workspace, and whether it was created; updated only where it differs."""
    root = _get_database_root(disk_workspace)
    values = {"jp_id": disk_workspace.jp_id}
    if workspace_row is None or name:  # without a new name, the row keeps its name
        values["name"] = name or disk_workspace.root.name or str(disk_workspace.root)
    matching_rows = Workspace.objects.filter(root=root)
    if workspace_row is None:
        _check_name(values["name"])
        workspace_row = Workspace(root=root, copies_id=bound_id, **values)
        with suppress(IntegrityError), transaction.atomic():  # another pass may insert it
            compiled_write.insert_row(workspace_row)
            return workspace_row, True
    elif (workspace_row.jp_id, workspace_row.name) == (
        values["jp_id"],
        values.get("name", workspace_row.name),
    ):
        return workspace_row, False
    matching_rows.update(**values)
    return matching_rows.get(), False


def _check_name(name: str) -> None:
    """Raise InvalidName for a new workspace whose name imitates another's."""
    existing_names = [existing_name for (existing_name,) in _find_other_names([name])]
    try:
        names.check_unlike(names.check_name(name), existing_names)
    except InvalidName as error:
        raise InvalidName(
            f"“{ascii(name)[1:-1]}” cannot be a workspace's name. {error} Give it another one: "
            "jpweb mirror PATH --name NAME"
        ) from error


def _append_external(
    workspace_row: Workspace, folders: list[DiskConversation], report: MirrorReport
) -> list[DiskConversation]:
    """Append the events of ``jp`` to native conversations with files; returns the other folders."""
    rows = Conversation.objects.filter(workspace=workspace_row, origin=Origin.NATIVE)
    native_rows = {row.jp_id: row for row in rows}
    is_written = workspace_row.writing != WritePolicy.OFF
    for folder in (folder for folder in folders if folder.jp_id in native_rows):
        conversation = native_rows[folder.jp_id]
        if external_appends.is_unchanged(conversation, folder, is_written=is_written):
            continue
        has_notice = bool(conversation.problem or conversation.removed_at)  # which may end now
        try:
            is_changed = external_appends.append_external(conversation, folder) > 0 or has_notice
        except external_appends.CopiesDiverged as error:
            report.problems.append(f"jp-c{conversation.jp_id}: {error}")
            is_changed = conversation.problem != str(error)
        report.changed_ids += [conversation.pk] if is_changed else []
    return [folder for folder in folders if folder.jp_id not in native_rows]


def refresh_conversation(workspace_row: Workspace, disk_conversation: DiskConversation) -> None:
    """Copy one mirrored conversation as it is now on disk. Raises StoreError for its problem."""
    report = MirrorReport()
    with reader_pool.read_ahead([disk_conversation]) as readings:
        reading = next(readings)
    _write_reading(workspace_row, disk_conversation, reading, report, is_new=False)
    if report.problems:
        raise StoreError(f"The turn can't start: {report.problems[0].rstrip('.')}.")


def iterate_stats(workspace_row: Workspace) -> Iterator[tuple[Conversation, StreamStats]]:
    """Yield the mirrored conversations of a workspace with the counts of each, one at a time."""
    conversations = Conversation.objects.filter(workspace=workspace_row, origin=Origin.MIRRORED)
    for conversation in conversations.order_by("jp_id").iterator():
        yield conversation, count_stream(journal.read_elements(conversation.pk))


def find_row(disk_workspace: DiskWorkspace) -> Workspace | None:
    """Return the row of a workspace on disk, or None."""
    return next(iter(_find_by_root([_get_database_root(disk_workspace)])), None)


def register_workspace(disk_workspace: DiskWorkspace, name: str) -> tuple[Workspace, bool]:
    """Return the row of a workspace, and whether it is new; the next mirror pass reads its files.

    Raises InvalidName.
    """
    bound_id = silo_bindings.choose_bound_id(None, disk_workspace)
    return _get_or_create_row(disk_workspace, name, find_row(disk_workspace), bound_id)


def read_files_state(workspace_row: Workspace) -> FilesState:
    """Tell whether changes of a workspace's files are mirrored, and why where they are not."""
    if workspace_row.root == DEMO_ROOT:
        return FilesState.BUILT_IN
    if not workspace_row.is_followed:
        return FilesState.STOPPED
    is_there = _has_jp_folder(Path(workspace_row.root))
    return FilesState.FOLLOWED if is_there else FilesState.MISSING


def list_roots() -> list[Path]:
    """Return the roots of the followed workspaces that still exist, the demo left out."""
    followed = Workspace.objects.filter(is_followed=True).exclude(root=DEMO_ROOT)
    root_names = followed.values_list("root", flat=True)
    return [Path(root) for root in root_names if _has_jp_folder(Path(root))]


def _has_jp_folder(root: Path) -> bool:
    try:
        return directory_handles.is_directory(root / ".jp")
    except OSError:
        return False


def list_watched_folders(root: Path) -> list[Path]:
    """Return the folders in which the conversations of a workspace change, each by itself."""
    workspace_row = Workspace.objects.filter(root=str(root)).first()
    try:
        return workspace.list_folders(
            workspace.find_workspace_at(root, workspace_row.copies_id if workspace_row else "")
        )
    except NoWorkspace:
        return []


def _write_reading(
    workspace_row: Workspace,
    folder: DiskConversation,
    reading: ParsedConversation,
    report: MirrorReport,
    *,
    is_new: bool,
) -> None:
    """Write a parsed conversation into its rows, and report it."""
    name = db_text.clean_text(folder.folder.name)
    if reading.problem:
        report.problems.append(f"{name}: {reading.problem}")
    try:
        result = _copy_into_row(workspace_row, folder, reading, is_new=is_new)
    except row_writer.ConcurrentCopy as error:
        report.problems.append(f"{name}: {error}")
        return
    if result.problem:
        report.problems.append(f"{name}: {result.problem}")
    report.changed_ids += filter(None, [result.key])
    report.event_count += result.event_count
    report.inquiries += result.inquiries
    if reading.stream is not None:
        report.unknown_elements += reading.stream.unknown_count
        report.broken_elements += reading.stream.broken_count


def _copy_into_row(
    workspace_row: Workspace,
    folder: DiskConversation,
    reading: ParsedConversation,
    *,
    is_new: bool,
) -> row_writer.CopyResult:
    """Write a parsed conversation, where ``is_new`` also into a row that was inserted meanwhile."""
    try:
        return row_writer.copy_conversation(workspace_row, folder, reading, is_new=is_new)
    except IntegrityError:
        if not is_new:
            raise
    return row_writer.copy_conversation(workspace_row, folder, reading, is_new=False)
