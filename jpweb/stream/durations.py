"""The text of a duration, the same on pages and in exports."""

from __future__ import annotations


def format_duration(seconds: float | None) -> str:
    """Return a duration in its two largest units, "" for None."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004  seconds in a minute
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {remainder} s"
