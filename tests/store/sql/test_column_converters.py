"""Values of columns that compiled queries read, against those of Django's own converters."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, Max, QuerySet

from jpweb.store.models import Conversation, Inquiry
from jpweb.store.sql.column_converters import choose_converter, convert_instant, convert_json
from jpweb.store.sql.compiled_query import CompiledQuery
from tests.store import making

#: JSON texts whose values msgspec reads otherwise, or not at all, beside plain ones.
JSON_TEXTS = [
    "null", "true", "-0", "-0.0", "1E2", "18446744073709551616", "123456789012345678901234567890",
    '{"a": 1, "a": 2}', '"\\u0000"', '"\\ud800"', "[1, {}]", "NaN", "[-Infinity]", "1e400",
]  # fmt: skip


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_json_text_has_the_value_that_python_reads(text: str):
    assert repr(convert_json(text, None, None)) == repr(json.loads(text))


def test_text_that_is_no_json_stays_as_it_is():
    assert convert_json("{broken", None, None) == "{broken"
    assert convert_json('"\ud800', None, None) == '"\ud800'
    assert convert_json(None, None, None) is None


def test_instant_without_a_zone_is_in_utc_and_a_zone_is_kept():
    instant = datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC)
    there = timezone(timedelta(hours=2))
    assert convert_instant("2026-01-02 03:04:05.000600", None, None) == instant
    assert convert_instant("2026-01-02 05:04:05.000600+02:00", None, None) == instant
    assert convert_instant(instant.replace(tzinfo=None), None, None) == instant
    assert convert_instant(instant.astimezone(there), None, None) == instant
    assert convert_instant(None, None, None) is None


def test_compiled_query_reads_columns_as_the_orm_does(db: None):
    inquiry = making.question(making.start_run(making.conversation(making.workspace())))
    Inquiry.objects.filter(pk=inquiry.pk).update(answer={"a": [1, None, "é"]})
    (found,) = CompiledQuery(lambda keys: Inquiry.objects.filter(pk__in=keys))([inquiry.pk])
    stored = Inquiry.objects.get(pk=inquiry.pk)
    names = [field.attname for field in Inquiry._meta.concrete_fields]
    assert [getattr(found, name) for name in names] == [getattr(stored, name) for name in names]
    conversation = inquiry.conversation_id
    assert CompiledQuery(select_latest)([conversation]) == list(select_latest([conversation]))


def select_latest(keys: list[int]) -> QuerySet[Any, Any]:
    """Return a column of JSON, and an instant that is the result of a function."""
    rows = Conversation.objects.filter(pk__in=keys).values_list("labels")
    latest: QuerySet[Any, Any] = rows.annotate(Max("inquiries__asked_at"), Count("pk"))
    return latest


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's driver reads instants")
def test_converters_of_django_are_replaced_by_the_quick_ones():
    for name, quick in (("asked_at", convert_instant), ("question", convert_json)):
        field: Any = Inquiry._meta.get_field(name)
        column = field.cached_col
        converters = [
            *connection.ops.get_db_converters(column),
            *field.get_db_converters(connection),
        ]
        assert [choose_converter(each, column) for each in converters] == [quick]
    operations: Any = connection.ops
    date_converter = operations.convert_datefield_value
    assert choose_converter(date_converter, None) == date_converter
