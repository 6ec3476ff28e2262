from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.store.choices import Origin, Role
from jpweb.store.conversation_list import paginator
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
from jpweb.store.sql import keyset_merge
from jpweb.stream.inquiry import Answered
from tests.machine.sizes import choose_size, mark_proof
from tests.store import making
from tests.store.conversation_list.rows import (
    START,
    change_conversation,
    get_titles,
    list_titles,
    make_conversations,
    make_workspaces,
    page_backward,
    page_forward,
)

pytestmark = pytest.mark.django_db


def test_list_has_pinned_conversations_first_then_the_newest(workspace: Workspace, reader: Person):
    conversations = make_conversations(workspace, 4)
    change_conversation(conversations[0], pinned_at=START - timedelta(days=1))
    change_conversation(conversations[1], pinned_at=START - timedelta(days=2))
    assert list_titles(reader) == ["talk 1", "talk 2", "talk 4", "talk 3"]


def test_pages_list_pinned_conversations_once_last_pinned_first(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "MAX_PINNED", 2)
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    for n, conversation in enumerate(make_conversations(workspace, 6)):
        change_conversation(conversation, pinned_at=START + timedelta(days=n))
    title_list = [title for page in page_forward(reader) for title in get_titles(page)]
    assert title_list == [f"talk {n}" for n in (6, 5, 4, 3, 2, 1)]


def test_list_has_archived_conversations_only_when_asked_for(workspace: Workspace, reader: Person):
    conversations = make_conversations(workspace, 3)
    change_conversation(conversations[1], archived=True, pinned_at=START)
    assert list_titles(reader) == ["talk 3", "talk 1"]
    assert list_titles(reader, archived=True) == ["talk 2"]


def test_title_search_requires_every_word(workspace: Workspace, reader: Person):
    conversations = make_conversations(workspace, 12)
    change_conversation(conversations[0], pinned_at=START)
    assert list_titles(reader, words="TALK 12") == ["talk 12"]
    assert list_titles(reader, words="1 talk") == ["talk 1", "talk 12", "talk 11", "talk 10"]
    for words in ("nothing", "%", "_", "\\"):
        assert list_titles(reader, words=words) == []


