"""The array around the elements: what stands between their texts (jp-storage-format, section 6).

A *framing* is that, as one string: ``""`` for the form in which JP writes, else compact JSON
``[head, between, tail]`` with a fourth member ``{index: gap}`` where gaps differ.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec

from jpweb.stream.errors import NotAStream

_SPLITTER = msgspec.json.Decoder(list[msgspec.Raw])
#: Numbers stay text, so that no length of theirs is too long.
_LOOSE = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_BOM = b"\xef\xbb\xbf"
_GAP = re.compile(rb"[ \t\r\n]*[\[,][ \t\r\n]*")
#: What decides where an element ends: a whole string, a bracket, a comma, half a string.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},"]', re.DOTALL)
_DEEPER = {"[": 1, "{": 1, "]": -1, "}": -1}
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_INNERMOST = re.compile(rb"[\[{][^\[\]{}]*+[\]}]")
#: Levels of an element that are taken away at one go; JP reads no more.
_MAX_LEVELS = 127
#: Bytes that elements are counted in at one go.
_PIECE = 1024 * 1024
_NO_MARKS = bytes(set(range(256)) - set(b"[]{},"))
_SPACE = " \t\r\n"
_OPENING = re.compile(r"[ \t\r\n]*\[")


class _Framing(msgspec.Struct, array_like=True, frozen=True):
    """Head, the usual gap, tail; ``odd`` holds the other gaps, by the index of what they follow."""

    head: str
    between: str
    tail: str
    odd: dict[int, str] = {}


_FRAMING = msgspec.json.Decoder(_Framing)
_JPS = _Framing("[\n  ", ",\n  ", "\n]\n")
_HEAD, _BETWEEN, _TAIL = (gap.encode() for gap in (_JPS.head, _JPS.between, _JPS.tail))
_JPS_EMPTY = _Framing("[", ",", "]\n")


def split(data: bytes) -> list[str]:
    """Return the text of each element of an ``events.json``. Raises NotAStream.

    A byte order mark, which JP refuses, is passed over. What only breaks a rule inside an element
    (NaN, half a surrogate, a nesting that nobody reads) costs that element alone.
    """
    return _split(data)[0]


def has_more(data: bytes, limit: int) -> bool:
    """Tell whether an ``events.json`` has more than ``limit`` elements, before any is made.

    It looks at a piece at a time, so it needs no memory. Of what is no JSON it may tell anything.
    """
    if data.count(b",") < limit:
        return False
    depth, commas, string = 1, 0, b""
    for begin in range(data.find(b"[") + 1, len(data), _PIECE):
        outside = _STRING.sub(b"", string + data[begin : begin + _PIECE])
        outside, quote, inside = outside.partition(b'"')
        escaped = len(inside) - len(inside.rstrip(b"\\"))
        string = quote + b"\\" * (escaped % 2)
        for mark in _collapsed(outside):
            depth += _DEEPER.get(chr(mark), 0)
            commas += mark == ord(",") and depth == 1
        if commas >= limit:
            return True
    return False


def split_framed(data: bytes) -> tuple[list[str], str]:
    """Return the texts, and the framing with which ``join`` gives back the same bytes.

    Raises NotAStream.
    """
    texts, gaps = _split(data, framed=True)
    if gaps is None:
        return texts, ""
    if len(gaps) == 1:
        edge = gaps[0].index("[") + 1
        framing = _Framing(gaps[0][:edge], ",", gaps[0][edge:])
    else:
        framing = _framing(gaps)
    jps = _JPS if texts else _JPS_EMPTY
    return texts, "" if framing == jps else msgspec.json.encode(framing).decode()


def join(texts: Sequence[str], framing: str = "") -> str:
    """Return the array: as JP writes it, or framed as ``split_framed`` found it.

    Further texts follow in the usual gap of the framing. Raises NotAStream for a string that is no
    framing.
    """
    return join_part(texts, 0, len(texts), framing)


def join_part(texts: Sequence[str], start: int, total: int, framing: str = "") -> str:
    """Return the part of the array of ``total`` elements that begins with element ``start``.

    The parts of an array, one after the other, are what ``join`` returns for all texts. Raises
    NotAStream for a string that is no framing.
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
        return _JPS if total else _JPS_EMPTY
    try:
        return _FRAMING.decode(framing)
    except msgspec.DecodeError as error:
        raise NotAStream(f"no framing: {error}") from error


