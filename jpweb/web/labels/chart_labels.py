"""Labels of the audit's charts."""

from __future__ import annotations

from datetime import date

from jpweb.store.reviews.inquiry_counts import Period
from jpweb.web import display_text

#: Headings of the first column of each table.
PERIOD_HEADING, TOOL_HEADING, WORKSPACE_HEADING = "Days (UTC)", "Tool", "Workspace"
HOUR_HEADING, PERSON_HEADING = "Hour of the question (UTC)", "Person"
DECIDER_HEADING = "Type of decider"
AGE_HEADING, COUNT_HEADINGS = "Age", ("Waiting questions", "Waiting approvals")
ANSWER_HEADINGS = ("Answered", "Median until answered (s)", "95th percentile (s)")
VIEW_HEADINGS = ("Seen", "Median until seen (s)", "95th percentile (s)")
ANSWER_SERIES = ("Answered: median", "Answered: 95th percentile")
VIEW_SERIES = ("Seen: median", "Seen: 95th percentile")
OTHER_TOOLS, OTHER_REASONS, OTHER_PEOPLE = "Other tools", "Other reasons", "Other people"
UNKNOWN_DECIDER = "Unknown"
#: Ages of open questions and approvals, in the order of ``AGE_BOUNDS_SECONDS``.
AGE_LABELS = ("Under 1 minute", "Under 1 hour", "Under 1 day", "Under 1 week", "1 week and older")


def describe_period(period: Period) -> str:
    """Return the days of a period."""
    if period.first_day == period.last_day:
        return display_text.format_day(period.first_day)
    first_text, last_text = map(display_text.format_day, (period.first_day, period.last_day))
    return f"{first_text} to {last_text}"


def shorten_period(period: Period) -> str:
    """Return the label of a period at an axis."""
    first_day = period.first_day
    match period.unit:
        case "year":
            return str(first_day.year)
        case "month":
            return f"{first_day:%b} {first_day.year}"
        case _:
            return f"{first_day.day} {first_day:%b}"


def count_earlier(count: int, first_day: date) -> str:
    """Return how many questions come before the first day of a chart."""
    return f"{_count_questions(count)} before {display_text.format_day(first_day)}"


def count_later(count: int, last_day: date) -> str:
    """Return how many questions come after the last day of a chart."""
    return f"{_count_questions(count)} after {display_text.format_day(last_day)}"


def _count_questions(count: int) -> str:
    return f"{count:,} {'question' if count == 1 else 'questions'}"
