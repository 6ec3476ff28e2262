from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.cli.local_cluster.binaries import (
    POSTGRES,
    REDIS,
    MissingProgram,
    Program,
    find_program,
    find_programs,
)

NOTHING = Program(title="Nothing", names=("no-such-program",), package="nothing")


def test_find_programs_finds_installed_ones():
    initdb, redis = find_programs(POSTGRES, REDIS)
    assert initdb.name == "initdb"
    assert redis.name in REDIS.names


def test_find_programs_names_all_missing_programs_and_packages():
    other_program = Program(title="Something", names=("none-such",), package="something")
    with pytest.raises(MissingProgram) as error:
        find_programs(REDIS, NOTHING, other_program)
    assert str(error.value) == (
        "Nothing and Something are missing: apt-get install nothing something"
    )
    with pytest.raises(MissingProgram, match="Nothing is missing: apt-get install nothing"):
        find_programs(NOTHING)


def test_find_program_prefers_the_newest_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for version in ("9", "15", "14"):
        place = tmp_path / version
        place.mkdir()
        (place / "no-such-program").touch()
    inside = f"{str(tmp_path).lstrip('/')}/*"
    several = Program(title="Several", names=NOTHING.names, package="", folders=(inside,))
    assert find_program(several) == tmp_path / "15" / "no-such-program"
    monkeypatch.setattr("jpweb.cli.local_cluster.binaries.shutil.which", lambda _name: "/bin/sh")
    assert find_program(several) == Path("/bin/sh")
