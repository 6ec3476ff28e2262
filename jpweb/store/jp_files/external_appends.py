"""External appends: elements that ``jp`` added to a native conversation in its workspace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from jpweb.store import db_text, inquiries, journal
from jpweb.store.choices import UNFINISHED_STATES, Origin, WritePolicy
from jpweb.store.database import clock
from jpweb.store.derived_rows import from_stream
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import directory_handles, workspace, writer
from jpweb.store.jp_files.reader import MAX_ELEMENTS, NUL
from jpweb.store.jp_files.workspace import DiskConversation, DiskWorkspace
from jpweb.store.masking import redacted_titles
from jpweb.store.models import Conversation, JournalEntry, Redaction, Run, Turn, Workspace
from jpweb.store.suspected_secrets import derived_masks
from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.errors import MalformedStream
from jpweb.stream.events import ConfigDelta, ConversationEvent, Element
from jpweb.stream.inquiry import Answered, InquiryResponse
from jpweb.stream.outline import build_outline
from jpweb.stream.sanitize import sanitize_stream

#: Elements that are appended in one transaction; more count as a divergence.
MAX_ADDED_ELEMENTS = 10_000
#: Beginning of the problem of a conversation whose file lacks the end of its journal.
SAVE_FAILURE = "No longer saved to"
#: Metadata that files have, and beginning of a fingerprint with the names of those that they lack.
FILE_METADATA = frozenset({"title", "pinned_at", "labels"})
_UNSAVED_PREFIX = "unsaved:"
#: Fingerprint that differs from those of files, and shows that there are some.
_UNREAD_FINGERPRINT = "unread"


class CopiesDiverged(StoreError):
    """The file and the journal differ before the end of the shorter one."""


class RunOvertaken(StoreError):
    """``jp`` began a turn after that of an unfinished run, which therefore cannot go on."""


def split_unsaved(fingerprint: str) -> tuple[frozenset[str], str]:
    """Return the names of metadata that the files lack, and the fingerprint of the files.

    People changed it while writing was off. It counts until a turn or a change writes it.
    """
    if not fingerprint.startswith(_UNSAVED_PREFIX):
        return frozenset(), fingerprint
    names, _, files_fingerprint = fingerprint.removeprefix(_UNSAVED_PREFIX).partition(";")
    return frozenset(names.split(",")), files_fingerprint


def add_unsaved(files_fingerprint: str, names: Iterable[str]) -> str:
    """Return the fingerprint that ``split_unsaved`` splits."""
    text = ",".join(sorted(names))
    return f"{_UNSAVED_PREFIX}{text};{files_fingerprint}" if text else files_fingerprint


def collect_unsaved(
    conversation: Conversation, names: frozenset[str], disk_conversation: DiskConversation | None
) -> dict[str, Any]:
    """Return this metadata of the row, as files have it; labels beside those on disk."""
    values: dict[str, Any] = {}
    if "title" in names:
        values["title"] = derived_masks.unmask_title(conversation) or None
    if "pinned_at" in names:
        values["pinned_at"] = conversation.pinned_at
    if "labels" in names:
        labels = workspace.read_metadata(disk_conversation).labels if disk_conversation else {}
        values["labels"] = {**labels, **conversation.labels} or None
    return values


def is_unchanged(conversation: Conversation, folder: DiskConversation, *, is_written: bool) -> bool:
    """Tell whether a native conversation's files are those that its journal was compared with.

    While writing is off, files count only of a conversation that had them before.
    """
    if conversation.removed_at is not None:  # until now
        return False
    _, fingerprint = split_unsaved(conversation.fingerprint)
    if not is_written:
        return fingerprint in ("", folder.fingerprint)
    is_newly_archived = folder.is_archived and not conversation.archived
    return fingerprint == folder.fingerprint and not is_newly_archived


def append_external(
    conversation: Conversation, disk_conversation: DiskConversation, *, holds_lock: bool = False
) -> int:
    """Append the elements on disk that the journal lacks; returns their number.

    It is at least one where jp also gave earlier ones another form, which the journal then has.
    During a run only where the caller ``holds_lock`` of JP: then no process executes the run and
    writes its files. Raises CopiesDiverged, and then changes no event.
    """
    try:
        disk_elements = _read_elements(disk_conversation)
    except (OSError, MemoryError, MalformedStream) as error:
        raise _record_unreadable(conversation, disk_conversation, error) from error
    if len(disk_elements) - conversation.entry_count > MAX_ADDED_ELEMENTS:
        reason = f"jp added more than {MAX_ADDED_ELEMENTS:,} events at once"
        raise _record_divergence(conversation, disk_conversation, reason)
    with transaction.atomic():
        locked_row = journal.lock_conversation(conversation.pk)
        is_running = _find_unfinished(locked_row.pk) is not None
        if is_running and not holds_lock:
            return 0  # the run writes the files; the next pass after it compares again
        reason = "jp changed events that were run here"
        kept_elements: Sequence[Element] | None = None
        journal_elements = journal.read_elements(locked_row.pk)
        if _has_redacted_original(locked_row, journal_elements, disk_elements):
            reason = "events were redacted here, and jpweb does not change them in the file"
        elif _is_equal_start(journal_elements, disk_elements):
            kept_elements = journal_elements
        elif not is_running:
            kept_elements = _find_rewritten(
                locked_row, disk_conversation, journal_elements, disk_elements
            )
        if kept_elements is not None:
            is_rewritten = kept_elements is not journal_elements
            return _append_elements(
                locked_row,
                disk_conversation,
                kept_elements,
                disk_elements,
                is_rewritten=is_rewritten,
            )
    raise _record_divergence(conversation, disk_conversation, reason)


def mark_removed(
    workspace_row: Workspace, disk_workspace: DiskWorkspace, folders: Iterable[DiskConversation]
) -> int:
    """Mark native conversations whose files jp deleted; returns their number.

    Those that are not in ``folders`` are looked for once more, since a turn may have written its
    first files after these were listed.
    """
    if workspace_row.writing == WritePolicy.OFF:
        return 0
    native_rows = Conversation.objects.filter(workspace=workspace_row, origin=Origin.NATIVE)
    rows = native_rows.filter(removed_at=None).exclude(fingerprint="")
    present_ids = {folder.jp_id for folder in folders}
    missing_ids = [
        jp_id
        for jp_id in rows.values_list("jp_id", flat=True)
        if jp_id not in present_ids and _is_missing(disk_workspace, jp_id)
    ]
    return rows.filter(jp_id__in=missing_ids).update(removed_at=clock.now()) if missing_ids else 0


def _is_missing(disk_workspace: DiskWorkspace, jp_id: int) -> bool:
    try:
        return workspace.find_conversation(disk_workspace, jp_id) is None
    except NoWorkspace:  # its folder, or one that may hold it, is refused
        return False


def require_last_turn(conversation_id: int) -> None:
    """Raise RunOvertaken where ``jp`` began a turn after that of the conversation's run.

    A turn goes on from the end of the journal, which then holds another one.
    """
    run = _find_unfinished(conversation_id)
    turns = Turn.objects.filter(conversation=conversation_id)
    if run is not None and run.is_overtaken(turns.count()):
        raise RunOvertaken(
            "jp began another turn in this conversation. Send a message to continue after it."
        )


def _find_unfinished(conversation_id: int) -> Run | None:
    runs = Run.objects.filter(conversation=conversation_id, state__in=UNFINISHED_STATES)
    return runs.first()


def _has_redacted_original(
    conversation: Conversation, journal_elements: Sequence[Element], disk_elements: list[Element]
) -> bool:
    """Tell whether the file has another event where one was redacted; anchors leave out notes."""
    anchors = Redaction.objects.filter(conversation=conversation).values("anchor")
    entries = JournalEntry.objects.filter(conversation=conversation, anchor__in=anchors)
    return any(
        journal_elements[position].body != disk_elements[position].body
        for position in entries.values_list("position", flat=True)
        if position < len(disk_elements)
    )


def _read_elements(disk_conversation: DiskConversation) -> list[Element]:
    """Read the elements on disk. Raises OSError, MalformedStream."""
    data = workspace.read_events(disk_conversation)
    if NUL in data:
        raise MalformedStream(f"it holds a NUL at byte {data.index(NUL)}")
    if wire.has_more_elements(data, MAX_ELEMENTS):
        raise MalformedStream(f"it has more than {MAX_ELEMENTS:,} events")
    return [wire.read_element(text) for text in wire.split_array(data)]


def _is_equal_start(journal_elements: Sequence[Element], disk_elements: Sequence[Element]) -> bool:
    """Tell whether both are the same up to the end of the shorter one, which has an element.

    An older jp drops the outcome of a question without an answer, which stays in the journal.
    """
    pairs = list(zip(journal_elements, disk_elements, strict=False))
    compared_elements = [
        journal_element if _has_lost_outcome(journal_element, disk_element) else disk_element
        for journal_element, disk_element in pairs
    ]
    return bool(pairs) and anchor_ids.make_anchors(compared_elements) == anchor_ids.make_anchors(
        journal_element for journal_element, _ in pairs
    )


def _has_lost_outcome(journal_element: Element, disk_element: Element) -> bool:
    """Tell whether an element on disk is a cancelled or redacted one whose outcome jp dropped."""
    match journal_element.body, disk_element.body:
        case (
            ConversationEvent(our_time, InquiryResponse(our_id, outcome)),
            ConversationEvent(their_time, InquiryResponse(their_id, Answered(None))),
        ) if not isinstance(outcome, Answered):
            normalize = anchor_ids.normalize_timestamp
            return our_id == their_id and normalize(our_time) == normalize(their_time)
    return False


def _find_rewritten(
    conversation: Conversation,
    disk_conversation: DiskConversation,
    journal_elements: Sequence[Element],
    disk_elements: Sequence[Element],
) -> Sequence[Element] | None:
    """Return the elements of the journal as jp rewrites them, if the file begins with those.

    jp moves the configuration at the beginning of an older layout into base_config.json, and
    inserts missing beginnings of turns and results (docs/jp-format.md, Older layouts, Sanitize).
    None also where it would remove an event, or where one was redacted here.
    """
    if Redaction.objects.filter(conversation=conversation).exists():
        return None
    elements = journal_elements
    base_config_path = disk_conversation.folder / writer.BASE_CONFIG_NAME
    has_base_config = directory_handles.stat_path(base_config_path) is not None
    if has_base_config and elements and isinstance(elements[0].kind, ConfigDelta):
        elements = elements[1:]
    sanitized_stream = sanitize_stream(elements)
    candidates: list[Sequence[Element]] = [elements]
    if all(change.action == "inserted" for change in sanitized_stream.changes):
        candidates.append(sanitized_stream.elements)
    for candidate in candidates:
        if len(candidate) <= len(disk_elements) and _is_equal_start(candidate, disk_elements):
            return candidate
    return None


def _append_elements(
    locked_row: Conversation,
    disk_conversation: DiskConversation,
    kept_elements: Sequence[Element],
    disk_elements: list[Element],
    *,
    is_rewritten: bool,
) -> int:
    """Append the elements after ``kept_elements`` on disk; if ``is_rewritten``, all are new."""
    added_elements = disk_elements[len(kept_elements) :]
    if _is_written(locked_row):
        _set_metadata(locked_row, disk_conversation)
    if added_elements or is_rewritten:
        _replace_rows(locked_row, [*kept_elements, *added_elements])
        locked_row.last_activity = _find_last_time(added_elements) or locked_row.last_activity
    else:
        derived_masks.mask_title(locked_row)
    if len(disk_elements) >= len(kept_elements) or not locked_row.problem.startswith(SAVE_FAILURE):
        locked_row.problem = ""
    locked_row.fingerprint = _keep_unsaved(locked_row, disk_conversation)
    locked_row.removed_at = None
    locked_row.save()
    return len(added_elements) or int(is_rewritten)


def _set_metadata(locked_row: Conversation, disk_conversation: DiskConversation) -> None:
    """Set the metadata that jp or jpweb changed in the files, but for missing values."""
    unsaved_names, _ = split_unsaved(locked_row.fingerprint)
    locked_row.archived = disk_conversation.is_archived or "archived" in unsaved_names
    locked_row.needs_indexing = True
    metadata = workspace.read_metadata(disk_conversation)
    if metadata.problem:
        return
    if "title" not in unsaved_names:
        title = db_text.clean_text(metadata.title)[: redacted_titles.MAX_TITLE_CHARS]
        locked_row.title = redacted_titles.choose_title(locked_row, title)
    if "labels" not in unsaved_names:
        locked_row.labels = db_text.clean_json(metadata.labels)
    if "pinned_at" not in unsaved_names:
        locked_row.pinned_at = metadata.pinned_at
    locked_row.expires_at = metadata.expires_at


def _keep_unsaved(conversation: Conversation, disk_conversation: DiskConversation) -> str:
    """Return the fingerprint of the files, with the names of the row's that they lack."""
    unsaved_names, _ = split_unsaved(conversation.fingerprint)
    if disk_conversation.is_archived:
        unsaved_names -= {"archived"}
    return add_unsaved(disk_conversation.fingerprint, unsaved_names)


