"""Compares the events and reviews of a conversation in a bundle with its ledger entries."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from jpweb.evidence.keyed_hashes import compute_digest
from jpweb.evidence.ledger_verifier import encode_canonical, hash_text

#: Acts of the ledger that begin so replace an event after the fact.
REDACTION_ACT = "redacted"
REVIEW_ACT, IMPORT_ACT = "reviewed", "evidence_imported"
#: Origin of a conversation whose events follow jp's file, which jp and people change.
MIRRORED_ORIGIN = "mirrored"


class Decisions:
    """Acts in the ledger on events, by conversation and anchor, and of reviews."""

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        self.hashes: dict[tuple[Any, str], tuple[int, str]] = {}
        #: The last redaction of an event: its entry, and the digest of the new text, if it has one.
        self.redacted: dict[tuple[Any, str], tuple[int, str]] = {}
        #: Redacted events that jp's file no longer has; ``check_events`` adds them.
        self.changed_in_jp: set[tuple[Any, str]] = set()
        self.reviews: dict[Any, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        self.imports: dict[Any, dict[str, Any]] = {}
        #: The events that were redacted before their conversation was imported.
        self.redacted_before_import: set[tuple[Any, str]] = set()
        #: Reviews of conversations whose row of the manifest counts none.
        self.unlisted_reviews = 0
        for entry in entries:
            details, key, act = (
                entry.get("details", {}),
                entry.get("conversation"),
                str(entry.get("act")),
            )
            place = get_place(entry)
            if act.startswith(REDACTION_ACT):
                self.redacted[place] = entry["sequence"], details.get("text_digest", "")
            elif act == REVIEW_ACT:
                self.reviews[key].append((entry["sequence"], details))
            elif act == IMPORT_ACT:
                self.imports[key] = details
                self.redacted_before_import |= list_redacted_places(entry)
            elif "event_hash" in details:
                self.hashes[place] = entry["sequence"], details["event_hash"]

    def list_redacted(self, conversation_id: Any) -> list[str]:
        """Return the anchors of the events that a conversation has as a redaction left them."""
        places = (self.redacted.keys() - self.changed_in_jp) | self.redacted_before_import
        return sorted(anchor for key, anchor in places if key == conversation_id)

    def count_reviews(self, conversation_id: Any) -> int:
        """Return how many reviews of a conversation the ledger has, imported ones too."""
        imported_count: int = self.imports.get(conversation_id, {}).get("reviews", 0)
        return len(self.reviews.get(conversation_id, ())) + imported_count


def get_place(entry: dict[str, Any]) -> tuple[Any, str]:
    """Return the conversation and the event that an entry is about; without one, its sequence."""
    event = entry.get("details", {}).get("event", entry["sequence"])
    return entry.get("conversation"), str(event)


def list_redacted_places(entry: dict[str, Any]) -> set[tuple[Any, str]]:
    """Return the events that the entry of an import says were redacted before it."""
    anchors = entry.get("details", {}).get("redacted_events")
    if not isinstance(anchors, list):
        return set()
    return {(entry.get("conversation"), str(anchor)) for anchor in anchors}


def read_redaction_keys(lines: Iterable[dict[str, Any]], keys: dict[str, str]) -> Iterator[str]:
    """Insert the key of each redacted event into ``keys``; yield the problems of the lines."""
    for line in lines:
        if line["event"] in keys:
            yield f"it has event {line['event']} twice"
        keys[line["event"]] = line["text_key"]


def check_events(
    lines: Iterable[dict[str, Any]],
    conversation: dict[str, Any],
    decisions: Decisions,
    redaction_keys: dict[str, str],
) -> Iterator[str]:
    """Yield the problems of the events of a conversation.

    ``conversation`` is its row of the manifest, with its origin.
    """
    key = conversation["id"]
    anchors: set[str] = set()
    position = 0
    for line in lines:
        anchor, place = line["anchor"], (key, line["anchor"])
        if line["position"] != position:
            yield f"event {anchor} is in the wrong place"
        yield from _check_text(line, place, decisions, redaction_keys.get(anchor, ""))
        position += 1
        anchors.add(anchor)
    if position != conversation["events"]:
        yield f"it has {position} events, not {conversation['events']}"
    yield from _check_missing(conversation, anchors, decisions)


def _check_missing(
    conversation: dict[str, Any], anchors: set[str], decisions: Decisions
) -> Iterator[str]:
    """Yield the events of the ledger that are missing.

    Whoever redacts an event edits jp's file too: that replaces the event of a mirrored
    conversation. Of others, imported ones too, jpweb keeps each event.
    """
    for place, (sequence, _) in (decisions.hashes | decisions.redacted).items():
        if place[0] != conversation["id"] or place[1] in anchors:
            continue
        if place in decisions.redacted and conversation.get("origin") == MIRRORED_ORIGIN:
            decisions.changed_in_jp.add(place)
        else:
            yield f"event {place[1]} of ledger entry {sequence} is missing"


def _check_text(
    line: dict[str, Any], place: tuple[Any, str], decisions: Decisions, text_key: str
) -> Iterator[str]:
    """Compare an event's text with the ledger's hash, or with the digest of its last redaction."""
    if place in decisions.redacted:
        sequence, digest = decisions.redacted[place]
        if digest and (not text_key or compute_digest(text_key, line["text"]) != digest):
            yield f"event {place[1]} is not the one that ledger entry {sequence} redacted"
        return
    sequence, event_hash = decisions.hashes.get(place, (0, ""))
    if sequence and hash_text(line["text"]) != event_hash:
        yield f"event {place[1]} is not the one of ledger entry {sequence}"


def check_reviews(
    lines: Iterable[dict[str, Any]], conversation: dict[str, Any], decisions: Decisions
) -> Iterator[str]:
    """Yield the problems of the reviews of a conversation.

    A review is in the ledger as a hash of verdict and note. Of one that is withheld the entry of
    the same round and content is looked for. Reviews that were imported with the conversation come
    first; the entry of the import has their hash.
    """
    key = conversation["id"]
    import_counts = decisions.imports.get(key, {})
    entries = dict(decisions.reviews.get(key, ()))
    imported_digest, number = hashlib.sha256(), 0
    withheld_lines: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, start=1):
        if number <= import_counts.get("reviews", 0):
            imported_digest.update(f"{encode_canonical(line)}\n".encode())
        elif line["withheld"]:
            withheld_lines.append((number, line))
        else:
            review_hash = hash_review(line["verdict"], line["note"], line["nonce"])
            expected_content = _describe(line) | {"review_hash": review_hash}
            yield from _take_entry(entries, number, expected_content)
    for withheld_number, line in withheld_lines:
        yield from _take_entry(entries, withheld_number, _describe(line))
    # A redaction may have replaced a part of an imported note.
    is_redacted = any(place[0] == key for place in decisions.redacted)
    is_changed = imported_digest.hexdigest() != import_counts.get("reviews_hash")
    if import_counts.get("reviews") and is_changed and not is_redacted:
        yield "the reviews that were imported are not those of the ledger entry of the import"
    if number != conversation["reviews"]:
        yield f"it has {number} reviews, not {conversation['reviews']}"
    for sequence in entries:
        yield f"the review of ledger entry {sequence} is missing"


def hash_review(verdict: str, note: str, nonce: str) -> str:
    """Return the SHA-256 that the ledger keeps of a review's verdict and note."""
    return hash_text(encode_canonical({"verdict": verdict, "note": note, "nonce": nonce}))


def _describe(line: dict[str, Any]) -> dict[str, Any]:
    return {"round": line["round"], "content_hash": line["content_hash"]}


def _take_entry(
    entries: dict[int, dict[str, Any]], number: int, expected_content: dict[str, Any]
) -> Iterator[str]:
    """Remove the first entry with these details; yield a problem where there is none."""
    for sequence, details in entries.items():
        if expected_content.items() <= details.items():
            del entries[sequence]
            return
    yield f"review {number} is not the one of any ledger entry"
