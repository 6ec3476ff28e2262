"""Indexes of the store's tables: each is written with every row, so none repeats another."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models

redundant_indexes = importlib.import_module("jpweb.store.migrations.0051_redundant_indexes")


def list_first_fields(model: type[models.Model]) -> set[str]:
    """Return the first field of each index and unique constraint that holds all rows."""
    unique_constraints = [
        constraint
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint) and constraint.fields
    ]
    names = {each.fields[0] for each in unique_constraints if each.condition is None}
    indexes = [index for index in model._meta.indexes if index.fields_orders]
    return names | {each.fields_orders[0][0] for each in indexes if each.condition is None}


def has_own_index(field: models.Field[Any, Any]) -> bool:
    is_indexed = isinstance(field, models.ForeignKey) and not field.unique
    return is_indexed and field.db_index  # type: ignore[attr-defined]  # no stub


def test_no_foreign_key_has_an_index_where_another_begins_with_it():
    assert [
        f"{model.__name__}.{field.name}: db_index=False"
        for model in apps.get_app_config("store").get_models()
        for field in model._meta.local_fields
        if has_own_index(field) and field.name in list_first_fields(model)
    ] == []


@pytest.mark.django_db
def test_migrated_tables_have_no_redundant_index():
    with connection.cursor() as cursor:
        for model_name, field_name in redundant_indexes.FOREIGN_KEYS:
            model = apps.get_model("store", model_name)
            column = model._meta.get_field(field_name).column
            constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
            assert [
                name
                for name, constraint in constraints.items()
                if constraint["columns"] == [column]
                and constraint["index"]
                and not constraint["unique"]
            ] == [], model_name