def _collapsed(outside: bytes) -> bytes:
    """Return the brackets and commas that are in no pair of brackets of this piece."""
    marks, removed = outside.translate(None, _NO_MARKS), 1
    for _ in range(_MAX_LEVELS):
        if removed:
            marks, removed = _INNERMOST.subn(b"", marks)
    return marks


def _framing(gaps: list[str]) -> _Framing:
    head, *inner, tail = gaps
    counted = Counter(inner).most_common(1)
    between = counted[0][0] if counted else "," + head.partition("[")[2]
    odd = {i: gap for i, gap in enumerate(inner) if gap != between}
    return _Framing(head, between, tail, odd)


def _split(data: bytes, *, framed: bool = False) -> tuple[list[str], list[str] | None]:
    """Return the texts and the gaps: one more than texts; none where they are JP's or unwanted."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        raws = _SPLITTER.decode(memoryview(data)[start:])
        texts = [str(raw, "utf-8") for raw in raws]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return _split_loosely(_decoded(data), start, error)
    if not framed or _is_jps(data, raws):
        return texts, None
    return texts, _gaps(data, start, raws)


def _is_jps(data: bytes, raws: list[msgspec.Raw]) -> bool:
    """Tell whether every gap is the one that JP writes, as nearly always.

    After a longer one ``at`` stays behind the ends of all elements: none ends with what a gap
    begins with, and no gap is short enough to catch up. So it never comes to the tail.
    """
    if not data.startswith(_HEAD):
        return False
    at, gap = len(_HEAD), len(_BETWEEN)
    for raw in raws:
        at += len(raw)
        if not data.startswith(_BETWEEN, at):
            return data[at:] == _TAIL
        at += gap
    return False


def _gaps(data: bytes, start: int, raws: list[msgspec.Raw]) -> list[str]:
    """Return the gaps; those that are equal are one object, for there may be millions."""
    known: dict[bytes, str] = {}
    gaps: list[str] = []
    at = 0
    for raw in raws:
        edge = _GAP.match(data, at or start)
        end = edge.end() if edge else at  # there is one: the codec has read this array
        gap = data[at:end]
        gaps.append(known.get(gap) or known.setdefault(gap, gap.decode()))
        at = end + len(raw)
    return [*gaps, data[at:].decode()]


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotAStream(f"not UTF-8 at byte {error.start}") from error


def _split_loosely(whole: str, start: int, cause: Exception) -> tuple[list[str], list[str]]:
    """Split by brackets, strings and commas alone; nothing here recurses."""
    problem = NotAStream("nested too deeply" if isinstance(cause, RecursionError) else str(cause))
    texts: list[str] = []
    gaps: list[str] = []
    at = 0  # the end of the last element
    for begin, end in _pieces(whole, 1 if start else 0, problem):
        piece = whole[begin:end]
        text = piece.strip(_SPACE)
        _check(text, problem)
        lead = len(piece) - len(piece.lstrip(_SPACE))
        gaps.append(whole[at : begin + lead])
        texts.append(text)
        at = begin + lead + len(text)
    return texts, [*gaps, whole[at:]]


def _pieces(whole: str, start: int, problem: NotAStream) -> list[tuple[int, int]]:
    """Return where the pieces between the commas of the outer array stand."""
    pieces: list[tuple[int, int]] = []
    if not _OPENING.match(whole, start):
        raise problem
    depth = begin = 0
    for token in _TOKEN.finditer(whole, start):
        mark, here = token[0], token.start()
        depth += _DEEPER.get(mark, 0)
        if mark == '"':
            break
        if not begin:
            begin = here + 1
        elif depth == 0 or (depth == 1 and mark == ","):
            pieces.append((begin, here))
            begin = here + 1
        if depth == 0:
            if mark == "]" and not whole[begin:].strip(_SPACE):
                return pieces
            break
    raise problem


def _check(text: str, problem: NotAStream) -> None:
    """Raise the problem for a text that is not JSON, loosely; too deep a one passes."""
    try:
        _LOOSE.decode(text)
    except RecursionError:
        return  # its own brackets close: it is broken, and kept
    except ValueError as error:
        raise problem from error
