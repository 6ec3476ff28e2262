"""Verifies a ledger file offline: one file, of the standard library alone.

    python3 ledger_verifier.py ledger.jsonl [--head heads.jsonl] [--public-key HEX]

A ledger file is JSON lines. The first line is a signed head, each other line an entry::

    {"format": "jpweb-ledger-1", "head": {...}, "public_key": HEX, "signature": HEX}
    {"sequence": 1, "text": "{...}", "text_hash": HEX}
    {"sequence": 2, "text_hash": HEX}

The entries are all from the first to the head's. Each line is canonical JSON of these names alone,
and so is an entry's text. The hash of the text alone represents an entry that is purged, or that
the reader may not see. Earlier files have no hash beside a text, so that a change is named at the
head alone. ``text_hash`` is the text's SHA-256, ``chain_hash`` that of the previous entry's chain
hash and the text hash, both in hexadecimal digits. ``tree_hash`` of the head is the root of the
Merkle tree of all text hashes (RFC 9162, 2.1). A file of kept heads has one per line, and the chain
has to contain each of them; blank lines between them are skipped.

Exit status: 0 where all holds, 1 where a problem was found, 2 where the file cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from jpweb.evidence.merkle_tree import compute_tree_hash
from jpweb.evidence.signatures import is_signature_valid

FORMAT = "jpweb-ledger-1"
#: Problem of a text for which ``parse_object`` returns None.
NO_OBJECT = "its text is not a JSON object"
_NO_HEX = "it has no head, public_key and signature in hexadecimal digits"
_HASH = re.compile(r"[0-9a-f]{64}")
_HEAD_NAMES = frozenset({"format", "head", "public_key", "signature"})
_ENTRY_NAMES = frozenset({"sequence", "text", "text_hash"})
_CANONICAL_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
#: The chain hash before the first entry.
GENESIS_HASH = hashlib.sha256(b"jpweb-ledger-1 genesis").hexdigest()


class Problem(NamedTuple):
    """A contradiction in a ledger: at the entry ``sequence``, 0 for the head."""

    sequence: int
    text: str

    def __str__(self) -> str:
        return f"entry {self.sequence}: {self.text}" if self.sequence else f"head: {self.text}"


class Link(NamedTuple):
    """An entry of a chain; ``text`` is None where the entry is purged or hidden."""

    sequence: int
    text: str | None
    text_hash: str


# Hashing ----------------------------------------------------------------------------------------


def encode_canonical(value: Any) -> str:
    """Return a value as canonical JSON: sorted keys, no spaces, characters as they are.

    Raises ValueError for numbers that JSON does not have.
    """
    return _CANONICAL_ENCODER.encode(value)


def parse_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of a text; None where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hash_link(previous_hash: str, text_hash: str) -> str:
    """Return an entry's chain hash from that of the entry before it and its text hash."""
    return hash_text(f"{previous_hash}\n{text_hash}")


def iter_chain_hashes(previous_hash: str, text_hashes: Iterable[str]) -> Iterator[str]:
    """Yield the chain hash of each entry that follows ``previous_hash``."""
    for text_hash in text_hashes:
        previous_hash = hash_link(previous_hash, text_hash)
        yield previous_hash


# Checking ---------------------------------------------------------------------------------------


def find_head_problems(statement: dict[str, Any], public_key: str | None = None) -> list[Problem]:
    """Return the problems of a signed head; ``public_key`` is the one that has to have signed.

    ``statement`` has the keys head, public_key and signature.
    """
    try:
        key = bytes.fromhex(statement["public_key"])
        signature = bytes.fromhex(statement["signature"])
        message = encode_canonical(statement["head"]).encode("utf-8", "surrogatepass")
    except (KeyError, TypeError, ValueError, RecursionError):
        return [Problem(0, _NO_HEX)]
    if (statement["public_key"], statement["signature"]) != (key.hex(), signature.hex()):
        return [Problem(0, _NO_HEX)]
    if public_key is not None and statement["public_key"].lower() != public_key.lower():
        return [Problem(0, f"it is signed with another key: {statement['public_key']}")]
    if not is_signature_valid(key, message, signature):
        return [Problem(0, "the signature does not fit: the head was changed after it was signed")]
    return []


