from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Value
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Membership
from jpweb.store.sql.compiled_query import CompiledQuery
from tests.architecture.tree import list_modules, read_text
from tests.store import making

pytestmark = pytest.mark.django_db

#: What Django takes longer, or what its compiler took.
_SAVING = re.compile(r"(?:ORM|Django|compiling)[^()]*? \d[\d.]* ?(?:ms|to|and|\.\n)|ORM takes \d")


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
    run = making.start_run(making.conversation(making.workspace(), "A talk"))
    return [making.question(run).pk for _ in range(9)]


@pytest.mark.parametrize("many", [1, 2, 3, 5, 8, 9])
def test_compiled_query_returns_the_rows_of_the_query(keys: list[int], many: int):
    columns_query, whole_query = CompiledQuery(_columns), CompiledQuery(_whole)
    for some_keys in (keys[:many], keys[-many:], [*keys[:many], 10**9]):
        assert columns_query(some_keys) == list(_columns(some_keys))
        rows, usual_rows = whole_query(some_keys), list(_whole(some_keys))
        assert [vars(row).keys() for row in rows] == [vars(row).keys() for row in usual_rows]
        for row, usual_row in zip(rows, usual_rows, strict=True):
            assert (row._state.adding, row._state.db) == (False, usual_row._state.db)
            names = [field.attname for field in Inquiry._meta.concrete_fields]
            assert [getattr(row, n) for n in names] == [getattr(usual_row, n) for n in names]


def test_compiled_query_keeps_select_related_rows(keys: list[int]):
    (row,) = CompiledQuery(_whole)(keys[:1])
    with CaptureQueriesContext(connection) as captured:
        assert row.conversation.workspace.name
        assert row.run.conversation_id == row.conversation_id
        assert row.decider is None
    assert len(captured) == 0


def test_a_row_can_be_saved(keys: list[int]):
    (row,) = CompiledQuery(_whole)(keys[:1])
    row.note = "kept"
    row.save(update_fields=["note"])
    assert Inquiry.objects.get(pk=keys[0]).note == "kept"


def test_keys_may_be_texts_and_stand_in_several_places():
    workspace, other_workspace = making.workspace(), making.workspace()
    ada = making.person("ada", Role.OWNER, workspace)
    Membership.objects.create(person=ada, workspace=other_workspace, role=Role.READER)
    query = CompiledQuery(
        lambda names, workspace_ids: (
            Membership.objects.filter(
                person__username__in=names,
                workspace_id__in=workspace_ids,
                workspace__pk__in=workspace_ids,
            )
            .order_by("role")
            .values_list("person_id", "workspace_id", "role")
        )
    )
    assert query(["ada"], [workspace.pk]) == [(ada.pk, workspace.pk, Role.OWNER)]
    assert query(["ada"], [other_workspace.pk, workspace.pk]) == [
        (ada.pk, other_workspace.pk, Role.READER),
        (ada.pk, workspace.pk, Role.OWNER),
    ]
    assert query(["eve"], [workspace.pk]) == []


def test_the_sql_is_made_once_for_lists_of_about_a_length(keys: list[int]):
    lengths: list[int] = []

    def make(some_keys: list[int]) -> Any:
        lengths.append(len(some_keys))
        return _columns(some_keys)

    query = CompiledQuery(make)
    for many in (3, 4, 3, 4, 1, 1):
        query(keys[:many])
    assert lengths == [4, 1]


def test_a_key_may_be_compared_otherwise():
    """With what an index tells, and in texts where a wildcard is a character as any other."""
    conversation = making.conversation(making.workspace())
    for at, text in enumerate(("50%_off", "50 % off", "a\\b", "plain")):
        JournalEntry.objects.create(conversation=conversation, position=at, text=text, kind="x")

    def make(starts: list[int], texts: list[str]) -> Any:
        rows = JournalEntry.objects.filter(
            position__gte=Value(starts[0]), text__contains=Value(str(texts[0]))
        )
        return rows.order_by("position").values_list("position")

    query = CompiledQuery(make)
    for text, positions in (("0%_o", [0]), ("%", [0, 1]), ("_", [0]), ("\\", [2]), ("a", [2, 3])):
        for start in (0, 1, 3):
            assert query([start], [text]) == [(at,) for at in positions if at >= start]


@pytest.mark.django_db(transaction=True)
def test_a_lock_is_for_a_transaction():
    conversation = making.conversation(making.workspace())
    query = CompiledQuery(lambda keys: Conversation.objects.select_for_update().filter(pk__in=keys))
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        assert query([conversation.pk]) == [conversation]
    locks = connection.features.has_select_for_update
    assert ["FOR UPDATE" in query["sql"] for query in captured if "SELECT" in query["sql"]] == [
        locks
    ]
    with pytest.raises(TransactionManagementError) if locks else nullcontext():
        query([conversation.pk])


def test_modules_say_what_their_compiled_queries_save():
    """What exists for speed carries its measured figure."""
    modules = {str(path): read_text(path) for path in list_modules("jpweb")}
    users = {
        path: text for path, text in modules.items() if re.search(r"[=:] CompiledQuery\(", text)
    }
    assert len(users) > 25
    assert [path for path, text in users.items() if not _SAVING.search(text)] == []
