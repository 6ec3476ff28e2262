"""Imports the conversations of an evidence bundle, byte for byte, if it verifies."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from django.db import IntegrityError, transaction

from jpweb.evidence import bundle_verifier
from jpweb.evidence.bundle_files import Bundle, InvalidBundle, open_bundle
from jpweb.evidence.bundle_verifier import (
    APPROVALS,
    EVENTS,
    MANIFEST,
    METADATA,
    RECEIPTS,
    REVIEWS,
    Report,
)
from jpweb.store import db_text, inquiries, journal
from jpweb.store.choices import Act, Origin
from jpweb.store.errors import ImportRefused
from jpweb.store.evidence import approval_lines, receipt_lines, review_lines
from jpweb.store.evidence.approval_lines import ApprovalLine
from jpweb.store.evidence.receipt_lines import ReceiptLine
from jpweb.store.evidence.review_lines import ReviewLine
from jpweb.store.jp_files.reader import MAX_ELEMENTS
from jpweb.store.jp_files.workspace import MAX_METADATA_BYTES, MAX_STREAM_BYTES
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, Workspace
from jpweb.stream import wire
from jpweb.stream.outline import build_inquiry_outline
from jpweb.stream.wire.partial import read_partial

L = TypeVar("L", ApprovalLine, ReceiptLine, ReviewLine)

_ANCHOR = re.compile(r"e-[A-Za-z0-9-]{1,58}", re.ASCII)
#: Problems that a refusal names.
_MAX_NAMED_PROBLEMS = 5
#: Folders that a refusal names.
_MAX_NAMED_FOLDERS = 20
_BoundedText = Annotated[str, msgspec.Meta(max_length=500)]
#: Text of a label, which jp may have written as long as its file can be.
_LabelText = Annotated[str, msgspec.Meta(max_length=MAX_METADATA_BYTES)]


class _Metadata(msgspec.Struct):
    """``conversation.json`` of a bundle; keys that an import does not need are ignored."""

    jp_id: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    title: _BoundedText
    labels: dict[_LabelText, _LabelText]
    archived: bool
    last_activity: datetime
    framing: str


class ImportedBundle(NamedTuple):
    """The keys of the imported conversations, and the verifier's report."""

    conversation_ids: list[int]
    report: Report


def import_bundle(
    path: Path,
    workspace_name: str,
    public_key: str | None = None,
    folder_names: Collection[str] = (),
) -> ImportedBundle:
    """Import conversations of a bundle into the workspace of that name: all of them, or none.

    With ``folder_names`` it imports those that the bundle has in these folders. They are
    read-only. Raises ImportRefused, and OSError where the file cannot be read.
    """
    workspace = _find_workspace(workspace_name)
    try:
        with open_bundle(path) as bundle:
            report = bundle_verifier.verify_files(bundle, public_key)
            if report.problems:
                raise ImportRefused(_describe_problems(report))
            rows = _choose_rows(report.manifest["conversations"], folder_names)
            _check_twins(bundle, rows)
            return ImportedBundle(_import_all(bundle, workspace, report, rows), report)
    except InvalidBundle as error:
        raise ImportRefused(f"The bundle does not verify: {error}.") from error


def _choose_rows(
    rows: Sequence[dict[str, Any]], folder_names: Collection[str]
) -> list[dict[str, Any]]:
    """Return the manifest's rows in these folders, or all; a folder's last part names it too."""
    rows_by_name = {_get_folder_name(row): row for row in rows}
    wanted_names = {name.strip("/").rpartition("/")[2] for name in folder_names}
    for name in sorted(wanted_names - rows_by_name.keys()):
        folders = ", ".join(list(rows_by_name)[:_MAX_NAMED_FOLDERS])
        raise ImportRefused(f"The bundle has no conversation {name}. It has: {folders}.")
    return [row for row in rows if not wanted_names or _get_folder_name(row) in wanted_names]


def _get_folder_name(row: dict[str, Any]) -> str:
    return str(row["folder"]).rpartition("/")[2]


