from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import Error, IntegrityError, connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store.choices import RunPhase, RunState
from jpweb.store.models import CallCheckpoint, Inquiry, JournalEntry, Run, Turn
from jpweb.store.sql import compiled_write
from tests.store import making

pytestmark = pytest.mark.django_db
NOW = timezone.now()
SETTLED = {
    "state": "answered",
    "answer": {"deep": ["ü", None, True]},
    "settled_at": NOW,
    "response_position": 7,
    "decider_id": None,
    "note": "100 % \\ 'so'",
}


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def entry(run: Run, at: int) -> JournalEntry:
    return JournalEntry(
        conversation=run.conversation,
        position=at,
        text="{}",
        kind="x",
        anchor="e-1",
        category="call",
    )


def question(run: Run, at: int) -> Inquiry:
    return Inquiry(
        conversation=run.conversation, run=run, workspace_id=run.conversation.workspace_id,
        anchor=f"e-{at}", position=at, inquiry_id="a.b", source="tool", asker="vault",
        question={"text": "Go on?", "n": [1, None]}, answer_type="boolean", note="",
        channel="", same_question_key="", waiter="", seal_key="", asked_at=NOW,
    )  # fmt: skip


def turn(run: Run, at: int) -> Turn:
    return Turn(conversation=run.conversation, number=at, position=at, title="Hi")


def columns(row: Model) -> dict[str, Any]:
    return type(row)._default_manager.filter(pk=row.pk).values().get()


@pytest.mark.parametrize("make", [entry, question, turn])
def test_a_row_is_inserted_as_save_does_it(run: Run, make: Callable[[Run, int], Any]):
    row, usual = make(run, 100), make(run, 100)
    compiled_write.insert_row(row)
    values = columns(row)
    assert (row._state.adding, row._state.db) == (False, "default")
    row.delete()
    usual.save(force_insert=True)
    expected = columns(usual)
    assert values | {"id": usual.pk} == expected
    assert vars(row).keys() == vars(usual).keys()


@pytest.mark.parametrize("make", [entry, question, turn])
def test_values_are_inserted_as_save_does_it(run: Run, make: Callable[[Run, int], Any]):
    usual = make(run, 100)
    values = {name: value for name, value in vars(usual).items() if name not in ("_state", "id")}
    key = compiled_write.insert_values(type(usual), values)
    rows = type(usual)._default_manager.filter(pk=key)
    stored_values = rows.values().get()
    rows.delete()
    usual.save(force_insert=True)
    assert stored_values | {"id": usual.pk} == columns(usual)


@pytest.mark.parametrize("value", [None, 7, "7", True], ids=repr)
def test_values_of_all_columns_are_prepared_as_save_does_it(value: Any):
    for model in apps.get_app_config("store").get_models():
        for field in model._meta.concrete_fields:
            statement = compiled_write._WriteStatement("", [field])
            try:
                expected = field.get_db_prep_save(value, connection)
            except (TypeError, ValueError, ValidationError):
                continue  # no value of this column
            (param,) = statement.prepare_params([value], connection)
            assert (type(param), param) == (type(expected), expected), field


def test_insert_row_gives_each_row_a_key(run: Run):
    rows = [entry(run, at) for at in (100, 101)]
    for row in rows:
        compiled_write.insert_row(row)
    assert [JournalEntry.objects.get(pk=row.pk).position for row in rows] == [100, 101]


def test_insert_row_raises_errors_of_the_database(run: Run):
    compiled_write.insert_row(entry(run, 100))
    with pytest.raises(IntegrityError), transaction.atomic():
        compiled_write.insert_row(entry(run, 100))
    unsaid = question(run, 100)
    unsaid.note = Inquiry().note
    with pytest.raises(Error), transaction.atomic():
        compiled_write.insert_row(unsaid)
    assert not Inquiry.objects.exists()


def test_columns_are_overwritten_as_update_does_it(run: Run):
    row, other_row, usual = (making.question(run) for _ in range(3))
    before = columns(other_row)
    assert compiled_write.update_rows(Inquiry, {"id": row.pk, "state": "open"}, **SETTLED) == 1
    assert Inquiry.objects.filter(pk=usual.pk).update(**SETTLED) == 1
    values, expected = columns(row), columns(usual)
    assert [values[name] for name in SETTLED] == [expected[name] for name in SETTLED]
    assert columns(other_row) == before
    changed_names = ("id", "anchor", "position", "inquiry_id", *SETTLED)
    untouched = [name for name in before if name not in changed_names]
    assert [values[name] for name in untouched] == [before[name] for name in untouched]


def test_update_rows_requires_all_conditions(run: Run):
    row = making.question(run)
    for conditions in (
        {"id": row.pk, "state": "answered"},
        {"id": row.pk + 1, "state": "open"},
        {"id": row.pk, "state": "open", "position": row.position + 1},
    ):
        assert compiled_write.update_rows(Inquiry, conditions, **SETTLED) == 0
    assert columns(row)["state"] == "open"
    assert compiled_write.update_rows(Inquiry, {"id": row.pk, "state": "open"}, **SETTLED) == 1
    assert compiled_write.update_rows(Inquiry, {"id": row.pk, "state": "open"}, **SETTLED) == 0


def test_update_rows_returns_the_number_of_rows(run: Run):
    making.start_run(making.conversation(run.conversation.workspace))
    conditions = {"state": RunState.RUNNING}
    assert compiled_write.update_rows(Run, conditions, phase=RunPhase.CALLING, death_count=0) == 2
    assert set(Run.objects.values_list("phase", "death_count")) == {("calling", 0)}


def test_the_order_of_columns_is_the_callers(run: Run):
    for values in ({"death_count": 1, "resume_count": 2}, {"resume_count": 2, "death_count": 1}):
        Run.objects.update(death_count=0, resume_count=0)
        compiled_write.update_rows(Run, {"id": run.pk}, **values)
        assert Run.objects.values_list("death_count", "resume_count").get() == (1, 2)


def test_rows_are_deleted_that_are_as_said(run: Run):
    for call in ("a", "b"):
        CallCheckpoint.objects.create(
            run=run, tool_call_id=call, is_error=False, delivered=True, was_cut_off=False
        )
    assert compiled_write.delete_rows(CallCheckpoint, {"run_id": run.pk, "tool_call_id": "a"}) == 1
    assert compiled_write.delete_rows(CallCheckpoint, {"run_id": run.pk, "tool_call_id": "a"}) == 0
    assert [row.tool_call_id for row in CallCheckpoint.objects.all()] == ["b"]


def test_a_column_that_is_not_there_is_an_error(run: Run):
    with pytest.raises(KeyError):
        compiled_write.update_rows(Run, {"id": run.pk}, staet="done")


def test_a_name_is_sql_once(run: Run):
    """The same columns are the same statement; others are another."""
    compiled_write.update_rows(Run, {"id": run.pk}, death_count=3)
    cache_size = compiled_write._compile_update.cache_info().currsize
    with CaptureQueriesContext(connection) as captured:
        compiled_write.update_rows(Run, {"id": run.pk}, death_count=4)
        assert compiled_write._compile_update.cache_info().currsize == cache_size
        compiled_write.update_rows(Run, {"id": run.pk, "fence": 1}, death_count=5)
    assert compiled_write._compile_update.cache_info().currsize == cache_size + 1
    assert ["fence" in query["sql"] for query in captured] == [False, True]
