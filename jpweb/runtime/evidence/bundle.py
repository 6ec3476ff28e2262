"""Builds evidence bundles: a zip that ``verify_bundle.py``, inside it, checks without jpweb.

The bytes follow from the state of the database, except ``made_at`` in the manifest, and so its
signature.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

from jpweb.evidence import ledger_verifier, scripts
from jpweb.evidence.bundle_verifier import (
    APPROVALS,
    BUNDLE_FORMAT,
    ENTRIES,
    EVENTS,
    HEAD,
    MANIFEST,
    METADATA,
    PROOF,
    RECEIPTS,
    REDACTIONS,
    REVIEWS,
    SIGNATURE,
)
from jpweb.runtime import exports as formats
from jpweb.runtime.evidence.zip_stream import ZipStream
from jpweb.store import conversations, exports
from jpweb.store.errors import ExportBroken, UnknownConversation
from jpweb.store.evidence import contents, question_cells, review_lines
from jpweb.store.evidence.contents import OmittedContent
from jpweb.store.evidence.ledger_slice import LedgerSlice
from jpweb.store.evidence.review_lines import ReviewCounts
from jpweb.store.exports import ExportChunk
from jpweb.store.ledger import signing

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: A piece of a bundle has about so many bytes, and at most so many steps, each a short query.
_PIECE_BYTES, _PIECE_STEPS = 256 * 1024, 100
_README = """This is an evidence bundle of jpweb. To verify it, with Python 3.11 or newer alone:

    python3 verify_bundle.py BUNDLE.zip --public-key KEY

Take verify_bundle.py and the key from somebody you trust, not from the bundle.
manifest.json says what is in it, and what is left out and why.
"""


class PartSource(NamedTuple):
    """Source of a conversation's files: its rows, and the ledger up to a head."""

    conversation: Conversation
    head_sequence: int
    reviews: ReviewCounts
    link: str = ""


class BundlePart(NamedTuple):
    """A file of each conversation in a bundle, and the function that yields its bytes."""

    file_name: str
    make_pieces: Callable[[PartSource], Iterator[bytes]]


def _adapt_rows(
    make_pieces: Callable[[Conversation], Iterator[bytes]],
) -> Callable[[PartSource], Iterator[bytes]]:
    return lambda source: make_pieces(source.conversation)


def _adapt_chunks(
    make_chunks: Callable[[Conversation], Iterator[ExportChunk]],
) -> Callable[[PartSource], Iterator[bytes]]:
    return lambda source: (chunk.data for chunk in make_chunks(source.conversation))


def _adapt_documents(
    make_chunks: Callable[..., Iterator[ExportChunk]],
) -> Callable[[PartSource], Iterator[bytes]]:
    """Return the function that yields a readable file with its conversation's link.

    The time of the export would change the bytes of the same state: it is in the manifest.
    """

    def make_pieces(source: PartSource) -> Iterator[bytes]:
        origin = formats.describe_bundle_origin(source.link) if source.link else ""
        return (chunk.data for chunk in make_chunks(source.conversation, origin=origin))

    return make_pieces


#: The files of each conversation. Another table of a conversation is a line.
PARTS: tuple[BundlePart, ...] = (
    BundlePart(METADATA, _adapt_rows(lambda row: iter([contents.describe_conversation(row)]))),
    BundlePart(EVENTS, _adapt_chunks(exports.export_event_lines)),
    BundlePart("questions.jsonl", _adapt_rows(contents.export_questions)),
    BundlePart("questions.csv", _adapt_rows(question_cells.export_questions)),
    BundlePart(APPROVALS, _adapt_rows(contents.export_approvals)),
    BundlePart(RECEIPTS, _adapt_rows(contents.export_receipts)),
    BundlePart(
        REVIEWS,
        lambda source: review_lines.write_reviews(
            source.conversation, source.head_sequence, source.reviews
        ),
    ),
    BundlePart(REDACTIONS, _adapt_rows(contents.export_redactions)),
    BundlePart("conversation.md", _adapt_documents(formats.make_markdown)),
    BundlePart("conversation.html", _adapt_documents(formats.make_html)),
)


@dataclass(frozen=True, slots=True)
class BundleOrder:
    """The contents of a bundle, and its recipient. ``address`` is the pattern of links."""

    conversation_ids: Sequence[int]
    filter_text: str
    made_by: str
    made_at: datetime
    address: str = ""


@dataclass(slots=True)
class _Progress:
    """The rows of a manifest, as they are known so far."""

    folders: Counter[str] = field(default_factory=Counter)
    conversations: list[dict[str, Any]] = field(default_factory=list)
    withheld_reviews: int = 0


def build_bundle(order: BundleOrder) -> Iterator[ExportChunk]:
    """Yield the bundle in pieces; its export is in the ledger before. Raises ExportBroken."""
    archive = ZipStream()
    total, done_count, steps = len(order.conversation_ids) * len(PARTS) + 1, 0, 0
    for finished_parts in _write_bundle(archive, order):
        done_count, steps = done_count + finished_parts, steps + 1
        if archive.pending_bytes >= _PIECE_BYTES or steps >= _PIECE_STEPS:
            yield ExportChunk(archive.take_bytes(), min(done_count, total - 1), total)
            steps = 0
    yield ExportChunk(archive.take_bytes(), total, total)