def find_chain_problems(links: Iterable[Link], head: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a chain that has to hold every entry up to its head, and no other."""
    last_sequence, previous_sequence = head["sequence"], 0
    hashes: dict[int, str] = {}
    for link in links:
        if link.sequence > last_sequence:
            yield Problem(link.sequence, "it is behind the signed head: it was added")
            continue
        if link.sequence <= previous_sequence:
            yield make_gap_problem(previous_sequence + 1, link.sequence)
        previous_sequence = max(previous_sequence, link.sequence)
        if link.text is not None and (problem := _describe_text_problem(link.text, link.text_hash)):
            yield Problem(link.sequence, problem)
        hashes.setdefault(link.sequence, link.text_hash)
    sequences = [0, *sorted(hashes), last_sequence + 1]
    gaps = [
        make_gap_problem(before + 1, after)
        for before, after in pairwise(sequences)
        if after > before + 1
    ]
    yield from gaps
    chain_hash = reduce(hash_link, (hashes[key] for key in sequences[1:-1]), GENESIS_HASH)
    if not gaps and chain_hash != head["chain_hash"]:
        text = "the chain up to here is not the one that was signed: this or an earlier entry"
        yield Problem(last_sequence, f"{text} was changed")


def _describe_text_problem(text: str, text_hash: str) -> str:
    """Return the problem of an entry's text; empty without one."""
    if hash_text(text) != text_hash:
        return "its text was changed"
    return "" if parse_object(text) is not None else NO_OBJECT


def find_tree_problems(links: Iterable[Link], head: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problem that the tree of all entries is not the one that was signed."""
    hashes = (link.text_hash for link in links)
    if "tree_hash" in head and compute_tree_hash(hashes) != head["tree_hash"]:
        yield Problem(0, "the tree of the entries is not the one that was signed")


def make_gap_problem(expected_sequence: int, actual_sequence: int) -> Problem:
    """Return the problem that ``actual_sequence`` is where ``expected_sequence`` has to be."""
    if actual_sequence < expected_sequence:
        return Problem(actual_sequence, "it is in the wrong place, or there twice")
    missing_range = (
        f"entry {expected_sequence} is"
        if actual_sequence == expected_sequence + 1
        else (f"entries {expected_sequence} to {actual_sequence - 1} are")
    )
    return Problem(expected_sequence, f"{missing_range} missing")


# Kept heads -------------------------------------------------------------------------------------


class UnreadableFile(Exception):
    """A file is no ledger file."""


def has_head(statement: dict[str, Any]) -> bool:
    """Tell whether a statement has a head that names an entry, its chain hash and a time."""
    head = statement.get("head")
    names = ("chain_hash", "signed_at")
    return (
        isinstance(head, dict)
        and type(head.get("sequence")) is int
        and all(isinstance(head.get(name), str) for name in names)
    )


def read_heads(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the kept heads of a file, and a problem for each other line, such as a torn one.

    Blank lines, which people leave between heads, are skipped. Raises UnreadableFile.
    """
    try:
        with open(path, "rb", opener=_open_without_wait) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    problem = Problem(0, f"{path}, line {number} is not a signed head")
                    yield _parse_head(line) or problem
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.") from error


def _open_without_wait(path: str, flags: int) -> int:
    """Open a file to read; a named pipe that nobody writes to is empty, and is not waited for.

    A pipe that a program has open for writing, such as a shell's ``<(...)``, is read to its end.
    """
    if not hasattr(os, "O_NONBLOCK"):  # Windows, whose named pipes are no files
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def list_heads(path: Path) -> list[dict[str, Any] | Problem]:
    """Return as ``read_heads``. Raises UnreadableFile, also where no line is a head."""
    lines = list(read_heads(path))
    if all(isinstance(line, Problem) for line in lines):
        raise UnreadableFile(f"{path} holds no signed head.")
    return lines


def _parse_head(line: bytes) -> dict[str, Any] | None:
    statement = parse_object(line)
    return statement if statement is not None and has_head(statement) else None


# Output -----------------------------------------------------------------------------------------


def write_lines(lines: Iterable[str]) -> None:
    """Print lines; characters that standard output cannot encode become escape sequences."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write("".join(f"{escape_line(line)}\n" for line in lines))


def escape_line(line: str) -> str:
    """Return a line in which no character moves the cursor or ends the line."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


# The command ------------------------------------------------------------------------------------


class LedgerFile(NamedTuple):
    """The first line of a ledger file, its entries, and the problems of its lines."""

    statement: dict[str, Any]
    links: list[Link]
    problems: list[Problem]


def read_file(path: Path) -> LedgerFile:
    """Read a ledger file. Raises UnreadableFile where its first line is no head."""
    try:
        with open(path, "rb", opener=_open_without_wait) as file:
            statement, head_problem = _read_head_line(path, file.readline())
            entries = [_read_entry_line(line, sequence) for sequence, line in enumerate(file, 1)]
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.") from error
    links = [link for link, _ in entries if link is not None]
    problems = [head_problem, *(problem for _, problem in entries)]
    return LedgerFile(statement, links, [problem for problem in problems if problem is not None])


def verify_file(
    file: LedgerFile, public_key: str | None, known_heads: Path | None
) -> list[Problem]:
    """Return the problems of a ledger file. Raises UnreadableFile.

    With ``known_heads``, a file of heads that were kept elsewhere, the chain has to contain each.
    """
    head = file.statement["head"]
    problems = [*file.problems, *find_head_problems(file.statement, public_key)]
    problems += find_chain_problems(file.links, head)
    if not problems:
        problems += find_tree_problems(file.links, head)
    if known_heads is not None:
        problems += _find_kept_problems(file.links, known_heads)
    return problems


def _find_kept_problems(links: list[Link], path: Path) -> Iterator[Problem]:
    """Yield the problems of kept heads, and of a chain that does not contain each of them.

    Each is compared with the key that it names: older ones have that of before a change of keys.
    """
    lines = list_heads(path)
    hashes = iter_chain_hashes(GENESIS_HASH, (link.text_hash for link in links))
    by_sequence = dict(zip((link.sequence for link in links), hashes, strict=True))
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        yield from find_head_problems(line)
        sequence = line["head"]["sequence"]
        if by_sequence.get(sequence) != line["head"]["chain_hash"]:
            yield Problem(0, f"the chain does not contain the head that was kept, entry {sequence}")


def describe_kept_heads(path: Path) -> list[str]:
    """Return a line for people about each key that signed kept heads."""
    heads = (line for line in read_heads(path) if not isinstance(line, Problem))
    counts = Counter(statement["public_key"] for statement in heads)
    return [
        f"It contains {count} kept head{'' if count == 1 else 's'} signed with the key {key}."
        for key, count in counts.items()
    ]


def _read_head_line(path: Path, line: bytes) -> tuple[dict[str, Any], Problem | None]:
    """Return the head, and the problem of the line. Raises UnreadableFile."""
    statement = parse_object(line)
    if statement is None:
        raise UnreadableFile(f"{path}, line 1: this is not a JSON object.")
    if statement.get("format") != FORMAT or not has_head(statement):
        raise UnreadableFile(f"{path} does not begin with a head of the format {FORMAT}.")
    is_as_written = _is_as_written(line, statement, _HEAD_NAMES)
    return statement, None if is_as_written else _make_line_problem(0)


def _read_entry_line(line: bytes, expected_sequence: int) -> tuple[Link | None, Problem | None]:
    """Return the entry of a line, and the problem of the line."""
    value = parse_object(line) or {}
    sequence, text, text_hash = (value.get(name) for name in ("sequence", "text", "text_hash"))
    if text_hash is None and isinstance(text, str):
        text_hash = hash_text(text)
    is_hash = isinstance(text_hash, str) and _HASH.fullmatch(text_hash)
    is_text = isinstance(text, str | None)
    if type(sequence) is not int or sequence < 1 or not is_hash or not is_text:
        text = f"line {expected_sequence + 1} is no entry: it was changed"
        return None, Problem(expected_sequence, text)
    is_as_written = _is_as_written(line, value, _ENTRY_NAMES)
    problem = None if is_as_written else _make_line_problem(expected_sequence)
    return Link(sequence, text, str(text_hash)), problem


def _is_as_written(line: bytes, value: dict[str, Any], names: Set[str]) -> bool:
    """Tell whether a line is the canonical JSON of its value, which has no other names.

    A program that reads one of two equal names would see another text than the verified one.
    """
    try:
        expected_line = encode_canonical(value).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return False
    return value.keys() <= names and line.removesuffix(b"\n") == expected_line


def _make_line_problem(sequence: int) -> Problem:
    return Problem(sequence, f"line {sequence + 1} is not as jpweb writes it: it was changed")


def main(argv: list[str] | None = None) -> int:
    """Verify a ledger file; print its problems and return the exit status."""
    parser = argparse.ArgumentParser(description="Verify a ledger file of jpweb.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--head", type=Path, help="heads that were kept elsewhere, one per line")
    parser.add_argument("--public-key", help="the key that has to have signed the file")
    options = parser.parse_args(argv)
    try:
        file = read_file(options.file)
        problems = verify_file(file, options.public_key, options.head)
    except UnreadableFile as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if problems:
        write_lines(map(str, problems))
        return 1
    head = file.statement["head"]
    text_count = sum(link.text is not None for link in file.links)
    lines = [
        f"The chain holds up to entry {head['sequence']}, signed {head['signed_at']} "
        f"with the key {file.statement['public_key']}.",
        f"{text_count} of {head['sequence']} entries have their text. "
        f"Hash only (hidden or purged): {head['sequence'] - text_count}.",
    ]
    write_lines(lines + (describe_kept_heads(options.head) if options.head else []))
    return 0


if __name__ == "__main__":
    sys.exit(main())
