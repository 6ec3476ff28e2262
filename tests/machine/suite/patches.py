"""Keeps what a test patches out of what is remembered beyond the test."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from jpweb.store.sql.compiled_query import CompiledQuery

_call_query = CompiledQuery.__call__


def compile_under_patches(patch: pytest.MonkeyPatch) -> None:
    """Compile queries anew for the rest of a test, once it sets a constant of the store.

    A limit is a constant in the SQL of a ``CompiledQuery``, which a process keeps: the next test
    would have read three cards instead of a hundred.
    """
    set_attribute = patch.setattr

    def setattr_and_compile(target: Any, *arguments: Any, **options: Any) -> None:
        set_attribute(target, *arguments, **options)
        if isinstance(target, ModuleType) and target.__name__.startswith("jpweb.store"):
            set_attribute(CompiledQuery, "__call__", _call_anew)

    patch.setattr = setattr_and_compile  # type: ignore[method-assign]  # for one test


def _call_anew(query: CompiledQuery, *keys: Any) -> list[Any]:
    return _call_query(CompiledQuery(query._build_query), *keys)
