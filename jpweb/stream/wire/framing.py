"""The array around the elements: the text between them (docs/jp-format.md, File text).

A *framing* is that text as one string: ``""`` for the form in which JP writes, else compact
JSON ``[head, between, tail]`` with a fourth member ``{index: gap}`` where gaps differ.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec

from jpweb.stream.errors import MalformedStream

_SPLITTER = msgspec.json.Decoder(list[msgspec.Raw])
#: Numbers stay text: ``int`` refuses very long ones.
_LOOSE_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_BOM = b"\xef\xbb\xbf"
_GAP = re.compile(rb"[ \t\r\n]*[\[,][ \t\r\n]*")
#: Tokens that decide where an element ends: a string, a bracket, a comma, an unclosed quote.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},"]', re.DOTALL)
_DEPTH_CHANGE = {"[": 1, "{": 1, "]": -1, "}": -1}
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_INNERMOST = re.compile(rb"[\[{][^\[\]{}]*+[\]}]")
#: Nesting levels that ``_collapse_brackets`` removes from a chunk; JP reads no more.
_MAX_LEVELS = 127
#: Chunk size of ``has_more_elements``.
_CHUNK_BYTES = 1024 * 1024
_NON_MARK_BYTES = bytes(set(range(256)) - set(b"[]{},"))
_WHITESPACE = " \t\r\n"
_OPENING = re.compile(r"[ \t\r\n]*\[")


class _Framing(msgspec.Struct, array_like=True, frozen=True):
    """Head, usual gap, tail; ``odd`` holds the other gaps by the index of the preceding element."""

    head: str
    between: str
    tail: str
    odd: dict[int, str] = {}


_FRAMING_DECODER = msgspec.json.Decoder(_Framing)
_JP_FRAMING = _Framing("[\n  ", ",\n  ", "\n]\n")
_HEAD, _BETWEEN, _TAIL = (
    gap.encode() for gap in (_JP_FRAMING.head, _JP_FRAMING.between, _JP_FRAMING.tail)
)
_JP_EMPTY_FRAMING = _Framing("[", ",", "]\n")


def split_array(data: bytes) -> list[str]:
    """Return the text of each element of an ``events.json``. Raises MalformedStream.

    A byte order mark, which JP refuses, is skipped. An error inside one element (NaN, half a
    surrogate, a nesting deeper than JP reads) affects that element alone.
    """
    return _split_raw(data)[0]


def has_more_elements(data: bytes, limit: int) -> bool:
    """Tell whether an ``events.json`` has more than ``limit`` elements, without building them.

    It scans chunk by chunk, in constant memory. For a text that is not JSON the result is
    undefined.
    """
    if data.count(b",") < limit:
        return False
    depth, commas, string = 1, 0, b""
    for begin in range(data.find(b"[") + 1, len(data), _CHUNK_BYTES):
        outside = _STRING.sub(b"", string + data[begin : begin + _CHUNK_BYTES])
        outside, quote, inside = outside.partition(b'"')
        backslash_count = len(inside) - len(inside.rstrip(b"\\"))
        string = quote + b"\\" * (backslash_count % 2)
        for mark in _collapse_brackets(outside):
            depth += _DEPTH_CHANGE.get(chr(mark), 0)
            commas += mark == ord(",") and depth == 1
        if commas >= limit:
            return True
    return False


def split_with_framing(data: bytes) -> tuple[list[str], str]:
    """Return the texts, and the framing with which ``join_array`` gives back the same bytes.

    Raises MalformedStream.
    """
    texts, gaps = _split_raw(data, is_framed=True)
    if gaps is None:
        return texts, ""
    if len(gaps) == 1:
        edge = gaps[0].index("[") + 1
        framing = _Framing(gaps[0][:edge], ",", gaps[0][edge:])
    else:
        framing = _make_framing(gaps)
    default_framing = _JP_FRAMING if texts else _JP_EMPTY_FRAMING
    return texts, "" if framing == default_framing else msgspec.json.encode(framing).decode()


def join_array(texts: Sequence[str], framing: str = "") -> str:
    """Return the array: as JP writes it, or framed as ``split_with_framing`` found it.

    Further texts follow in the usual gap of the framing. Raises MalformedStream for a string that
    is no framing.
    """
    return join_array_part(texts, 0, len(texts), framing)


def join_array_part(texts: Sequence[str], start: int, total: int, framing: str = "") -> str:
    """Return the part of the array of ``total`` elements that begins with element ``start``.

    The parts of an array, one after the other, are what ``join_array`` returns for all texts.
    Raises MalformedStream for a string that is no framing.
    """
    frame = _read_framing(framing, total)
    gaps: Iterator[str] = (
        frame.odd.get(i, frame.between) for i in range(start - 1, start + len(texts) - 1)
    )
    if start == 0:
        gaps = chain([frame.head], islice(gaps, 1, None))
    end = frame.tail if start + len(texts) == total else ""
    if not texts:
        return frame.head + end if start == 0 else end
    return "".join(chain.from_iterable(zip(gaps, texts, strict=False))) + end


def _read_framing(framing: str, total: int) -> _Framing:
    if not framing:
        return _JP_FRAMING if total else _JP_EMPTY_FRAMING
    try:
        return _FRAMING_DECODER.decode(framing)
    except msgspec.DecodeError as error:
        raise MalformedStream(f"no framing: {error}") from error


def _collapse_brackets(outside: bytes) -> bytes:
    """Return the brackets and commas that are in no pair of brackets of this piece."""
    marks, removed_count = outside.translate(None, _NON_MARK_BYTES), 1
    for _ in range(_MAX_LEVELS):
        if removed_count:
            marks, removed_count = _INNERMOST.subn(b"", marks)
    return marks


def _make_framing(gaps: list[str]) -> _Framing:
    head, *inner_gaps, tail = gaps
    common_gaps = Counter(inner_gaps).most_common(1)
    between = common_gaps[0][0] if common_gaps else "," + head.partition("[")[2]
    odd_gaps = {i: gap for i, gap in enumerate(inner_gaps) if gap != between}
    return _Framing(head, between, tail, odd_gaps)


def _split_raw(data: bytes, *, is_framed: bool = False) -> tuple[list[str], list[str] | None]:
    """Return the texts and the gaps: one more than texts; none where they are JP's or unwanted."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        raw_items = _SPLITTER.decode(memoryview(data)[start:])
        texts = [str(raw_item, "utf-8") for raw_item in raw_items]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return _split_loosely(_decode_utf8(data), start, error)
    if not is_framed or _is_jp_framing(data, raw_items):
        return texts, None
    return texts, _read_gaps(data, start, raw_items)


