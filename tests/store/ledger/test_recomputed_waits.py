"""Wait times that the ledger alone gives: those of the charts, from the texts of its entries."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from jpweb.store import journal
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import sealing
from jpweb.store.models import LedgerEntry, Person, Run
from jpweb.store.reviews import waiting_percentiles
from jpweb.stream import timestamps
from jpweb.stream.events import EventKind
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
)
from tests.builders import make_inquiry
from tests.store import making
from tests.store.reviews.audited_rows import take_sample

pytestmark = pytest.mark.django_db
BEGIN = datetime(2026, 10, 8, 5, tzinfo=UTC)
#: What the questions of each workspace end with: half of them with a person's answer.
_PERSON_SHARE, _QUESTION_COUNT = 0.5, 23


def settle_question(
    run: Run, number: int, wait: timedelta, by: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask a question and settle it after a wait, on a clock that stands still meanwhile."""
    outcome: InquiryOutcome = (
        Cancelled(CancellationReason.USER) if number % 5 == 0 else Answered(True)
    )
    inquiry_id = f"call_1.q{number}.1"
    kinds: list[EventKind] = [
        make_inquiry(inquiry_id, "Go on?"),
        InquiryResponse(inquiry_id, outcome),
    ]
    for kind, moment in zip(kinds, (BEGIN, BEGIN + wait), strict=True):
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        event = making.event(kind, timestamps.format_timestamp(moment), by)
        journal.append_events(run.conversation_id, [event])


def measure_from_ledger() -> dict[int, tuple[int, float, float]]:
    """Return the number, the median and the 95th percentile of answers by workspace."""
    waits: defaultdict[int, list[float]] = defaultdict(list)
    for text in LedgerEntry.objects.filter(sequence__isnull=False).values_list("text", flat=True):
        content = json.loads(text)
        is_answer = content["act"] == Act.INQUIRY_ANSWERED
        if is_answer and content["by"]["kind"] == "person":
            asked_at = datetime.fromisoformat(content["details"]["asked_at"])
            wait = datetime.fromisoformat(content["at"]) - asked_at
            waits[content["workspace"]].append(wait.total_seconds())
    return {key: (len(times), *pick_ranks(times)) for key, times in waits.items()}


def pick_ranks(times: list[float]) -> tuple[float, float]:
    ordered = sorted(times)
    median_rank, p95_rank = (math.ceil(len(ordered) * share) for share in (0.5, 0.95))
    return ordered[median_rank - 1], ordered[p95_rank - 1]


def test_wait_times_by_workspace_follow_from_the_entries_alone(monkeypatch: pytest.MonkeyPatch):
    random = Random(7)  # noqa: S311  reproducible times
    auditor: Person = making.person("auditor")
    names = {}
    for name in ("Garden", "Orchard"):
        workspace = making.workspace(name)
        names[workspace.pk] = name
        auditor.memberships.create(workspace=workspace, role=Role.AUDITOR)
        run = making.start_run(making.conversation(workspace))
        for number in range(_QUESTION_COUNT):
            is_person = random.random() < _PERSON_SHARE
            by = making.decider(auditor) if is_person else Decider("configuration")
            wait = timedelta(milliseconds=random.randrange(9_000_000))
            settle_question(run, number, wait, by, monkeypatch)
    monkeypatch.undo()
    sealing.seal_entries()
    times = waiting_percentiles.measure_by_workspace(take_sample(auditor))
    assert {time.group: time.answers for time in times} == {
        names[key]: measured for key, measured in measure_from_ledger().items()
    }
    assert len(times) == len(names)
