"""JP's timestamps: UTC text without a zone, nine digits at most (docs/jp-format.md, Timestamps)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

#: The two forms that JP reads: its own, read loosely, and RFC 3339, read strictly.
_JP_FORM = re.compile(
    r"[ \t]*\+?(\d{4})-(\d{1,2})-(\d{1,2})[ \t]+(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d+))?", re.ASCII
)
_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII
)
#: The form that JP writes, and so of nearly every timestamp: it takes the fast path.
_CANONICAL_FORM = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}", re.ASCII)


def parse_timestamp(text: str) -> datetime | None:
    """Return the instant in UTC, to the microsecond, or None where JP would refuse the text."""
    instant = _parse_exact(text)
    return instant[0] if instant else None


def normalize_timestamp(text: str) -> str:
    """Return a spelling that two texts share when they mean the same nanosecond."""
    instant = _parse_exact(text)
    if instant is None:
        return text
    if _CANONICAL_FORM.fullmatch(text):
        return f"{text[:19]}.{instant[1]}"
    return f"{instant[0].replace(microsecond=0, tzinfo=None).isoformat(' ')}.{instant[1]}"


def format_timestamp(moment: datetime) -> str:
    """Return JP's written form: trailing zeros cut, at least one digit left."""
    fraction = f"{moment.microsecond:06d}".rstrip("0") or "0"
    second = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return f"{second.isoformat(' ')}.{fraction}"


def _parse_exact(text: str) -> tuple[datetime, str] | None:
    return _parse_cached(text) if len(text) <= _MAX_CACHED_CHARS else _parse_uncached(text)


def _parse_uncached(text: str) -> tuple[datetime, str] | None:
    if _CANONICAL_FORM.fullmatch(text):
        try:
            return datetime.fromisoformat(text[:26]).replace(tzinfo=UTC), text[20:].ljust(9, "0")
        except ValueError:
            pass  # a leap second or an invalid date: the slow path decides
    match = _JP_FORM.fullmatch(text) or _RFC_3339.fullmatch(text)
    if not match:
        return None
    *parts, fraction, zone = [*match.groups(), "Z"][:8]
    nanoseconds = (fraction or "").ljust(9, "0")[:9]
    year, month, day, hour, minute, second = (int(part) for part in parts)
    second = 59 if second == 60 else second  # noqa: PLR2004  a leap second
    try:
        moment = datetime(
            year, month, day, hour, minute, second, int(nanoseconds[:6]), tzinfo=_parse_zone(zone)
        )
        return moment.astimezone(UTC), nanoseconds
    except (ValueError, OverflowError):
        return None


#: Several readers parse an event's timestamp in turn. Texts above ``_MAX_CACHED_CHARS``
#: bypass the cache, so that a hostile file cannot fill the memory.
_parse_cached = lru_cache(maxsize=4096)(_parse_uncached)
_MAX_CACHED_CHARS = 40


def _parse_zone(text: str) -> timezone:
    if text in "Zz":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-offset if text[0] == "-" else offset)
