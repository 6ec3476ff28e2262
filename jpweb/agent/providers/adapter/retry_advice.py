"""Reads how long a vendor asks to wait before a retry (docs/jp-format.md, Retries)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: A duration of OpenAI's headers: ``6m0s``, ``200ms``.
_DURATION = re.compile(rf"(?:{_NUMBER}(?:ms|[smhd]))+", re.ASCII)
_DURATION_PART = re.compile(rf"({_NUMBER})(ms|[smhd])", re.ASCII)
#: Seconds of the field ``RateLimit`` (IETF draft): ``"default";r=0;t=50``.
_RATE_LIMIT = re.compile(rf";\s*t=({_NUMBER})", re.ASCII)
_DELAY_TEXT = re.compile(
    r"\b(?:retry after|wait|try again in)\s+(?P<duration>[0-9][0-9a-z.]*)(?P<minutes>\s+minute)?"
    rf"|[\"']retryDelay[\"']\s*:\s*[\"'](?P<delay>{_NUMBER}s)",
    re.ASCII | re.IGNORECASE,
)
#: A Unix time above this is in milliseconds (OpenRouter).
_MAX_UNIX_SECONDS = 10**11
#: Anthropic's errors inside a stream for which JP waits a time of its own, and that time.
_ANTHROPIC_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error"})
_ANTHROPIC_SECONDS = 3.0


def read_retry_advice(error: Exception, provider: str) -> float | None:
    """Return the seconds to wait before a retry, None where the vendor gives no advice.

    The library reads ``retry-after-ms``, and whole seconds and dates of ``Retry-After``.
    """
    if not isinstance(error, ModelAPIError):
        return None
    if error.retry_after is not None:
        return _check_seconds(error.retry_after)
    if not error.in_stream:
        return _read_headers((isinstance(error, ModelHTTPError) and error.headers) or {})
    seconds = _read_text(f"{error.message} {error.body}")
    if seconds is None and provider == "anthropic":
        return _ANTHROPIC_SECONDS if error.provider_error_type in _ANTHROPIC_TYPES else None
    return seconds


def _read_headers(headers: Mapping[str, str]) -> float | None:
    rate_limit = _RATE_LIMIT.search(headers.get("ratelimit", ""))
    resets = [
        seconds
        for kind in ("requests", "tokens")
        if (seconds := _read_duration(headers.get(f"x-ratelimit-reset-{kind}", ""))) is not None
    ]
    readings = (
        _read_number(headers.get("retry-after", "")),
        _read_number(rate_limit[1]) if rate_limit else None,
        max(resets, default=None),
        _read_reset_time(headers.get("x-ratelimit-reset", ""), headers.get("date", "")),
    )
    return next((seconds for seconds in readings if seconds is not None), None)


def _read_text(text: str) -> float | None:
    advice = _DELAY_TEXT.search(text)
    if advice is None:
        return None
    duration = (advice["duration"] or advice["delay"]).lower().rstrip(".")
    seconds = _read_duration(duration)
    return seconds * 60 if seconds is not None and advice["minutes"] else seconds


def _read_duration(text: str) -> float | None:
    """Return the whole seconds of a duration, rounded up; a bare number is in seconds."""
    if not _DURATION.fullmatch(text):
        seconds = _read_number(text)
    else:
        parts = _DURATION_PART.findall(text)
        seconds = _check_seconds(
            sum(float(number) * _UNIT_MS[unit] for number, unit in parts) / 1000
        )
    return None if seconds is None else float(math.ceil(seconds))


def _read_reset_time(reset: str, sent_at: str) -> float | None:
    """Return the seconds from the response's own date to a Unix time, None where it is over."""
    until = _read_number(reset)
    if until is None:
        return None
    try:
        sent_seconds = parsedate_to_datetime(sent_at).timestamp()
    except (ValueError, OverflowError):
        return None
    return _check_seconds((until / 1000 if until > _MAX_UNIX_SECONDS else until) - sent_seconds)


def _read_number(text: str) -> float | None:
    try:
        return _check_seconds(float(text))
    except ValueError:
        return None


def _check_seconds(seconds: float) -> float | None:
    """Return the seconds, None where they are infinite, negative or not a number."""
    return seconds if 0 <= seconds < math.inf else None
