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
    would have read three cards instead of a hundred. Each query is compiled once after a patch:
    compiling at each call took 2 % of the processor time.
    """
    set_attribute = patch.setattr
    patched_queries: dict[CompiledQuery, CompiledQuery] = {}

    def call_anew(query: CompiledQuery, *keys: Any) -> list[Any]:
        if query not in patched_queries:
            patched_queries[query] = CompiledQuery(query._build_query)
        return _call_query(patched_queries[query], *keys)

    def setattr_and_compile(target: Any, *arguments: Any, **options: Any) -> None:
        set_attribute(target, *arguments, **options)
        if isinstance(target, ModuleType) and target.__name__.startswith("jpweb.store"):
            patched_queries.clear()
            set_attribute(CompiledQuery, "__call__", call_anew)

    patch.setattr = setattr_and_compile  # type: ignore[method-assign]  # for one test
