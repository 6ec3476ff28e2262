"""Settings that are numbers, each within bounds."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from jpweb.text_settings import read_text

#: Upper bounds of settings that are times: a longer one overflows dates, PostgreSQL's timeouts
#: (32 bits of milliseconds) or those of browsers.
MAX_SECONDS, MAX_HOURS, MAX_DAYS = 1_000_000, 876_000, 36_500
MAX_PORT = 65_535


def read_number(
    name: str, default: float, minimum: float, maximum: float, *, earlier_name: str = ""
) -> float:
    """Return a number from the environment. Raises ImproperlyConfigured with one line.

    The variable's name in earlier versions counts where the variable is unset or empty.
    """
    text = read_text(name)
    if earlier_name and not text:
        text = read_text(earlier_name)
        name = earlier_name if text else name
    try:
        number = float(text) if text else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not “{text}”.") from None
    if not minimum <= number <= maximum:  # also for NaN
        raise ImproperlyConfigured(
            f"{name} must be a number from {minimum:,} to {maximum:,}, not “{text}”."
        )
    return number
