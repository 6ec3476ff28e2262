from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.models import Inquiry, Membership
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import Role
from tests.store import making

pytestmark = pytest.mark.django_db


def _columns(keys: list[int]) -> Any:
    return (
        Inquiry.objects.filter(pk__in=keys, state="open")
        .order_by("-pk")
        .values_list("asked_at", "pk", "question", "conversation__title")
    )


def _whole(keys: list[int]) -> Any:
    rows = Inquiry.objects.select_related("conversation__workspace", "run", "decider")
    return rows.filter(pk__in=keys).order_by("pk")


@pytest.fixture
def keys() -> list[int]:
    run = making.running(making.conversation(making.workspace(), "A talk"))
    return [making.question(run).pk for _ in range(9)]


@pytest.mark.parametrize("many", [1, 2, 3, 5, 8, 9])
def test_it_returns_what_the_query_returns(keys: list[int], many: int):
    columns, whole = Prepared(_columns), Prepared(_whole)
    for some in (keys[:many], keys[-many:], [*keys[:many], 10**9]):
        assert columns(some) == list(_columns(some))
        read, usual = whole(some), list(_whole(some))
        assert [vars(row).keys() for row in read] == [vars(row).keys() for row in usual]
        for row, other in zip(read, usual, strict=True):
            assert (row._state.adding, row._state.db) == (False, other._state.db)
            names = [field.attname for field in Inquiry._meta.concrete_fields]
            assert [getattr(row, n) for n in names] == [getattr(other, n) for n in names]


def test_what_is_selected_with_a_row_is_not_looked_for_again(keys: list[int]):
    (row,) = Prepared(_whole)(keys[:1])
    with CaptureQueriesContext(connection) as captured:
        assert row.conversation.workspace.name
        assert row.run.conversation_id == row.conversation_id
        assert row.decider is None
    assert len(captured) == 0


def test_a_row_can_be_saved(keys: list[int]):
    (row,) = Prepared(_whole)(keys[:1])
    row.note = "kept"
    row.save(update_fields=["note"])
    assert Inquiry.objects.get(pk=keys[0]).note == "kept"


def test_keys_may_be_texts_and_stand_in_several_places():
    home, other = making.workspace(), making.workspace()
    ada = making.person("ada", Role.OWNER, home)
    Membership.objects.create(person=ada, workspace=other, role=Role.READER)
    own = Prepared(
        lambda names, homes: (
            Membership.objects.filter(
                person__username__in=names, workspace_id__in=homes, workspace__pk__in=homes
            )
            .order_by("role")
            .values_list("person_id", "workspace_id", "role")
        )
    )
    assert own(["ada"], [home.pk]) == [(ada.pk, home.pk, Role.OWNER)]
    assert own(["ada"], [other.pk, home.pk]) == [
        (ada.pk, other.pk, Role.READER),
        (ada.pk, home.pk, Role.OWNER),
    ]
    assert own(["eve"], [home.pk]) == []


def test_the_sql_is_made_once_for_lists_of_about_a_length(keys: list[int]):
    made: list[int] = []

    def make(some: list[int]) -> Any:
        made.append(len(some))
        return _columns(some)

    query = Prepared(make)
    for many in (3, 4, 3, 4, 1, 1):
        query(keys[:many])
    assert made == [4, 1]
