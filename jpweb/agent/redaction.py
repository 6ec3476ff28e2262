"""Redacts secrets in the output of tools, before it is recorded, sent, logged or shown.

A secret is found as it is and as programs commonly repeat it: escaped within JSON (also within
JSON in JSON), as Python writes it, for a URL, for HTML, in hexadecimal, backwards, and the
whole of it in base64 or base32. One of eight characters or more is found as well where it is
split over neighbouring fields. It is **not** found where it is shorter than four characters, in
pieces otherwise, inside a longer encoded text, or transformed in any other way (hashed, in
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

REDACTED_TEXT = "[redacted]"
#: Shorter secrets are not redacted: they would match ordinary words and numbers.
_MIN_SECRET_CHARS = 4
#: Shorter forms are not searched across fields: numbered options would match by chance.
_MIN_SPLIT_CHARS = 8
#: Shorter secrets are redacted in the output of their own call alone: among the files that other
#: calls read, they would match words, and a model would write the replacement into them.
_MIN_RUN_SECRET_CHARS = 8
#: Nesting of JSON within JSON up to which escaped secrets are found.
_JSON_LEVELS = 3


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret on its way to a tool, marked to tell it from an ordinary answer."""

    value: str = field(repr=False)


def is_run_secret(secret: SecretAnswer) -> bool:
    """Tell whether a secret is long enough to redact it in the output of other calls too."""
    return len(secret.value) >= _MIN_RUN_SECRET_CHARS