def _is_jp_framing(data: bytes, raw_items: list[msgspec.Raw]) -> bool:
    """Tell whether every gap is the one that JP writes, as nearly always.

    After a longer gap ``offset`` stays before the end of each further element. No element ends
    with the first characters of a gap, and no gap is short enough for ``offset`` to catch up, so
    it never arrives at the tail.
    """
    if not data.startswith(_HEAD):
        return False
    offset, gap = len(_HEAD), len(_BETWEEN)
    for raw_item in raw_items:
        offset += len(raw_item)
        if not data.startswith(_BETWEEN, offset):
            return data[offset:] == _TAIL
        offset += gap
    return False


def _read_gaps(data: bytes, start: int, raw_items: list[msgspec.Raw]) -> list[str]:
    """Return the gaps; equal ones are interned, because there may be millions."""
    gap_by_bytes: dict[bytes, str] = {}
    gaps: list[str] = []
    offset = 0
    for raw_item in raw_items:
        edge = _GAP.match(data, offset or start)
        end = edge.end() if edge else offset  # always matches: msgspec has decoded this array
        gap = data[offset:end]
        gaps.append(gap_by_bytes.get(gap) or gap_by_bytes.setdefault(gap, gap.decode()))
        offset = end + len(raw_item)
    return [*gaps, data[offset:].decode()]


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedStream(f"not UTF-8 at byte {error.start}") from error


def _split_loosely(document: str, start: int, cause: Exception) -> tuple[list[str], list[str]]:
    """Split by brackets, strings and commas alone; nothing here recurses."""
    malformation = MalformedStream(
        "nested too deeply" if isinstance(cause, RecursionError) else str(cause)
    )
    texts: list[str] = []
    gaps: list[str] = []
    offset = 0  # the end of the previous element
    for begin, end in _find_pieces(document, 1 if start else 0, malformation):
        piece = document[begin:end]
        text = piece.strip(_WHITESPACE)
        _check_json(text, malformation)
        lead = len(piece) - len(piece.lstrip(_WHITESPACE))
        gaps.append(document[offset : begin + lead])
        texts.append(text)
        offset = begin + lead + len(text)
    return texts, [*gaps, document[offset:]]


def _find_pieces(document: str, start: int, malformation: MalformedStream) -> list[tuple[int, int]]:
    """Return the ranges of the pieces between the commas of the outer array."""
    pieces: list[tuple[int, int]] = []
    if not _OPENING.match(document, start):
        raise malformation
    depth = begin = 0
    for token in _TOKEN.finditer(document, start):
        mark, position = token[0], token.start()
        depth += _DEPTH_CHANGE.get(mark, 0)
        if mark == '"':
            break
        if not begin:
            begin = position + 1
        elif depth == 0 or (depth == 1 and mark == ","):
            pieces.append((begin, position))
            begin = position + 1
        if depth == 0:
            if mark == "]" and not document[begin:].strip(_WHITESPACE):
                return pieces
            break
    raise malformation


def _check_json(text: str, malformation: MalformedStream) -> None:
    """Raise the given error for a text that is not JSON, loosely; too deep a text passes."""
    try:
        _LOOSE_DECODER.decode(text)
    except RecursionError:
        return  # its brackets are balanced: it is kept as a BrokenEvent
    except ValueError as error:
        raise malformation from error
