from __future__ import annotations

import pytest

from tests.store.postgresql.parts import CORE, ENGINE, QUERIES, RACES, REST, ROOT, STORE


def test_modules_that_depend_on_the_engine_are_in_a_part():
    modules = [
        str(path.relative_to(STORE))
        for path in STORE.rglob("*.py")
        if ENGINE.search(path.read_text())
    ]
    assert sorted(modules) == sorted((*QUERIES.modules, *RACES.modules))


@pytest.mark.parametrize("tests", [CORE, QUERIES.tests, RACES.tests, *REST.values()])
def test_parts_name_existing_tests(tests: tuple[str, ...]):
    for file, _, name in (test.partition("::") for test in tests):
        assert (ROOT / file).exists()
        assert not name or f"def {name}(" in (ROOT / file).read_text()


def test_core_is_taken_from_the_parts_that_depend_on_the_engine():
    parts = (*QUERIES.tests, *RACES.tests)
    assert [test for test in CORE if not test.startswith(parts)] == []
