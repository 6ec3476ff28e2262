"""Numbers by state: exact up to the limit, and honest beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.models import Person
from jpweb.store.reviews import state_counts
from jpweb.store.reviews.state_counts import StateCount
from tests.store import making
from tests.store.reviews import audited_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor() -> Person:
    """Return the auditor of seven answered questions of two tools, and an open one."""
    conversation = making.conversation(making.workspace())
    for number in range(7):
        audited_rows.save_inquiry(conversation, asker=f"tool {number % 2}")
    audited_rows.save_inquiry(conversation, asker="tool 0", state="open", settled_at=None)
    other_conversation = making.conversation(making.workspace("Other"))
    audited_rows.save_inquiry(other_conversation)
    return making.person("auditor", Role.AUDITOR, conversation.workspace)


def count(auditor: Person, **filters: Any) -> dict[str, StateCount]:
    counts = audited_rows.count_by_state(auditor, AuditFilters(**filters))
    assert list(counts) == ["open", "answered", "redacted", "cancelled", "unanswered"]
    return {state: number for state, number in counts.items() if number != (0, False)}


@pytest.mark.parametrize("limit", [8, 2000])
def test_counts_up_to_the_limit_are_exact(
    auditor: Person, monkeypatch: pytest.MonkeyPatch, limit: int
):
    monkeypatch.setattr(state_counts, "MAX_COUNTED_ROWS", limit)
    monkeypatch.setattr(state_counts, "MAX_FILTERED_ROWS", limit)
    assert count(auditor) == {"open": (1, False), "answered": (7, False)}
    assert count(auditor, tool="tool 0") == {"open": (1, False), "answered": (4, False)}
    assert count(auditor, tool="tool 0", words="on?") == count(auditor, tool="tool 0")
    assert count(auditor, outcome="open") == {"open": (1, False)}


def test_state_counts_beyond_the_limit_are_per_state(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state_counts, "MAX_COUNTED_ROWS", 6)
    monkeypatch.setattr(state_counts, "MAX_FILTERED_ROWS", 6)
    assert count(auditor) == {"open": (1, False), "answered": (6, True)}
    assert count(auditor, outcome="answered") == {"answered": (6, True)}


def test_state_counts_of_a_filter_beyond_the_limit_are_lower_bounds(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state_counts, "MAX_FILTERED_ROWS", 2)
    counts = audited_rows.count_by_state(auditor, AuditFilters(tool="tool 0"))
    assert all(number.is_least for number in counts.values())
    assert sum(number.number for number in counts.values()) <= 3
