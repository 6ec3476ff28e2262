from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.store.choices import Origin, Role
from jpweb.store.conversation_list import keyset_merge, paginator
from jpweb.store.conversation_list.filters import ListFilters, Sort
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    Membership,
    Person,
    ReadMark,
    Run,
    Workspace,
)
from jpweb.stream.inquiry import Answered
from tests.machine.sizes import choose_size, mark_proof
from tests.store import making
from tests.store.conversation_list.rows import START, back, change, forth, listed, make, titles

pytestmark = pytest.mark.django_db


def homes(reader: Person, count: int) -> list[Workspace]:
    """Make workspaces that the reader is in."""
    made = [making.workspace(f"w{n}") for n in range(count)]
    Membership.objects.bulk_create(
        Membership(person=reader, workspace=each, role=Role.READER) for each in made
    )
    return made


def test_pinned_ones_come_first_then_the_newest(home: Workspace, reader: Person):
    made = make(home, 4)
    change(made[0], pinned_at=START - timedelta(days=1))
    change(made[1], pinned_at=START - timedelta(days=2))
    assert listed(reader) == ["talk 1", "talk 2", "talk 4", "talk 3"]


def test_of_many_pinned_ones_those_pinned_last_come_first_and_none_twice(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "MAX_PINNED", 2)
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    for n, talk in enumerate(make(home, 6)):
        change(talk, pinned_at=START + timedelta(days=n))
    seen = [title for page in forth(reader) for title in titles(page)]
    assert seen == [f"talk {n}" for n in (6, 5, 4, 3, 2, 1)]


def test_archived_ones_are_apart(home: Workspace, reader: Person):
    made = make(home, 3)
    change(made[1], archived=True, pinned_at=START)
    assert listed(reader) == ["talk 3", "talk 1"]
    assert listed(reader, archived=True) == ["talk 2"]


def test_every_word_must_be_in_the_title(home: Workspace, reader: Person):
    made = make(home, 12)
    change(made[0], pinned_at=START)
    assert listed(reader, words="TALK 12") == ["talk 12"]
    assert listed(reader, words="1 talk") == ["talk 1", "talk 12", "talk 11", "talk 10"]
    for words in ("nothing", "%", "_", "\\"):
        assert listed(reader, words=words) == []


@pytest.mark.parametrize("sort", Sort)
def test_one_sees_the_workspaces_one_is_in(home: Workspace, reader: Person, sort: Sort):
    other = making.workspace("Other")
    for place in (home, other):
        making.question(making.running(making.conversation(place, place.name)))
    outsider = making.person("outsider")
    assert listed(reader, sort=sort) == ["Garden"]
    assert listed(reader, sort=sort, workspace=other.pk) == []
    assert listed(outsider, sort=sort) == []
    Membership.objects.create(person=reader, workspace=other, role=Role.READER)
    assert sorted(listed(reader, sort=sort)) == ["Garden", "Other"]
    assert listed(reader, sort=sort, workspace=other.pk) == ["Other"]


NAMED = ["apart", "equal", "microseconds", "last", "first", "far"]
MOMENTS: list[dict[str, Any]] = [
    {},
    {"last_activity": START, "entry_count": 5},
    {"last_activity": START.replace(microsecond=999_999)},
    {"last_activity": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)},
    {"last_activity": datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC)},
    {"last_activity": datetime(5138, 11, 16, 9, 46, 39, 123_457, tzinfo=UTC)},
]


