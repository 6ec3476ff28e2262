"""JP's timestamps: UTC text without a zone, nine digits at most (jp-storage-format, section 7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_ACCEPTED = re.compile(
    r"[ \t]*\+?(?P<y>\d{4})-(?P<mo>\d{1,2})-(?P<d>\d{1,2})(?P<sep>[ \t]+|[Tt])"
    r"(?P<h>\d{1,2}):(?P<mi>\d{1,2}):(?P<s>\d{1,2})(?:\.(?P<f>\d+))?"
    r"(?P<zone>[Zz]|[+-]\d{2}:\d{2})?",
    re.ASCII,
)


def parse(text: str) -> datetime | None:
    """Return the instant in UTC, to the microsecond, or None where JP would refuse the text."""
    exact = _exact(text)
    return exact[0] if exact else None


def instant(text: str) -> str:
    """Return a spelling that two texts share when they mean the same nanosecond."""
    exact = _exact(text)
    return f"{exact[0].replace(microsecond=0).isoformat()}.{exact[1]}" if exact else text


def written(moment: datetime) -> str:
    """Return JP's written form: trailing zeros cut, at least one digit left."""
    fraction = f"{moment.microsecond:06d}".rstrip("0") or "0"
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}.{fraction}"


def _exact(text: str) -> tuple[datetime, str] | None:
    found = _ACCEPTED.fullmatch(text)
    if not found or (found["sep"] in "Tt" and not found["zone"]):
        return None
    if found["zone"] and len(found["sep"]) > 1:
        return None
    nanoseconds = (found["f"] or "").ljust(9, "0")[:9]
    second = int(found["s"])
    try:
        moment = datetime(
            *(int(found[part]) for part in ("y", "mo", "d", "h", "mi")),
            min(second, 59) if second == 60 else second,  # noqa: PLR2004  a leap second
            int(nanoseconds[:6]),
            tzinfo=_zone(found["zone"]),
        )
        return moment.astimezone(UTC), nanoseconds
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-offset if text[0] == "-" else offset)