def redact_text(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return the text with each secret in it replaced."""
    return _replace_forms(_list_secret_forms(secrets), text)


def redact_value(secrets: Iterable[SecretAnswer], value: Any) -> Any:
    """Return a JSON value with each secret in it replaced, in all strings, keys and numbers."""
    forms = _list_secret_forms(secrets)
    if not forms:
        return value
    texts = [_replace_forms(forms, text) for text in _iter_texts(value)]
    return _rebuild_value(value, forms, iter(_redact_split(forms, texts)))


def redact_cut_start(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return a text whose beginning was cut off, without the remainder of a secret there."""
    secrets = tuple(secrets)
    as_is = max(
        (
            _compute_remainder_length(secret.value, text)
            for secret in secrets
            if _is_redactable(secret)
        ),
        default=0,
    )
    encoded_length = max(
        (_compute_remainder_length(form, text) for form in _list_secret_forms(secrets)), default=0
    )
    # One or two leading digits match some encoded form of any secret by chance.
    remainder = max(as_is, encoded_length if encoded_length >= _MIN_SECRET_CHARS else 0)
    return f"{REDACTED_TEXT}{text[remainder:]}" if remainder else text


def _is_redactable(secret: SecretAnswer) -> bool:
    return len(secret.value) >= _MIN_SECRET_CHARS


def _compute_remainder_length(form: str, text: str) -> int:
    """Return how many characters at the text's beginning may be a piece of the form."""
    if text in form:
        return len(text)
    first_char = text[0]
    starts = (start for start in range(1, len(form)) if form[start] == first_char)
    return next((len(form) - start for start in starts if text.startswith(form[start:])), 0)


def _replace_forms(forms: Sequence[str], text: str) -> str:
    for form in forms:
        text = text.replace(form, REDACTED_TEXT)
    return text


def _iter_texts(value: Any) -> Iterator[str]:
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
                yield from _iter_texts(item)
        case _:
            for item in value:
                yield from _iter_texts(item)


def _rebuild_value(value: Any, forms: Sequence[str], texts: Iterator[str]) -> Any:
    """Return the value with these texts, in ``_iter_texts`` order; keys are redacted here."""
    match value:
        case str():
            return next(texts)
        case bool() | None:
            return value
        case int() | float():
            text = next(texts)
            return value if text == json.dumps(value) else text
        case dict():
            return {
                _replace_forms(forms, k): _rebuild_value(v, forms, texts) for k, v in value.items()
            }
        case _:
            return [_rebuild_value(item, forms, texts) for item in value]


def _redact_split(forms: Sequence[str], texts: list[str]) -> list[str]:
    """Return the texts without the secrets that begin in one of them and end in a later one."""
    if len(texts) < 2:  # noqa: PLR2004  nothing to be split over
        return texts
    joined_text = "".join(texts)
    spans = [
        (start, start + len(form))
        for form in forms
        if len(form) >= _MIN_SPLIT_CHARS
        for start in _find_offsets(form, joined_text)
    ]
    cleaned_texts, begin = [], 0
    for text in texts:
        cleaned_texts.append(_redact_ranges(text, [(s - begin, e - begin) for s, e in spans]))
        begin += len(text)
    return cleaned_texts


def _find_offsets(form: str, text: str) -> Iterator[int]:
    offset = text.find(form)
    while offset >= 0:
        yield offset
        offset = text.find(form, offset + 1)


def _redact_ranges(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return the text with each of these ranges replaced, as far as it lies in the text."""
    clipped_ranges = sorted(
        (max(s, 0), min(e, len(text))) for s, e in ranges if s < len(text) and e > 0
    )
    pieces, end = [], 0
    for start, stop in clipped_ranges:
        if start >= end:
            pieces += [text[end:start], REDACTED_TEXT]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _list_secret_forms(secrets: Iterable[SecretAnswer]) -> list[str]:
    """Return the texts to search for, the longest first."""
    secret_values = {secret.value for secret in secrets if _is_redactable(secret)}
    spellings = secret_values | {
        form for value in secret_values for form in _list_value_forms(value)
    }
    # A tool writes its outcome as JSON, so each form may be escaped once more.
    all_forms = spellings | {form for text in spellings for form in _list_json_forms(text, 1)}
    return sorted(all_forms, key=len, reverse=True)


def _list_value_forms(value: str) -> Iterator[str]:
    """Yield the spellings in which programs repeat a value."""
    for text in (value, value[::-1]):
        yield text
        yield from _list_json_forms(text, _JSON_LEVELS)
        yield repr(text)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield html.escape(value).replace("&#x27;", "&#39;")
    yield "".join(f"&#{ord(char)};" for char in value)
    yield from _list_case_forms("".join(f"&#x{ord(char):x};" for char in value), "&#x")
    value_bytes = value.encode("utf-8", "surrogatepass")
    for quoted_value in (quote(value_bytes), quote(value_bytes, safe=""), quote_plus(value_bytes)):
        yield quoted_value
        yield re.sub("%..", lambda match: match[0].lower(), quoted_value)
    yield from _list_hex_forms(value, value_bytes)
    for data in (value_bytes, value_bytes + b"\n"):  # echo and here-documents append a line feed
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(data).decode().rstrip("=")
        yield from _list_case_forms(base64.b32encode(data).decode().rstrip("="))


def _list_json_forms(text: str, levels: int) -> Iterator[str]:
    for only_ascii in (True, False):
        escaped_text = text
        for _ in range(levels):
            escaped_text = json.dumps(escaped_text, ensure_ascii=only_ascii)[1:-1]
            yield escaped_text


def _list_hex_forms(value: str, value_bytes: bytes) -> Iterator[str]:
    """Yield the value with every byte, or every character, as hexadecimal digits."""
    for mark in ("", " ", ":", "-"):
        yield from _list_case_forms(value_bytes.hex(mark) if mark else value_bytes.hex())
    for mark in ("%", r"\x"):
        yield from _list_case_forms("".join(f"{mark}{byte:02x}" for byte in value_bytes), mark)
    units = value.encode("utf-16-be", "surrogatepass").hex()
    code_units = [units[start : start + 4] for start in range(0, len(units), 4)]
    yield from _list_case_forms("".join(rf"\u{code_unit}" for code_unit in code_units), r"\u")


def _list_case_forms(text: str, mark: str = "") -> Iterator[str]:
    """Yield the text in lower and in upper case; the mark stays unchanged."""
    lowercase_text = text.lower()
    capitals = lowercase_text.upper()
    yield lowercase_text
    yield capitals.replace(mark.upper(), mark) if mark else capitals
