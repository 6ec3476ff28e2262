from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.store import conversations
from jpweb.store.errors import UnknownConversation
from jpweb.store.models import Conversation, Membership, Person, Workspace
from jpweb.store.terms import Origin, Role
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def home() -> Workspace:
    return making.workspace()


@pytest.fixture
def reader(home: Workspace) -> Person:
    return making.person("reader", Role.READER, home)


def make(home: Workspace, count: int, **more: Any) -> list[Conversation]:
    """Make conversations, each a second newer than the one before."""
    return Conversation.objects.bulk_create(
        Conversation(
            workspace=home,
            jp_id=number,
            origin=Origin.MIRRORED,
            title=f"talk {number}",
            **{"last_activity": START + timedelta(seconds=number)} | more,
        )
        for number in range(1, count + 1)
    )


def titles(page: conversations.Page) -> list[str]:
    return [row.conversation.title for row in page.rows]


def walk(reader: Person, **given: Any) -> list[str]:
    """Return the titles of every page."""
    seen: list[str] = []
    before = ""
    for _ in range(1000):
        page = conversations.page(reader.pk, before=before, **given)
        seen += titles(page)
        before = page.before
        if not before:
            return seen
    raise AssertionError("the pages do not end")


def test_pinned_ones_come_first_then_the_newest(home: Workspace, reader: Person):
    made = make(home, 4)
    for talk, age in ((made[0], 1), (made[1], 2)):
        pinned_at = START - timedelta(days=age)
        Conversation.objects.filter(pk=talk.pk).update(pinned_at=pinned_at)
    assert titles(conversations.page(reader.pk)) == ["talk 1", "talk 2", "talk 4", "talk 3"]


def test_archived_ones_are_apart(home: Workspace, reader: Person):
    made = make(home, 3)
    Conversation.objects.filter(pk=made[1].pk).update(archived=True)
    assert titles(conversations.page(reader.pk)) == ["talk 3", "talk 1"]
    assert titles(conversations.page(reader.pk, archived=True)) == ["talk 2"]


def test_every_word_must_be_in_the_title(home: Workspace, reader: Person):
    make(home, 12)
    assert titles(conversations.page(reader.pk, words="TALK 12")) == ["talk 12"]
    assert len(titles(conversations.page(reader.pk, words="1 talk"))) == 4
    for words in ("nothing", "%", "_", "\\"):
        assert titles(conversations.page(reader.pk, words=words)) == []


def test_one_sees_the_workspaces_one_is_in(home: Workspace, reader: Person):
    other = making.workspace("Other")
    make(home, 1)
    make(other, 2)
    outsider = making.person("outsider")
    assert titles(conversations.page(reader.pk)) == ["talk 1"]
    assert titles(conversations.page(outsider.pk)) == []
    Membership.objects.create(person=reader, workspace=other, role=Role.READER)
    assert len(conversations.page(reader.pk).rows) == 3


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"last_activity": START},
        {"last_activity": START.replace(microsecond=999_999)},
        {"last_activity": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)},
        {"last_activity": datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC)},
        {"last_activity": datetime(5138, 11, 16, 9, 46, 39, 123_457, tzinfo=UTC)},
    ],
    ids=["apart", "equal", "microseconds", "last", "first", "far"],
)
def test_the_pages_cover_every_conversation_once(
    home: Workspace,
    reader: Person,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    more: dict[str, Any],
):
    monkeypatch.setattr(conversations, "PAGE", size)
    made = make(home, 8, **more)
    Conversation.objects.filter(pk=made[3].pk).update(pinned_at=START)
    seen = walk(reader)
    assert seen[0] == "talk 4"
    assert seen[1:] == [f"talk {number}" for number in (8, 7, 6, 5, 3, 2, 1)]


def test_far_instants_that_differ_by_little_are_told_apart(
    home: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversations, "PAGE", 1)
    far = datetime(9000, 1, 1, tzinfo=UTC)
    for talk in make(home, 9):
        later = far + timedelta(microseconds=talk.jp_id)
        Conversation.objects.filter(pk=talk.pk).update(last_activity=later)
    assert walk(reader) == [f"talk {number}" for number in range(9, 0, -1)]


@pytest.mark.parametrize("before", ["x", "_", "1_x", "x_1", "nan_1", "inf_1", "1e400_1", "1e18_1"])
def test_a_continuation_that_cannot_be_read_is_the_beginning(
    home: Workspace, reader: Person, before: str
):
    make(home, 2)
    assert titles(conversations.page(reader.pk, before=before)) == ["talk 2", "talk 1"]


@pytest.mark.parametrize("count", [5, 150])
def test_the_queries_do_not_grow(
    home: Workspace, reader: Person, django_assert_num_queries: Any, count: int
):
    make(home, count)
    making.question(making.running(making.conversation(home)))
    with django_assert_num_queries(3):
        page = conversations.page(reader.pk)
        assert [row.conversation.workspace.name for row in page.rows]


def test_a_row_counts_its_inquiries_in_the_order_of_the_states(home: Workspace, reader: Person):
    run = making.running(making.conversation(home, "asked"))
    making.settle(making.question(run), Answered(True))
    making.question(run)
    make(home, 1)
    asked, silent = conversations.page(reader.pk).rows
    assert (list(asked.inquiries.items()), asked.asked) == ([("open", 1), ("answered", 1)], 2)
    assert (silent.inquiries, silent.asked) == ({}, 0)


def test_one_is_fetched_with_its_workspace(home: Workspace, django_assert_num_queries: Any):
    (made,) = make(home, 1)
    with django_assert_num_queries(1):
        assert conversations.get(made.pk).workspace == home
    with pytest.raises(UnknownConversation):
        conversations.get(10**9)


def test_those_begun_in_one_instant_have_ids_of_their_own(home: Workspace, reader: Person):
    made = [conversations.begin(home, "x" * 600, reader.pk) for _ in range(5)]
    assert len({talk.jp_id for talk in made}) == 5
    assert {talk.origin for talk in made} == {Origin.NATIVE}
    assert {len(talk.title) for talk in made} == {500}
    assert made[0].started_by == reader


def test_one_is_found_by_the_names_that_jp_gives_it(home: Workspace):
    (made,) = make(home, 1)
    for spelling in ("1", "jp-c1", " jp-c1 ", "jp-c1-abcde"):
        assert conversations.by_jp_id(spelling) == made


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("x", "is no id"),
        ("", "is no id"),
        ("9" * 30, "is no id"),
        ("jp-c2", "No conversation here"),
        ("jp-c1-zzzzz", "No conversation here"),
    ],
)
def test_a_name_that_names_nothing_is_told(home: Workspace, spelling: str, said: str):
    make(home, 1)
    with pytest.raises(UnknownConversation, match=said):
        conversations.by_jp_id(spelling)


def test_a_name_that_names_several_is_told(home: Workspace):
    make(home, 1)
    make(making.workspace("Other"), 1)
    with pytest.raises(UnknownConversation, match=r"Several workspaces have 1: .*Garden.*Other"):
        conversations.by_jp_id("1")