@pytest.mark.parametrize("sort", [Sort.ACTIVITY, Sort.LENGTH])
@pytest.mark.parametrize("size", [1, 3, *mark_proof(2, 7)])
@pytest.mark.parametrize("more", MOMENTS, ids=NAMED)
def test_the_pages_cover_every_conversation_once_both_ways(
    home: Workspace,
    reader: Person,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    more: dict[str, Any],
    sort: Sort,
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", size)
    make(home, 8, **more)
    there = forth(reader, sort=sort)
    seen = [title for page in there for title in titles(page)]
    assert seen == [f"talk {number}" for number in range(8, 0, -1)]
    again = back(reader, there[-1], sort=sort)
    assert len(again) == len(there) - 1 or size == 1
    assert [title for page in again[1:] for title in titles(page)] == seen[
        (s := len(titles(again[0]))) : s + sum(len(p.rows) for p in again[1:])
    ]
    assert titles(again[0]) == seen[:size]


@pytest.mark.parametrize("count", [3, 12])
def test_workspaces_are_merged_in_one_order(
    reader: Person, monkeypatch: pytest.MonkeyPatch, count: int
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 7)
    monkeypatch.setattr(keyset_merge, "_FIRST_READ_ROWS", 2)
    monkeypatch.setattr(keyset_merge, "_WORKSPACES_PER_STATEMENT", 5)
    places = homes(reader, count)
    for n in range(40):  # one has most of the newest
        place = places[0] if n % 3 else places[n % count]
        make(place, 1, first=n + 1)
    there = forth(reader)
    seen = [title for page in there for title in titles(page)]
    assert seen == [f"talk {n}" for n in range(40, 0, -1)]
    assert [t for p in back(reader, there[-1]) for t in titles(p)] == seen[: 7 * 5]


def test_far_instants_that_differ_by_little_are_told_apart(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    far = datetime(9000, 1, 1, tzinfo=UTC)
    for talk in make(home, 9):
        change(talk, last_activity=far + timedelta(microseconds=talk.jp_id))
    seen = [title for page in forth(reader) for title in titles(page)]
    assert seen == [f"talk {number}" for number in range(9, 0, -1)]


@pytest.mark.parametrize("sort", Sort)
@pytest.mark.parametrize(
    "key",
    [
        "1_x",
        "nan_1",
        "9" * 30 + "_1",
        *mark_proof("x", "_", "x_1", "inf_1", "1e400_1", "1e18_1", "1_" + "9" * 30),
    ],
)
def test_a_key_that_cannot_be_read_is_the_beginning(
    home: Workspace, reader: Person, key: str, sort: Sort
):
    making.question(making.running(making.conversation(home)))
    assert listed(reader, sort=sort, before=key) == ["A talk"]
    assert listed(reader, sort=sort, after=key) == ["A talk"]


def test_the_longest_come_first(home: Workspace, reader: Person):
    for talk, length in zip(make(home, 3), (5, 900, 10), strict=True):
        change(talk, entry_count=length, pinned_at=START if length == 5 else None)
    assert listed(reader, sort=Sort.LENGTH) == ["talk 2", "talk 3", "talk 1"]


def test_what_waits_longest_comes_first_and_what_does_not_wait_is_left_out(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    names = ["both", "question", "prompt", "settled", "over", "later"]
    runs = {name: making.running(making.conversation(home, name)) for name in names}
    prompt = making.prompt(runs["prompt"])
    first = making.question(runs["both"])
    making.prompt(runs["both"])
    making.question(runs["both"])
    question = making.question(runs["question"])
    making.settle(making.question(runs["settled"]), Answered(True))
    making.question(runs["over"])
    later = making.prompt(runs["later"])
    Run.objects.filter(pk=runs["over"].pk).update(state="done")
    waiting: list[Any] = [first, question, prompt, later]
    for n, row in enumerate(waiting):
        type(row).objects.filter(pk=row.pk).update(asked_at=START + timedelta(minutes=n))
    there = forth(reader, sort=Sort.WAITING)
    assert [titles(page) for page in there] == [["both", "question"], ["prompt", "later"]]
    assert [titles(page) for page in back(reader, there[-1], sort=Sort.WAITING)] == [
        ["both", "question"]
    ]
    assert listed(reader, sort=Sort.WAITING, words="prompt") == ["prompt"]


def test_what_began_to_wait_at_one_instant_is_listed_once(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    rows: list[Any] = []
    for n in range(6):
        run = making.running(making.conversation(home, f"talk {n}"))
        rows += [making.prompt(run), making.question(run)][:: -1 if n % 2 else 1]
    for row in rows:
        type(row).objects.filter(pk=row.pk).update(asked_at=START)
    seen = [title for page in forth(reader, sort=Sort.WAITING) for title in titles(page)]
    assert sorted(seen) == [f"talk {n}" for n in range(6)]


def test_a_question_and_a_prompt_of_one_instant_and_one_key_are_told_apart_both_ways(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    for n in range(3):
        asked = making.question(making.running(making.conversation(home, f"question {n}")))
        prompt = making.prompt(making.running(making.conversation(home, f"prompt {n}")))
        Approval.objects.filter(pk=prompt.pk).update(id=1000 + n, asked_at=START)
        Inquiry.objects.filter(pk=asked.pk).update(id=1000 + n, asked_at=START)
    there = forth(reader, sort=Sort.WAITING)
    seen = [title for page in there for title in titles(page)]
    assert seen == [f"{kind} {n}" for n in range(3) for kind in ("question", "prompt")]
    again = [title for page in back(reader, there[-1], sort=Sort.WAITING) for title in titles(page)]
    assert again[-5:] == seen[:5]


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"origin": Origin.NATIVE}, ["talk 2"]),
    ({"origin": Origin.MIRRORED}, ["talk 4", "talk 3", "talk 1"]),
    ({"problem": True}, ["talk 4", "talk 2"]),
    ({"problem": True, "origin": Origin.NATIVE}, ["talk 2"]),
    ({"label": "area"}, ["talk 4", "talk 3"]),
    ({"label": "area=x"}, ["talk 3"]),
    ({"label": "area="}, ["talk 4"]),
    ({"label": "x"}, []),
    ({"label": "a.b__c'%=1"}, ["talk 1"]),
    ({"label": "area", "words": "4"}, ["talk 4"]),
]


@pytest.mark.parametrize("sort", [Sort.ACTIVITY, Sort.LENGTH])
@pytest.mark.parametrize(("chosen", "found"), FILTERS)
def test_filters_let_through_what_they_name(
    home: Workspace, reader: Person, chosen: dict[str, Any], found: list[str], sort: Sort
):
    one, two, three, four = make(home, 4)
    change(one, labels={"a.b__c'%": "1"})
    change(two, origin=Origin.NATIVE, problem="cannot be read")
    change(three, labels={"area": "x"})
    change(four, labels={"area": ""}, problem="gone")
    assert listed(reader, **chosen, sort=sort) == found
    change(four, pinned_at=START)
    assert sorted(listed(reader, **chosen, sort=sort)) == sorted(found)


@pytest.mark.parametrize("chosen", [{"origin": Origin.NATIVE}, {"problem": True}, {"words": "a"}])
def test_filters_hold_for_what_waits(home: Workspace, reader: Person, chosen: dict[str, Any]):
    for name in ("a", "b"):
        making.question(making.running(making.conversation(home, name)))
    Conversation.objects.filter(title="b").update(origin=Origin.MIRRORED)
    Conversation.objects.filter(title="a").update(problem="odd")
    assert listed(reader, sort=Sort.WAITING, **chosen) == ["a"]
    assert listed(reader, sort=Sort.WAITING, archived=True) == []


def test_a_filter_that_no_index_answers_looks_so_far_and_goes_on_when_asked(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 5)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    make(home, 23)
    there = forth(reader, words="talk 1")
    assert [page.is_truncated for page in there] == [True, True, True, True, False]
    seen = [title for page in there for title in titles(page)]
    assert seen == [f"talk {n}" for n in (21, *range(19, 9, -1), 1)]
    again = [title for page in back(reader, there[-1], words="talk 1") for title in titles(page)]
    assert set(again) == {*seen} - {"talk 1"}


def test_what_is_found_beyond_where_another_workspace_was_looked_at_comes_later(
    reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 6)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    busy, quiet = homes(reader, 2)
    make(quiet, 3)
    make(busy, 20, first=4)
    there = forth(reader, words="talk")
    assert [title for page in there for title in titles(page)] == [
        f"talk {n}" for n in range(23, 0, -1)
    ]
    assert titles(there[0]) == ["talk 23", "talk 22"], "a third workspace has its share too"


@pytest.mark.parametrize("sort", Sort)
def test_the_queries_do_not_grow(
    home: Workspace, reader: Person, django_assert_max_num_queries: Any, sort: Sort
):
    counted = []
    for count in (5, choose_size(60, 150)):
        make(home, count, first=1000 * count)
        for n in range(count // 5):
            making.question(making.running(making.conversation(home, f"asks {n}")))
        with django_assert_max_num_queries(10) as captured:
            page = paginator.get_page(reader.pk, ListFilters(sort=sort))
            assert [row.conversation.workspace.name for row in page.rows]
        counted.append(len(captured))
    assert counted[0] == counted[1]


def test_a_row_counts_its_inquiries_in_the_order_of_the_states(home: Workspace, reader: Person):
    run = making.running(making.conversation(home, "asked"))
    making.settle(making.question(run), Answered(True))
    making.question(run)
    making.prompt(run)
    make(home, 1)
    asked, silent = paginator.get_page(reader.pk, ListFilters()).rows
    assert (list(asked.inquiries.items()), asked.inquiry_count) == (
        [("open", 1), ("answered", 1)],
        2,
    )
    assert (silent.inquiries, silent.inquiry_count) == ({}, 0)
    assert (asked.approval_count, silent.approval_count) == (1, 0)


def test_a_row_says_what_came_since_the_person_read(home: Workspace, reader: Person):
    grown, same, shrunk, unread = make(home, 4, entry_count=10)
    other = making.person("other", Role.READER, home)
    for talk, person, length in (
        *((grown, reader, 7), (same, reader, 10), (shrunk, reader, 12)),
        *((unread, other, 1), (grown, other, 1)),
    ):
        ReadMark.objects.create(person=person, conversation=talk, entry_count=length, at=START)
    found = {
        row.conversation.pk: row.new_entries
        for row in paginator.get_page(reader.pk, ListFilters()).rows
    }
    assert found == {grown.pk: 3, same.pk: 0, shrunk.pk: 0, unread.pk: 0}
