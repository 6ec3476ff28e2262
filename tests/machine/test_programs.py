from __future__ import annotations

import os
from pathlib import Path

import pytest

from jpweb.cli.local_cluster.binaries import MissingProgram, Program
from tests.machine.programs import REDIS, Wanted, find

NOTHING = Program(title="Nothing", names=("no-such-program",), package="nothing")
NOWHERE = Wanted(NOTHING, "JPWEB_TEST_NOTHING")


@pytest.fixture(autouse=True)
def forgetful():
    find.cache_clear()
    yield
    find.cache_clear()


def test_a_variable_names_a_program_or_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    own = tmp_path / "redis-server"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    for value in (own, tmp_path):
        find.cache_clear()
        monkeypatch.setenv(REDIS.variable, str(value))
        assert find(REDIS) == own


def test_a_variable_that_names_nothing_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(REDIS.variable, str(tmp_path))
    with pytest.raises(
        MissingProgram, match=r"JPWEB_TEST_REDIS names .*, where no redis-server is"
    ):
        find(REDIS)


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingProgram) as missing:
        find(NOWHERE)
    assert str(missing.value) == (
        "Nothing is missing: apt-get install nothing, or name one in JPWEB_TEST_NOTHING"
    )
