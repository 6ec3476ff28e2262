"""Waiting times of charts: the same as ranking the rows by hand, on both databases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, DisplayReceipt, Inquiry, Person
from jpweb.store.reviews import waiting_percentiles
from jpweb.store.reviews.waiting_percentiles import Percentiles
from tests.store import making
from tests.store.reviews.audited_rows import BEGIN, save_inquiry, save_many, take_sample

pytestmark = pytest.mark.django_db


def rank(times: Iterable[timedelta]) -> Percentiles | None:
    """Return the percentiles of times as a person would rank them."""
    ordered = sorted(round(max(time.total_seconds(), 0), 3) for time in times)
    if not ordered:
        return None
    ranks = [math.ceil(len(ordered) * share) for share in (0.5, 0.95)]
    return Percentiles(len(ordered), *(ordered[rank - 1] for rank in ranks))


def find_answers() -> list[Inquiry]:
    return [
        row
        for row in Inquiry.objects.select_related("conversation__workspace")
        if row.decided_by == "person" and row.settled_at and row.state in ("answered", "redacted")
    ]


def save_receipt(row: Inquiry, person: Person | None, visible_at: datetime | None) -> None:
    DisplayReceipt.objects.create(
        inquiry=row,
        person=person,
        person_name="" if person else "Imported",
        delivered_at=row.asked_at,
        visible_at=visible_at,
    )


def test_answers_have_the_percentiles_of_the_nearest_rank(
    auditor: Person, conversations: list[Conversation]
):
    save_many(conversations, 300, 3)
    save_inquiry(conversations[0], settled_at=BEGIN - timedelta(days=1), asked_at=BEGIN)
    waits: dict[str, dict[str, list[timedelta]]] = defaultdict(lambda: defaultdict(list))
    for row in find_answers():
        assert row.settled_at is not None
        waited = row.settled_at - row.asked_at
        waits["workspace"][row.conversation.workspace.name].append(waited)
        waits["hour"][f"{row.asked_at:%H}"].append(waited)
        waits["tool"][row.asker].append(waited)
        waits["person"][row.decider_name].append(waited)
    sample = take_sample(auditor)
    measured = {
        "workspace": waiting_percentiles.measure_by_workspace(sample),
        "hour": waiting_percentiles.measure_by_hour(sample),
        "tool": waiting_percentiles.measure_by_tool(sample),
        "person": waiting_percentiles.measure_by_person(sample),
    }
    for kind, times in measured.items():
        by_group = {time.group: time.answers for time in times}
        assert len(by_group) == len(times)
        assert by_group == {group: rank(waited) for group, waited in waits[kind].items()}
        assert {time.views for time in times} == {None}
    sizes = [time.answers.sample_size for time in measured["tool"] if time.answers]
    assert sizes == sorted(sizes, reverse=True)


def test_a_view_is_the_first_of_anybody_and_of_each_person(
    auditor: Person, conversations: list[Conversation]
):
    ada, ben = making.person("ada", Role.RESPONDER), making.person("ben", Role.RESPONDER)
    ada.first_name = "Ada"
    ada.save()
    random = Random(3)  # noqa: S311  reproducible times
    save_many(conversations, 120, 3)
    views: dict[str, dict[str, list[timedelta]]] = defaultdict(lambda: defaultdict(list))
    for row in Inquiry.objects.select_related("conversation__workspace")[:80]:
        view_times = []
        for person, name in ((ada, "Ada"), (ben, "Ben"), (None, "Imported")):
            wait = timedelta(milliseconds=random.randrange(-500, 9_000_000))
            if random.random() < 0.3:
                save_receipt(row, person, None)
                continue
            save_receipt(row, person, row.asked_at + wait)
            views["person"][name].append(wait)
            view_times.append(wait)
        if view_times:
            views["workspace"][row.conversation.workspace.name].append(min(view_times))
            views["tool"][row.asker].append(min(view_times))
    sample = take_sample(auditor)
    measured = {
        "workspace": waiting_percentiles.measure_by_workspace(sample),
        "tool": waiting_percentiles.measure_by_tool(sample),
        "person": waiting_percentiles.measure_by_person(sample),
    }
    for kind, times in measured.items():
        expected = {group: rank(waited) for group, waited in views[kind].items()}
        assert {time.group: time.views for time in times if time.views} == expected
    answers = {time.group: time.answers is None for time in measured["person"]}
    assert answers == {"Ada": False, "Ben": False, "Imported": True}


def test_views_of_filtered_questions_alone_count(
    auditor: Person, conversations: list[Conversation]
):
    for row in (save_inquiry(conversations[0], asker=name) for name in ("vault", "other")):
        save_receipt(row, None, row.asked_at + timedelta(seconds=2))
    (time,) = waiting_percentiles.measure_by_tool(take_sample(auditor, tool="vault"))
    assert time == ("vault", (1, 1.0, 1.0), (1, 2.0, 2.0))
    named = waiting_percentiles.measure_by_person(take_sample(auditor, tool="vault"))
    assert [(time.group, time.views) for time in named] == [
        ("Ada", None),
        ("Imported", (1, 2.0, 2.0)),
    ]


def test_workspaces_of_one_name_are_measured_apart(
    auditor: Person, conversations: list[Conversation]
):
    conversations[1].workspace.name = "Garden"
    conversations[1].workspace.save()
    for conversation in conversations:
        save_inquiry(conversation)
    times = waiting_percentiles.measure_by_workspace(take_sample(auditor))
    assert [(time.group, time.answers) for time in times] == [("Garden", (1, 1.0, 1.0))] * 2
