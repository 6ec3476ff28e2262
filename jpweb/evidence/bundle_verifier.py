"""Verifies an evidence bundle offline: one file, of the standard library alone.

    python3 verify_bundle.py BUNDLE.zip [--public-key HEX] [--head heads.jsonl]

A bundle is a zip. ``manifest.json`` lists every other file with its SHA-256, ``signature.json``
signs the manifest with the installation's key (Ed25519). ``ledger/entries.jsonl`` has the ledger's
entries of these conversations, ``ledger/proof.json`` the hashes of the others (RFC 9162, 2.1), and
``ledger/head.json`` the signed head, to which both lead. Of a file of kept heads, one per line,
those of the same entry have to be the same.

Exit status: 0 where all holds, 1 where a problem was found, 2 where the file cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jpweb.evidence.bundle_files import Bundle, Damage, InvalidBundle, open_bundle, report_damage
from jpweb.evidence.ledger_verifier import (
    Problem,
    UnreadableFile,
    encode_canonical,
    find_head_problems,
    hash_text,
    list_heads,
    parse_object,
    write_lines,
)
from jpweb.evidence.merkle_tree import hash_leaf, hash_node, split_range
from jpweb.evidence.record_checks import Decisions, check_events, check_reviews, read_redaction_keys
from jpweb.evidence.signatures import is_signature_valid

BUNDLE_FORMAT = "jpweb-evidence-1"
MANIFEST, SIGNATURE = "manifest.json", "signature.json"
HEAD, ENTRIES, PROOF = "ledger/head.json", "ledger/entries.jsonl", "ledger/proof.json"
EVENTS, METADATA = "events.jsonl", "conversation.json"
REVIEWS, REDACTIONS = "reviews.jsonl", "redactions.jsonl"
APPROVALS, RECEIPTS = "approvals.jsonl", "shown.jsonl"
_KEPT_HEADS = "kept heads"
#: The line for people who named no key.
KEY_ADVICE = "Compare this key with the one on the installation's ledger page."


class Report(NamedTuple):
    """The findings in a bundle; ``redacted`` counts events that were redacted after the fact.

    ``changed_in_jp`` counts those of them that jp's file no longer has, ``same_heads`` the kept
    heads of the bundle's last entry, ``other_heads`` those of other entries. ``unlisted_reviews``
    counts the reviews of the ledger that a bundle of an earlier jpweb does not hold.
    ``redacted_before_import`` counts events that another installation had redacted, and
    ``redacted_anchors`` has all that a redaction left, by the key of their conversation.
    """

    problems: list[Damage]
    manifest: dict[str, Any]
    redacted: int
    changed_in_jp: int = 0
    head: dict[str, Any] = {}  # noqa: RUF012  nothing changes it
    same_heads: int = 0
    other_heads: int = 0
    unlisted_reviews: int = 0
    redacted_before_import: int = 0
    redacted_anchors: dict[Any, list[str]] = {}  # noqa: RUF012  nothing changes it


# Checks -----------------------------------------------------------------------------------------


def verify_bundle(path: Path, public_key: str | None = None) -> Report:
    """Return the problems of a bundle; ``public_key`` is the one that has to have signed it.

    Raises OSError where the file cannot be read.
    """
    try:
        with open_bundle(path) as bundle:
            return verify_files(bundle, public_key)
    except InvalidBundle as error:
        return Report([error.damage], {}, 0)


def verify_files(bundle: Bundle, public_key: str | None) -> Report:
    """Return the problems of an open bundle. Raises InvalidBundle."""
    manifest = bundle.read_object(MANIFEST)
    if manifest.get("format") != BUNDLE_FORMAT:
        raise InvalidBundle(MANIFEST, f"its format is not {BUNDLE_FORMAT}")
    problems = list(_collect(MANIFEST, _check_manifest(bundle, manifest, public_key)))
    entries: list[dict[str, Any]] = []
    problems += _collect(ENTRIES, _check_ledger(bundle, manifest, entries))
    with report_damage(ENTRIES):
        decisions = Decisions(entries)
    with report_damage(MANIFEST):
        folders = [(str(row["folder"]), row) for row in manifest["conversations"]]
    rows = [row for _, row in folders]
    problems += _collect(MANIFEST, _check_rows(bundle, rows, decisions))
    problems += _collect(ENTRIES, _check_places(rows, entries))
    for folder, row in folders:
        problems += _check_conversation(bundle, folder, row, decisions)
    counts = len(decisions.redacted), len(decisions.changed_in_jp)
    report = Report(problems, manifest, *counts, _read_head(bundle))
    with report_damage(MANIFEST):
        redacted_anchors = {row["id"]: decisions.list_redacted(row["id"]) for row in rows}
    return report._replace(
        unlisted_reviews=decisions.unlisted_reviews,
        redacted_before_import=len(decisions.redacted_before_import - decisions.redacted.keys()),
        redacted_anchors=redacted_anchors,
    )


def compare_heads(report: Report, path: Path) -> Report:
    """Return a report with the problems of a file of heads that were kept elsewhere.

    Raises UnreadableFile.
    """
    problems, same_heads, other_heads = list(report.problems), 0, 0
    for line in list_heads(path):
        if isinstance(line, Problem):
            problems.append(Damage(_KEPT_HEADS, line.text))
            continue
        problems += [Damage(_KEPT_HEADS, problem.text) for problem in find_head_problems(line)]
        head = line["head"]
        if head["sequence"] != report.head.get("sequence"):
            other_heads += 1
            continue
        same_heads += 1
        kept_hashes = {name: head[name] for name in ("chain_hash", "tree_hash") if name in head}
        if not kept_hashes.items() <= report.head.items():
            text = f"the head of entry {head['sequence']} that was kept has other hashes"
            problems.append(Damage(HEAD, text))
    return report._replace(problems=problems, same_heads=same_heads, other_heads=other_heads)


def _read_head(bundle: Bundle) -> dict[str, Any]:
    """Return the head of a bundle; an empty one where its file has none that can be read."""
    try:
        head = bundle.read_object(HEAD).get("head")
    except InvalidBundle:
        return {}
    return head if isinstance(head, dict) else {}


def _check_conversation(
    bundle: Bundle, folder: str, row: dict[str, Any], decisions: Decisions
) -> Iterator[Damage]:
    """Compare the files of a conversation with the ledger; an older bundle has fewer files."""
    keys: dict[str, str] = {}
    name = f"{folder}/{REDACTIONS}"
    if name in bundle.names:
        texts = read_redaction_keys(bundle.iter_objects(name), keys)
        yield from _collect(name, (Damage(name, text) for text in texts))
    name = f"{folder}/{EVENTS}"
    expected_row = row | {"origin": _read_origin(bundle, f"{folder}/{METADATA}")}
    texts = check_events(bundle.iter_objects(name), expected_row, decisions, keys)
    yield from _collect(name, (Damage(name, text) for text in texts))
    if "reviews" in row:
        name = f"{folder}/{REVIEWS}"
        texts = check_reviews(bundle.iter_objects(name), row, decisions)
        yield from _collect(name, (Damage(name, text) for text in texts))


def _read_origin(bundle: Bundle, name: str) -> Any:
    """Return the origin of a conversation, None where its file has none that can be read."""
    try:
        return bundle.read_object(name).get("origin")
    except InvalidBundle:
        return None


def _check_rows(
    bundle: Bundle, rows: list[dict[str, Any]], decisions: Decisions
) -> Iterator[Damage]:
    """Find conversations that no ledger entry can be assigned to, or that are there twice."""
    for key in ("id", "folder"):
        counts = Counter(row[key] for row in rows)
        for value in (value for value, count in counts.items() if count > 1):
            yield Damage(MANIFEST, f"it has the conversation with the {key} {value} twice")
    for row in rows:
        if type(row["id"]) is not int or type(row["events"]) is not int:
            yield Damage(MANIFEST, f"id and events of {row['folder']} are not whole numbers")
        if "reviews" not in row and (count := decisions.count_reviews(row["id"])):
            decisions.unlisted_reviews += count
            # An earlier jpweb, which listed no reviews, wrote none of these files either.
            if {f"{row['folder']}/{name}" for name in (REVIEWS, REDACTIONS)} & set(bundle.names):
                yield Damage(MANIFEST, f"it does not say how many reviews {row['folder']} has")


def _check_places(rows: list[dict[str, Any]], entries: list[dict[str, Any]]) -> Iterator[Damage]:
    """Find ledger entries of other conversations: nothing would be compared with them."""
    keys = {row["id"] for row in rows if type(row["id"]) is int}
    for entry in entries:
        if type(entry.get("conversation")) is not int or entry["conversation"] not in keys:
            text = f"entry {entry['sequence']} is of no conversation of the manifest"
            yield Damage(ENTRIES, text)


def _collect(name: str, problems: Iterator[Damage]) -> Iterator[Damage]:
    """Yield problems; where the check itself fails, that is the last one."""
    try:
        with report_damage(name):
            yield from problems
    except InvalidBundle as error:
        yield error.damage


def _check_manifest(
    bundle: Bundle, manifest: dict[str, Any], public_key: str | None
) -> Iterator[Damage]:
    statement = bundle.read_object(SIGNATURE)
    key = statement["public_key"]
    if public_key is not None and key.lower() != public_key.lower():
        yield Damage(SIGNATURE, f"it is signed with another key: {key}")
    if manifest.get("public_key") != key:
        yield Damage(MANIFEST, "it names another key than the one that signed it")
    signed_content = {"format": BUNDLE_FORMAT, "manifest_sha256": bundle.hash_file(MANIFEST)}
    message = encode_canonical(signed_content).encode()
    key_bytes, signature = bytes.fromhex(key), bytes.fromhex(statement["signature"])
    hex_values = {"public_key": key_bytes.hex(), "signature": signature.hex()}
    text = encode_canonical({"signed": signed_content, **hex_values}) + "\n"
    if not is_signature_valid(key_bytes, message, signature):
        yield Damage(MANIFEST, "the signature does not fit: it was changed after it was signed")
    elif bundle.read_bytes(SIGNATURE) != text.encode():
        yield Damage(SIGNATURE, "it was changed: it holds other text than the signature")
    for name in ("made_at", "made_by", "filter"):
        if not isinstance(manifest.get(name), str):
            yield Damage(MANIFEST, f"it does not say {name}")
    yield from _check_files(bundle, {str(row["name"]): row["sha256"] for row in manifest["files"]})


def _check_files(bundle: Bundle, hashes: dict[str, str]) -> Iterator[Damage]:
    for name in sorted(hashes.keys() - set(bundle.names)):
        yield Damage(name, "it is missing")
    for name in bundle.names:
        if name in hashes:
            yield from _collect(name, _check_hash(bundle, name, hashes[name]))
        elif name not in (MANIFEST, SIGNATURE):
            yield Damage(name, "the manifest does not list it")


def _check_hash(bundle: Bundle, name: str, sha256: str) -> Iterator[Damage]:
    if bundle.hash_file(name) != sha256:
        yield Damage(name, "it was changed: the manifest has another SHA-256")


def _check_ledger(
    bundle: Bundle, manifest: dict[str, Any], entries: list[dict[str, Any]]
) -> Iterator[Damage]:
    """Compare the entries with the signed head; their contents are appended to ``entries``."""
    statement = bundle.read_object(HEAD)
    yield from _check_head(statement, manifest)
    size = statement["head"]["sequence"]
    leaves: dict[int, str] = {}
    last_sequence = 0
    for line in bundle.iter_objects(ENTRIES):
        sequence, text = line["sequence"], line["text"]
        if not last_sequence < sequence <= size:
            yield Damage(ENTRIES, f"entry {sequence} is in the wrong place, or there twice")
        last_sequence = max(last_sequence, sequence)
        content = parse_object(text)
        if hash_text(text) != line["text_hash"]:
            content = None
            yield Damage(ENTRIES, f"the text of entry {sequence} was changed")
        elif content is None:
            yield Damage(ENTRIES, f"the text of entry {sequence} is not a JSON object")
        leaves[sequence - 1] = hash_leaf(line["text_hash"])
        entries.append({"sequence": sequence} | (content or {}))
    if len(entries) != manifest["ledger"]["entries"]:
        yield Damage(ENTRIES, f"it has {len(entries)} entries, not {manifest['ledger']['entries']}")
    nodes = iter(bundle.read_object(PROOF)["nodes"])
    root = _compute_root(0, size, leaves, sorted(leaves), nodes)
    if root != statement["head"]["tree_hash"] or next(nodes, None) is not None:
        yield Damage(ENTRIES, "the entries do not lead to the signed head")


def _check_head(statement: dict[str, Any], manifest: dict[str, Any]) -> Iterator[Damage]:
    for problem in find_head_problems(statement, manifest["public_key"]):
        yield Damage(HEAD, problem.text)
    size = statement["head"]["sequence"]
    if type(size) is not int:
        yield Damage(HEAD, "its sequence is not a whole number")
    if manifest["ledger"]["sequence"] != size:
        yield Damage(MANIFEST, f"its ledger does not end with the signed head, entry {size}")


def _compute_root(
    first_sequence: int,
    last_sequence: int,
    leaves: dict[int, str],
    indices: list[int],
    nodes: Iterator[str],
) -> str:
    """Return the hash of a subtree: of the leaves that are shown, and the nodes of the others."""
    position = bisect_left(indices, first_sequence)
    if position == len(indices) or indices[position] >= last_sequence:
        return next(nodes)
    if last_sequence - first_sequence == 1:
        return leaves[first_sequence]
    middle = split_range(first_sequence, last_sequence)
    left_hash = _compute_root(first_sequence, middle, leaves, indices, nodes)
    return hash_node(left_hash, _compute_root(middle, last_sequence, leaves, indices, nodes))


# The command ------------------------------------------------------------------------------------


def describe_bundle(report: Report) -> list[str]:
    """Return the lines for people about a bundle without problems."""
    manifest = report.manifest
    rows = manifest["conversations"]
    ledger = manifest["ledger"]
    lines = [
        f"No problems in {len(manifest['files'])} files.",
        f"Conversations: {len(rows)}, events: {sum(row['events'] for row in rows)}, "
        f"ledger entries: {ledger['entries']} of {ledger['sequence']}.",
        f"Made {manifest['made_at']} by {manifest['made_by']}, of: {manifest['filter']}.",
        f"Signed with the key {manifest['public_key']}.",
        f"Head: entry {report.head['sequence']}, chain hash {report.head.get('chain_hash')}, "
        f"tree hash {report.head['tree_hash']}.",
        *_describe_kept_heads(report),
    ]
    if report.unlisted_reviews:
        lines.append(
            f"Reviews of the ledger that it does not hold, as of an earlier jpweb: "
            f"{report.unlisted_reviews}."
        )
    if report.redacted:
        verb = "event was" if report.redacted == 1 else "events were"
        lines.append(f"{report.redacted} {verb} redacted after the fact.")
    if report.redacted_before_import:
        verb = "event was" if report.redacted_before_import == 1 else "events were"
        lines.append(
            f"{report.redacted_before_import} {verb} redacted before the import into the "
            f"installation that made it."
        )
    if report.changed_in_jp:
        events, pronoun = "event is", "it"
        if report.changed_in_jp > 1:
            events, pronoun = "events are", "them"
        lines.append(
            f"{report.changed_in_jp} redacted {events} not in it: jp has since changed or "
            f"removed {pronoun}."
        )
    return lines


def _describe_kept_heads(report: Report) -> list[str]:
    lines = []
    if report.same_heads:
        lines.append(f"Kept heads of this entry, with the same hashes: {report.same_heads}.")
    if report.other_heads:
        lines.append(
            f"Kept heads of other entries: {report.other_heads}. Compare them with the ledger file."
        )
    return lines


def main(argv: list[str] | None = None) -> int:
    """Verify a bundle; print its problems and return the exit status."""
    parser = argparse.ArgumentParser(description="Verify an evidence bundle of jpweb.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--public-key", help="the key that has to have signed, as its page shows")
    parser.add_argument("--head", type=Path, help="heads that were kept elsewhere, one per line")
    options = parser.parse_args(argv)
    try:
        report = verify_bundle(options.file, options.public_key)
        if options.head is not None:
            report = compare_heads(report, options.head)
    except UnreadableFile as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{options.file} cannot be read: {error.strerror}.\n")
        return 2
    lines = [str(problem) for problem in report.problems] or describe_bundle(report)
    if not report.problems and options.public_key is None:
        lines.append(KEY_ADVICE)
    write_lines(lines)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
