from __future__ import annotations

import pytest

from tests.store.postgresql.parts import ENGINE, QUERIES, RACES, REST, ROOT, STORE


def test_each_module_that_depends_on_the_engine_has_a_part():
    modules = [
        str(path.relative_to(STORE))
        for path in STORE.rglob("*.py")
        if ENGINE.search(path.read_text())
    ]
    assert sorted(modules) == sorted((*QUERIES.modules, *RACES.modules))


@pytest.mark.parametrize("tests", [QUERIES.tests, RACES.tests, *REST.values()])
def test_each_part_names_tests_that_exist(tests: tuple[str, ...]):
    assert [path for path in tests if not (ROOT / path).exists()] == []
