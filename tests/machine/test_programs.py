from __future__ import annotations

import os
from pathlib import Path

import pytest

from jpweb.cli.local_cluster.binaries import MissingProgram, Program
from tests.machine.programs import REDIS, Wanted, ensure_program

NOTHING = Program(title="Nothing", names=("no-such-program",), package="nothing")
NOWHERE = Wanted(NOTHING, "JPWEB_TEST_NOTHING")


@pytest.fixture(autouse=True)
def forgetful():
    ensure_program.cache_clear()
    yield
    ensure_program.cache_clear()


def test_a_variable_names_a_program_or_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for value in (program, tmp_path):
        ensure_program.cache_clear()
        monkeypatch.setenv(REDIS.variable, str(value))
        assert ensure_program(REDIS) == program


def test_ensure_program_refuses_a_variable_that_names_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(REDIS.variable, str(tmp_path))
    with pytest.raises(
        MissingProgram, match=r"JPWEB_TEST_REDIS names .*, where no redis-server is"
    ):
        ensure_program(REDIS)


def test_ensure_program_names_a_missing_program_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingProgram) as error_info:
        ensure_program(NOWHERE)
    assert str(error_info.value) == (
        "Nothing is missing: apt-get install nothing, or name one in JPWEB_TEST_NOTHING"
    )
