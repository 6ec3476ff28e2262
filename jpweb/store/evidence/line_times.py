"""Times in the lines of an evidence bundle."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(moment: datetime | None) -> str | None:
    """Return a time in UTC as ISO 8601; None for None."""
    return moment.astimezone(UTC).isoformat() if moment else None