def _write_bundle(archive: ZipStream, order: BundleOrder) -> Iterator[int]:
    """Write all files; yields after each step the number of parts that it finished."""
    ledger_slice = LedgerSlice(order.conversation_ids)
    progress = _Progress()
    for key in order.conversation_ids:
        source = _find_source(key, ledger_slice, order)
        yield from _write_conversation(archive, source, progress)
    for _ in archive.write_file(ENTRIES, ledger_slice.write_entries()):
        yield 0
    statement = ledger_verifier.encode_canonical(ledger_slice.make_statement())
    small_files = {
        PROOF: ledger_slice.write_proof(),
        HEAD: iter([f"{statement}\n".encode()]),
        scripts.BUNDLE_SCRIPT_NAME: iter([scripts.build_bundle_script().encode()]),
        "README.txt": iter([_README.encode()]),
    }
    for name, pieces in small_files.items():
        for _ in archive.write_file(name, pieces):
            yield 0
    ledger_slice.check_no_redaction()
    manifest = json.dumps(
        _make_manifest(archive, order, progress, ledger_slice), ensure_ascii=False, indent=1
    ).encode()
    for name, data in {MANIFEST: manifest, SIGNATURE: _sign_manifest(manifest)}.items():
        for _ in archive.write_file(name, [data]):
            yield 0
    archive.close()


def _find_source(key: int, ledger_slice: LedgerSlice, order: BundleOrder) -> PartSource:
    try:
        conversation = conversations.get_conversation(key)
    except UnknownConversation as error:
        raise ExportBroken("A conversation was removed while it was downloaded.") from error
    link = order.address.format(conversation.pk)
    return PartSource(conversation, ledger_slice.head.sequence, ReviewCounts(), link)


def _write_conversation(
    archive: ZipStream, source: PartSource, progress: _Progress
) -> Iterator[int]:
    conversation = source.conversation
    name = f"jp-c{conversation.jp_id}"
    progress.folders[name] += 1
    suffix = f"-{progress.folders[name]}" if progress.folders[name] > 1 else ""
    folder = f"conversations/{name}{suffix}"
    for part in PARTS:
        for _ in archive.write_file(f"{folder}/{part.file_name}", part.make_pieces(source)):
            yield 0
        yield 1
    progress.withheld_reviews += source.reviews.withheld
    progress.conversations.append(
        {
            "folder": folder,
            "id": conversation.pk,
            "jp_id": conversation.jp_id,
            "title": conversation.title,
            "workspace": conversation.workspace.name,
            "events": conversation.entry_count,
            "reviews": source.reviews.written,
            "link": source.link,
        }
    )


def _make_manifest(
    archive: ZipStream, order: BundleOrder, progress: _Progress, ledger_slice: LedgerSlice
) -> dict[str, Any]:
    shown_count, size = ledger_slice.entry_count, ledger_slice.head.sequence
    left_out = [
        *contents.list_omitted_content(list(order.conversation_ids)),
        _describe_hidden_entries(ledger_slice),
        OmittedContent(
            "events redacted after the fact",
            ledger_slice.redacted_event_count,
            "An auditor replaced them; the ledger has the hash of what stood there.",
        ),
        OmittedContent(
            "events redacted before they were imported",
            ledger_slice.events_redacted_before_count,
            "Another installation replaced them; its ledger has the hash of what stood there.",
        ),
        OmittedContent(
            "verdicts and notes of reviews",
            progress.withheld_reviews,
            "The second of two blind reviews is missing, or an auditor redacted the note.",
        ),
    ]
    return {
        "format": BUNDLE_FORMAT,
        "made_at": order.made_at.isoformat(),
        "made_by": order.made_by,
        "filter": order.filter_text,
        "jpweb": metadata.version("jpweb"),
        "public_key": signing.get_public_key(),
        "conversations": progress.conversations,
        "ledger": {"sequence": size, "entries": shown_count},
        "left_out": [asdict(row) for row in left_out if row.count],
        "files": [
            {"name": name, "bytes": size, "sha256": sha256}
            for name, size, sha256 in sorted(archive.files)
        ],
    }


def _describe_hidden_entries(ledger_slice: LedgerSlice) -> OmittedContent:
    hidden_counts = ledger_slice.count_hidden_entries()
    return OmittedContent(
        "other entries of the ledger",
        sum(hidden_counts),
        f"{hidden_counts.of_other_conversations} of other conversations; "
        f"{hidden_counts.of_no_conversation} of no single conversation, such as roles, trust, "
        f"settings, sign-ins, searches and exports of several; "
        f"{hidden_counts.purged} purged. The proof has their hashes alone.",
    )


def _sign_manifest(manifest: bytes) -> bytes:
    signed_content = {
        "format": BUNDLE_FORMAT,
        "manifest_sha256": ledger_verifier.hash_text(manifest.decode()),
    }
    statement = {"signed": signed_content} | signing.sign_value(signed_content)._asdict()
    return (ledger_verifier.encode_canonical(statement) + "\n").encode()
