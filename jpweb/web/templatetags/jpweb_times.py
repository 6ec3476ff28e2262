"""Tags and filters of times: timestamps, waiting times and durations."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.store import inquiries
from jpweb.store.database import clock
from jpweb.stream import durations
from jpweb.web import display_text

if TYPE_CHECKING:
    from jpweb.store.models import Approval
    from jpweb.store.models import Inquiry as Row

register = template.Library()


@register.simple_tag
def timestamp(at: datetime | None, link: str = "", exact: bool = False) -> SafeString:
    """Render a timestamp: relative within 30 days, otherwise by date and time."""
    return render_timestamp(at, link, "" if exact or at is None else display_text.format_age(at))


@lru_cache(maxsize=5000)
def render_timestamp(at: datetime | None, link: str, age_text: str) -> SafeString:
    html = render_to_string("_timestamp.html", {"at": at, "link": link, "ago": age_text})
    return SafeString(html.rstrip())  # the file's line break would show as a space before a period


@register.simple_tag
def waiting_time(row: Row | Approval) -> SafeString:
    """Render a row's waiting time and its expiry, which the page's script keeps current."""
    expires_at = getattr(row, "expires_at", None)  # an approval does not expire
    remaining_seconds = (expires_at - clock.now()).total_seconds() if expires_at else None
    context = {
        "row": row,
        "waiting_seconds": seconds_since(row.asked_at),
        "remaining_seconds": None if remaining_seconds is None else max(int(remaining_seconds), 0),
    }
    return render_to_string("questions/_waiting_time.html", context)


@register.filter
def seconds_since(at: datetime) -> int:
    return max(int((clock.now() - at).total_seconds()), 0)


@register.filter
def iso_time(at: datetime) -> str:
    """Return an instant in UTC and ISO 8601."""
    return at.astimezone(UTC).isoformat()


@register.filter
def utc_seconds(at: datetime) -> str:
    """Return an instant as date and time, in UTC."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


@register.filter
def elapsed_time(seconds: int) -> str:
    """Return the text of a growing duration."""
    return display_text.format_elapsed(seconds)


@register.filter
def delay_label(seconds: int) -> str:
    """Return the text of the delay of a notification."""
    return display_text.describe_delay(seconds)


@register.filter
def time_after_asking(at: datetime | None, row: Row) -> str:
    """Return the time from a question's asking to an instant."""
    return durations.format_duration(max((at - row.asked_at).total_seconds(), 0)) if at else ""


@register.filter
def waited_duration(row: Row) -> str:
    """Return how long a question waited, in words."""
    return durations.format_duration(inquiries.get_waiting_seconds(row))