def _check_twins(bundle: Bundle, rows: Sequence[dict[str, Any]]) -> None:
    """Raise ImportRefused where two conversations have one id of JP: a workspace has it once."""
    names_by_jp_id: defaultdict[int, list[str]] = defaultdict(list)
    for row in rows:
        metadata = _read_metadata(bundle, f"{row['folder']}/{METADATA}")
        names_by_jp_id[metadata.jp_id].append(_get_folder_name(row))
    twins = [names for names in names_by_jp_id.values() if len(names) > 1]
    if twins:
        raise ImportRefused(
            f"{' and '.join(twins[0])} are of different workspaces and have one ID, which a "
            f"workspace has once. Import them one by one, each into another workspace: "
            f"--conversation {twins[0][0]}."
        )


def _find_workspace(name: str) -> Workspace:
    matching_rows = list(Workspace.objects.filter(name=db_text.clean_text(name))[:2])
    if len(matching_rows) != 1:
        names = Workspace.objects.order_by("name").values_list("name", flat=True)[:20]
        number = "Several workspaces have" if matching_rows else "No workspace has"
        raise ImportRefused(f"{number} the name “{name}”. The names are: {', '.join(names)}.")
    return matching_rows[0]


def _describe_problems(report: Report) -> str:
    problem_list = "; ".join(map(str, report.problems[:_MAX_NAMED_PROBLEMS]))
    more_count = len(report.problems) - _MAX_NAMED_PROBLEMS
    rest_text = f"; and {more_count} more" if more_count > 0 else ""
    return f"The bundle does not verify: {problem_list}{rest_text}."


@transaction.atomic
def _import_all(
    bundle: Bundle, workspace: Workspace, report: Report, rows: Sequence[dict[str, Any]]
) -> list[int]:
    manifest_hash = hashlib.sha256(bundle.read_bytes(MANIFEST)).hexdigest()
    keys = []
    for row in rows:
        folder = str(row["folder"])
        conversation = _import_conversation(bundle, workspace, folder)
        _import_approvals(bundle, conversation, f"{folder}/{APPROVALS}")
        _import_receipts(bundle, conversation, f"{folder}/{RECEIPTS}")
        details: dict[str, object] = {
            "manifest_hash": manifest_hash,
            "public_key": report.manifest["public_key"],
        }
        anchors = set(conversation.journal.values_list("anchor", flat=True))
        if redacted_anchors := anchors.intersection(report.redacted_anchors[row["id"]]):
            details["redacted_events"] = sorted(redacted_anchors)
        if row.get("reviews"):
            reviews_hash = _import_reviews(bundle, conversation, f"{folder}/{REVIEWS}")
            details |= {"reviews": row["reviews"], "reviews_hash": reviews_hash}
        record_act(Act.EVIDENCE_IMPORTED, OPERATOR, Place(workspace.pk, conversation.pk), **details)
        keys.append(conversation.pk)
    return keys


def _import_conversation(bundle: Bundle, workspace: Workspace, folder: str) -> Conversation:
    metadata = _read_metadata(bundle, f"{folder}/{METADATA}")
    if Conversation.objects.filter(workspace=workspace, jp_id=metadata.jp_id).exists():
        raise ImportRefused(
            f"{workspace.name} already has jp-c{metadata.jp_id}. Choose another workspace."
        )
    conversation = Conversation.objects.create(
        workspace=workspace,
        jp_id=metadata.jp_id,
        origin=Origin.IMPORTED,
        title=metadata.title,
        labels=metadata.labels,
        archived=metadata.archived,
        last_activity=metadata.last_activity,
        framing=metadata.framing,
    )
    name = f"{folder}/{EVENTS}"
    lines = _read_lines(bundle, name)
    elements = [wire.read_element(text) for text in _check_texts(name, lines)]
    anchors = _check_anchors(name, lines)
    journal.replace_elements(conversation, elements, anchors)
    partial_elements = [read_partial(element.raw) for element in elements]
    inquiries.rebuild_rows(conversation, build_inquiry_outline(partial_elements, anchors))
    conversation.save()
    return conversation


