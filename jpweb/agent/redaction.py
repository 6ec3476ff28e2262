"""Takes secrets out of everything that a tool says, before it is recorded, sent, logged or shown.

A secret is found as it is and as programs commonly repeat it: escaped within JSON (also within
JSON in JSON), as Python writes it, for a URL, for HTML, in hexadecimal, backwards, and the whole
of it in base64 or base32. One of eight characters or more is found as well where it is split over
neighbouring fields. It is **not** found where it is shorter than four characters, in pieces
otherwise, inside something longer that is encoded, or transformed in any other way (hashed, in
capitals, spaced out). Redact before a text is cut: a cut may leave a piece.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "[redacted]"
#: Shorter ones would take ordinary words and numbers out of what a tool says.
_SHORTEST_HIDDEN = 4
#: Shorter ones would be found by chance where fields such as numbered options meet.
_SHORTEST_SPLIT = 8
#: How often JSON within JSON escapes a secret anew.
_JSON_LEVELS = 3


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret on its way to a tool, marked so that nobody takes it for an ordinary answer."""

    value: str = field(repr=False)


def without(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return the text with each secret in it replaced."""
    return _replaced(_forms(secrets), text)


def redacted(secrets: Iterable[SecretAnswer], value: Any) -> Any:
    """Return a JSON value with each secret in it replaced, in all strings, keys and numbers."""
    forms = _forms(secrets)
    if not forms:
        return value
    texts = [_replaced(forms, text) for text in _texts(value)]
    return _rebuilt(value, forms, iter(_unsplit(forms, texts)))


def after_cut(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return a text whose beginning is lost, without what may be the rest of a secret there."""
    secrets = tuple(secrets)
    as_is = max((_rest(each.value, text) for each in secrets if _is_hidden(each)), default=0)
    encoded = max((_rest(form, text) for form in _forms(secrets)), default=0)
    # A digit or two that begin a text are in some form of any secret.
    rest = max(as_is, encoded if encoded >= _SHORTEST_HIDDEN else 0)
    return f"{HIDDEN}{text[rest:]}" if rest else text


def _is_hidden(secret: SecretAnswer) -> bool:
    return len(secret.value) >= _SHORTEST_HIDDEN


def _rest(form: str, text: str) -> int:
    """Return how many characters at the text's beginning may be a piece of the form."""
    if text in form:
        return len(text)
    first = text[0]
    starts = (start for start in range(1, len(form)) if form[start] == first)
    return next((len(form) - start for start in starts if text.startswith(form[start:])), 0)


def _replaced(forms: Sequence[str], text: str) -> str:
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value in order, and its numbers as JSON; keys are left out."""
    match value:
        case str():
            yield value
        case bool() | None:
            pass
        case int() | float():
            yield json.dumps(value)
        case dict():
            for item in value.values():
                yield from _texts(item)
        case _:
            for item in value:
                yield from _texts(item)


def _rebuilt(value: Any, forms: Sequence[str], texts: Iterator[str]) -> Any:
    """Return the value with these texts, in the order of ``_texts``; keys are redacted here."""
    match value:
        case str():
            return next(texts)
        case bool() | None:
            return value
        case int() | float():
            text = next(texts)
            return value if text == json.dumps(value) else text
        case dict():
            return {_replaced(forms, k): _rebuilt(v, forms, texts) for k, v in value.items()}
        case _:
            return [_rebuilt(item, forms, texts) for item in value]


def _unsplit(forms: Sequence[str], texts: list[str]) -> list[str]:
    """Return the texts without the secrets that begin in one of them and end in a later one."""
    if len(texts) < 2:  # noqa: PLR2004  nothing to be split over
        return texts
    joined = "".join(texts)
    found = [
        (start, start + len(form))
        for form in forms
        if len(form) >= _SHORTEST_SPLIT
        for start in _places(form, joined)
    ]
    cleaned, begin = [], 0
    for text in texts:
        cleaned.append(_cut_out(text, [(s - begin, e - begin) for s, e in found]))
        begin += len(text)
    return cleaned


def _places(form: str, text: str) -> Iterator[int]:
    place = text.find(form)
    while place >= 0:
        yield place
        place = text.find(form, place + 1)


def _cut_out(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return the text with each of these ranges replaced, as far as it lies in the text."""
    inside = sorted((max(s, 0), min(e, len(text))) for s, e in ranges if s < len(text) and e > 0)
    made, end = [], 0
    for start, stop in inside:
        if start >= end:
            made += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*made, text[end:]])


def _forms(secrets: Iterable[SecretAnswer]) -> list[str]:
    """Return the texts to look for, the longest first."""
    plain = {secret.value for secret in secrets if _is_hidden(secret)}
    written = plain | {form for value in plain for form in _written(value)}
    # The tools' own protocol is JSON, so that whatever they write may be escaped once more.
    found = written | {form for text in written for form in _in_json(text, 1)}
    return sorted(found, key=len, reverse=True)


def _written(value: str) -> Iterator[str]:
    """Yield how programs repeat a value."""
    for text in (value, value[::-1]):
        yield text
        yield from _in_json(text, _JSON_LEVELS)
        yield repr(text)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield html.escape(value).replace("&#x27;", "&#39;")
    yield "".join(f"&#{ord(char)};" for char in value)
    yield from _either_case("".join(f"&#x{ord(char):x};" for char in value), "&#x")
    whole = value.encode("utf-8", "surrogatepass")
    for quoted in (quote(whole), quote(whole, safe=""), quote_plus(whole)):
        yield quoted
        yield re.sub("%..", lambda found: found[0].lower(), quoted)
    yield from _in_digits(value, whole)
    for data in (whole, whole + b"\n"):  # as echo and here-documents end it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(data).decode().rstrip("=")
        yield from _either_case(base64.b32encode(data).decode().rstrip("="))


def _in_json(text: str, levels: int) -> Iterator[str]:
    for only_ascii in (True, False):
        written = text
        for _ in range(levels):
            written = json.dumps(written, ensure_ascii=only_ascii)[1:-1]
            yield written


def _in_digits(value: str, whole: bytes) -> Iterator[str]:
    """Yield the value with every byte, or every character, as hexadecimal digits."""
    for mark in ("", " ", ":", "-"):
        yield from _either_case(whole.hex(mark) if mark else whole.hex())
    for mark in ("%", r"\x"):
        yield from _either_case("".join(f"{mark}{byte:02x}" for byte in whole), mark)
    units = value.encode("utf-16-be", "surrogatepass").hex()
    fours = [units[start : start + 4] for start in range(0, len(units), 4)]
    yield from _either_case("".join(rf"\u{four}" for four in fours), r"\u")


def _either_case(text: str, mark: str = "") -> Iterator[str]:
    """Yield the text in small letters and in capitals; the mark stays as it is."""
    small = text.lower()
    capitals = small.upper()
    yield small
    yield capitals.replace(mark.upper(), mark) if mark else capitals