@pytest.mark.parametrize("sort", Sort)
def test_list_shows_only_workspaces_of_the_reader(workspace: Workspace, reader: Person, sort: Sort):
    other_workspace = making.workspace("Other")
    for place in (workspace, other_workspace):
        making.question(making.start_run(making.conversation(place, place.name)))
    outsider = making.person("outsider")
    assert list_titles(reader, sort=sort) == ["Garden"]
    assert list_titles(reader, sort=sort, workspace=other_workspace.pk) == []
    assert list_titles(outsider, sort=sort) == []
    Membership.objects.create(person=reader, workspace=other_workspace, role=Role.READER)
    assert sorted(list_titles(reader, sort=sort)) == ["Garden", "Other"]
    assert list_titles(reader, sort=sort, workspace=other_workspace.pk) == ["Other"]


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
@pytest.mark.parametrize("fields", MOMENTS, ids=NAMED)
def test_the_pages_cover_every_conversation_once_both_ways(
    workspace: Workspace,
    reader: Person,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    fields: dict[str, Any],
    sort: Sort,
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", size)
    make_conversations(workspace, 8, **fields)
    pages = page_forward(reader, sort=sort)
    title_list = [title for page in pages for title in get_titles(page)]
    assert title_list == [f"talk {number}" for number in range(8, 0, -1)]
    pages_back = page_backward(reader, pages[-1], sort=sort)
    assert len(pages_back) == len(pages) - 1 or size == 1
    assert [title for page in pages_back[1:] for title in get_titles(page)] == title_list[
        (s := len(get_titles(pages_back[0]))) : s + sum(len(p.rows) for p in pages_back[1:])
    ]
    assert get_titles(pages_back[0]) == title_list[:size]


@pytest.mark.parametrize("count", [3, 12])
def test_workspaces_are_merged_in_one_order(
    reader: Person, monkeypatch: pytest.MonkeyPatch, count: int
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 7)
    monkeypatch.setattr(keyset_merge, "_FIRST_READ_ROWS", 2)
    monkeypatch.setattr(keyset_merge, "_WORKSPACES_PER_STATEMENT", 5)
    places = make_workspaces(reader, count)
    for n in range(40):  # one has most of the newest
        place = places[0] if n % 3 else places[n % count]
        make_conversations(place, 1, first=n + 1)
    pages = page_forward(reader)
    title_list = [title for page in pages for title in get_titles(page)]
    assert title_list == [f"talk {n}" for n in range(40, 0, -1)]
    assert [t for p in page_backward(reader, pages[-1]) for t in get_titles(p)] == title_list[
        : 7 * 5
    ]


def test_pages_keep_order_of_far_dates_a_microsecond_apart(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    far_date = datetime(9000, 1, 1, tzinfo=UTC)
    for conversation in make_conversations(workspace, 9):
        change_conversation(
            conversation, last_activity=far_date + timedelta(microseconds=conversation.jp_id)
        )
    title_list = [title for page in page_forward(reader) for title in get_titles(page)]
    assert title_list == [f"talk {number}" for number in range(9, 0, -1)]


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
def test_unreadable_page_key_leads_to_the_first_page(
    workspace: Workspace, reader: Person, key: str, sort: Sort
):
    making.question(making.start_run(making.conversation(workspace)))
    assert list_titles(reader, sort=sort, before=key) == ["A talk"]
    assert list_titles(reader, sort=sort, after=key) == ["A talk"]


def test_sort_by_length_lists_the_longest_conversation_first(workspace: Workspace, reader: Person):
    for conversation, length in zip(make_conversations(workspace, 3), (5, 900, 10), strict=True):
        change_conversation(
            conversation, entry_count=length, pinned_at=START if length == 5 else None
        )
    assert list_titles(reader, sort=Sort.LENGTH) == ["talk 2", "talk 3", "talk 1"]


def test_sort_by_waiting_lists_only_waiting_conversations_oldest_first(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    names = ["both", "question", "prompt", "settled", "over", "later"]
    runs = {name: making.start_run(making.conversation(workspace, name)) for name in names}
    prompt = making.prompt(runs["prompt"])
    first = making.question(runs["both"])
    making.prompt(runs["both"])
    making.question(runs["both"])
    question = making.question(runs["question"])
    making.settle(making.question(runs["settled"]), Answered(True))
    making.question(runs["over"])
    later_prompt = making.prompt(runs["later"])
    Run.objects.filter(pk=runs["over"].pk).update(state="done")
    waiting_rows: list[Any] = [first, question, prompt, later_prompt]
    for n, row in enumerate(waiting_rows):
        type(row).objects.filter(pk=row.pk).update(asked_at=START + timedelta(minutes=n))
    pages = page_forward(reader, sort=Sort.WAITING)
    assert [get_titles(page) for page in pages] == [["both", "question"], ["prompt", "later"]]
    assert [get_titles(page) for page in page_backward(reader, pages[-1], sort=Sort.WAITING)] == [
        ["both", "question"]
    ]
    assert list_titles(reader, sort=Sort.WAITING, words="prompt") == ["prompt"]


def test_sort_by_waiting_lists_questions_of_equal_time_once(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    rows: list[Any] = []
    for n in range(6):
        run = making.start_run(making.conversation(workspace, f"talk {n}"))
        rows += [making.prompt(run), making.question(run)][:: -1 if n % 2 else 1]
    for row in rows:
        type(row).objects.filter(pk=row.pk).update(asked_at=START)
    title_list = [
        title for page in page_forward(reader, sort=Sort.WAITING) for title in get_titles(page)
    ]
    assert sorted(title_list) == [f"talk {n}" for n in range(6)]


def test_question_and_approval_of_equal_time_and_key_keep_their_order(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 1)
    for n in range(3):
        question = making.question(
            making.start_run(making.conversation(workspace, f"question {n}"))
        )
        prompt = making.prompt(making.start_run(making.conversation(workspace, f"prompt {n}")))
        Approval.objects.filter(pk=prompt.pk).update(id=1000 + n, asked_at=START)
        Inquiry.objects.filter(pk=question.pk).update(id=1000 + n, asked_at=START)
    pages = page_forward(reader, sort=Sort.WAITING)
    title_list = [title for page in pages for title in get_titles(page)]
    assert title_list == [f"{kind} {n}" for n in range(3) for kind in ("question", "prompt")]
    titles_back = [
        title
        for page in page_backward(reader, pages[-1], sort=Sort.WAITING)
        for title in get_titles(page)
    ]
    assert titles_back[-5:] == title_list[:5]


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
def test_filters_list_only_matching_conversations(workspace: Workspace, reader: Person, sort: Sort):
    first, second, third, fourth = make_conversations(workspace, 4)
    change_conversation(first, labels={"a.b__c'%": "1"})
    change_conversation(second, origin=Origin.NATIVE, problem="cannot be read")
    change_conversation(third, labels={"area": "x"})
    change_conversation(fourth, labels={"area": ""}, problem="gone")
    for filters, expected in FILTERS:
        assert list_titles(reader, **filters, sort=sort) == expected, filters
    change_conversation(fourth, pinned_at=START)
    for filters, expected in FILTERS:
        assert sorted(list_titles(reader, **filters, sort=sort)) == sorted(expected), filters


@pytest.mark.parametrize("filters", [{"origin": Origin.NATIVE}, {"problem": True}, {"words": "a"}])
def test_filters_apply_to_the_sort_by_waiting(
    workspace: Workspace, reader: Person, filters: dict[str, Any]
):
    for name in ("a", "b"):
        making.question(making.start_run(making.conversation(workspace, name)))
    Conversation.objects.filter(title="b").update(origin=Origin.MIRRORED)
    Conversation.objects.filter(title="a").update(problem="odd")
    assert list_titles(reader, sort=Sort.WAITING, **filters) == ["a"]
    assert list_titles(reader, sort=Sort.WAITING, archived=True) == []


def test_filter_without_an_index_scans_a_part_and_continues_on_request(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 5)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    make_conversations(workspace, 23)
    pages = page_forward(reader, words="talk 1")
    assert [page.is_truncated for page in pages] == [True, True, True, True, False]
    title_list = [title for page in pages for title in get_titles(page)]
    assert title_list == [f"talk {n}" for n in (21, *range(19, 9, -1), 1)]
    titles_back = [
        title
        for page in page_backward(reader, pages[-1], words="talk 1")
        for title in get_titles(page)
    ]
    assert set(titles_back) == {*title_list} - {"talk 1"}


@pytest.mark.parametrize("sort", Sort)
def test_page_of_more_conversations_takes_as_many_queries(
    workspace: Workspace, reader: Person, django_assert_max_num_queries: Any, sort: Sort
):
    counts = []
    for count in (5, choose_size(60, 150)):
        make_conversations(workspace, count, first=1000 * count)
        for n in range(count // 5):
            making.question(making.start_run(making.conversation(workspace, f"asks {n}")))
        with django_assert_max_num_queries(10) as captured:
            page = paginator.get_page(reader.pk, ListFilters(sort=sort))
            assert [row.conversation.workspace.name for row in page.rows]
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_row_counts_its_inquiries_in_the_order_of_the_states(
    workspace: Workspace, reader: Person
):
    run = making.start_run(making.conversation(workspace, "asked"))
    making.settle(making.question(run), Answered(True))
    making.question(run)
    making.prompt(run)
    make_conversations(workspace, 1)
    waiting_row, silent = paginator.get_page(reader.pk, ListFilters()).rows
    assert (list(waiting_row.inquiries.items()), waiting_row.inquiry_count) == (
        [("open", 1), ("answered", 1)],
        2,
    )
    assert (silent.inquiries, silent.inquiry_count) == ({}, 0)
    assert (waiting_row.approval_count, silent.approval_count) == (1, 0)


def test_row_counts_entries_since_the_last_read(workspace: Workspace, reader: Person):
    grown_conversation, same_conversation, shrunk, unread = make_conversations(
        workspace, 4, entry_count=10
    )
    other_person = making.person("other", Role.READER, workspace)
    for conversation, person, length in (
        *((grown_conversation, reader, 7), (same_conversation, reader, 10), (shrunk, reader, 12)),
        *((unread, other_person, 1), (grown_conversation, other_person, 1)),
    ):
        ReadMark.objects.create(
            person=person, conversation=conversation, entry_count=length, at=START
        )
    new_counts = {
        row.conversation.pk: row.new_entries
        for row in paginator.get_page(reader.pk, ListFilters()).rows
    }
    assert new_counts == {
        grown_conversation.pk: 3,
        same_conversation.pk: 0,
        shrunk.pk: 0,
        unread.pk: 0,
    }