def _import_approvals(bundle: Bundle, conversation: Conversation, name: str) -> None:
    approval_lines.insert_approvals(conversation, _convert_lines(bundle, name, ApprovalLine))


def _import_receipts(bundle: Bundle, conversation: Conversation, name: str) -> None:
    receipt_lines.insert_receipts(conversation, _convert_lines(bundle, name, ReceiptLine))


def _import_reviews(bundle: Bundle, conversation: Conversation, name: str) -> str:
    """Import the reviews of a conversation byte for byte; return the hash of their file."""
    lines = _convert_lines(bundle, name, ReviewLine)
    try:
        with transaction.atomic():
            review_lines.insert_reviews(conversation, lines)
    except IntegrityError as error:
        raise ImportRefused(f"{name} cannot be used: a review is there twice.") from error
    return bundle.hash_file(name)


def _convert_lines(bundle: Bundle, name: str, line_type: type[L]) -> list[L]:
    """Return the lines of a file; none where it is missing, as in a bundle of an earlier jpweb."""
    if name not in bundle.names:
        return []
    try:
        lines = [
            msgspec.convert(line, line_type, strict=False) for line in _read_lines(bundle, name)
        ]
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ImportRefused(f"{name} cannot be used: {error}.") from error
    for line in lines:
        _check_values(name, line)
    return lines


def _check_values(name: str, line: ApprovalLine | ReceiptLine | ReviewLine) -> None:
    """Raise ImportRefused for a time or a text that no database keeps."""
    for field, value in msgspec.structs.asdict(line).items():
        if isinstance(value, datetime):
            _check_time(name, field, value)
        if isinstance(value, str):
            _check_text(name, value)


def _read_lines(bundle: Bundle, name: str) -> list[dict[str, Any]]:
    """Return the lines of a file, as many and as long as a mirrored conversation may have."""
    lines: list[dict[str, Any]] = []
    char_count = 0
    for line in bundle.iter_objects(name):
        lines.append(line)
        char_count += sum(len(value) for value in line.values() if isinstance(value, str))
        if len(lines) > MAX_ELEMENTS or char_count > MAX_STREAM_BYTES:
            raise ImportRefused(
                f"{name} cannot be used: it has more than {MAX_ELEMENTS:,} lines, or lines of "
                f"more than {MAX_STREAM_BYTES >> 20} MiB."
            )
    return lines


def _read_metadata(bundle: Bundle, name: str) -> _Metadata:
    try:
        metadata = msgspec.json.decode(bundle.read_bytes(name), type=_Metadata)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ImportRefused(f"{name} cannot be used: {error}.") from error
    _check_time(name, "last_activity", metadata.last_activity)
    for text in (metadata.title, metadata.framing, *metadata.labels, *metadata.labels.values()):
        _check_text(name, text)
    return metadata


def _check_anchors(name: str, lines: list[dict[str, Any]]) -> list[str]:
    """Return the anchors on record; that of a redacted event no longer follows from its text."""
    anchors = [str(line["anchor"]) for line in lines]
    if len(set(anchors)) < len(anchors) or not all(map(_ANCHOR.fullmatch, anchors)):
        raise ImportRefused(f"{name} cannot be used: an anchor is invalid, or there twice.")
    return anchors


def _check_texts(name: str, lines: list[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        text = line.get("text")
        if not isinstance(text, str):
            raise ImportRefused(f"{name} cannot be used: an event has no text.")
        _check_text(name, text)
        yield text


def _check_time(name: str, field: str, value: datetime) -> None:
    """Raise ImportRefused for a time without a zone, and one that UTC cannot express."""
    if value.tzinfo is None:
        raise ImportRefused(f"{name} cannot be used: {field} has no time zone.")
    try:
        value.astimezone(UTC)
    except OverflowError as error:
        raise ImportRefused(f"{name} cannot be used: {field} is out of range.") from error


def _check_text(name: str, text: str) -> None:
    """Raise ImportRefused for a text that no database keeps unchanged."""
    if db_text.clean_text(text) != text:
        raise ImportRefused(f"{name} cannot be used: a text has characters that are not stored.")