def _is_written(conversation: Conversation) -> bool:
    """Tell whether metadata of the files counts: while writing is off, people change it here."""
    return conversation.workspace.writing != WritePolicy.OFF


def _find_last_time(elements: Sequence[Element]) -> datetime | None:
    """Return the time of the last element that has one."""
    bodies = (element.body for element in reversed(elements))
    moments = (
        timestamps.parse_timestamp(body.timestamp)
        for body in bodies
        if isinstance(body, ConversationEvent)
    )
    return next(filter(None, moments), None)


def _replace_rows(locked_row: Conversation, elements: list[Element]) -> None:
    """Write the rows that derive from these elements, and mask the title."""
    outline = build_outline(elements)
    stream_rows, inquiry_rows = derived_masks.mask_rows(
        locked_row,
        from_stream.derive_stream_rows(elements, outline.anchors),
        from_stream.derive_inquiry_rows(outline),
    )
    journal.set_counts(locked_row, stream_rows)
    journal.replace_rows(locked_row, stream_rows)
    inquiries.replace_rows(locked_row, inquiry_rows)


def _record_unreadable(
    conversation: Conversation, disk_conversation: DiskConversation, error: Exception
) -> CopiesDiverged:
    """Record that the file can't be read; after a transient error the next pass tries again."""
    cause = "there is not enough memory" if isinstance(error, MemoryError) else error
    _, stream_fingerprint = workspace.split_fingerprint(disk_conversation.fingerprint)
    if workspace.is_transient(error, stream_fingerprint):
        disk_conversation = replace(disk_conversation, fingerprint=_UNREAD_FINGERPRINT)
    return _record_divergence(conversation, disk_conversation, f"its file can't be read: {cause}")


def _record_divergence(
    conversation: Conversation, disk_conversation: DiskConversation, reason: str
) -> CopiesDiverged:
    problem = (
        f"The copy in the workspace differs: {reason}. This page shows the version run here. "
        "Continue the other one with jp, or start a new conversation here"
    )[:500]
    values: dict[str, Any] = {
        "problem": problem,
        "fingerprint": _keep_unsaved(conversation, disk_conversation),
        "removed_at": None,
    }
    if disk_conversation.is_archived and _is_written(conversation):
        values |= {"archived": True, "needs_indexing": True}
    Conversation.objects.filter(pk=conversation.pk).update(**values)
    return CopiesDiverged(problem)
