from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.cli.team.programs import POSTGRES, REDIS, Missing, Program, found, on_machine

NOTHING = Program(title="Nothing", names=("no-such-program",), package="nothing")


def test_what_is_here_is_found():
    initdb, redis = found(POSTGRES, REDIS)
    assert initdb.name == "initdb"
    assert redis.name in REDIS.names


def test_all_that_is_missing_is_one_line_with_what_gets_it():
    other = Program(title="Something", names=("none-such",), package="something")
    with pytest.raises(Missing) as told:
        found(REDIS, NOTHING, other)
    assert str(told.value) == (
        "Nothing and Something are missing: apt-get install nothing something"
    )
    with pytest.raises(Missing, match="Nothing is missing: apt-get install nothing"):
        found(NOTHING)


def test_of_several_versions_the_newest_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for version in ("9", "15", "14"):
        place = tmp_path / version
        place.mkdir()
        (place / "no-such-program").touch()
    inside = f"{str(tmp_path).lstrip('/')}/*"
    several = Program(title="Several", names=NOTHING.names, package="", folders=(inside,))
    assert on_machine(several) == tmp_path / "15" / "no-such-program"
    monkeypatch.setattr("jpweb.cli.team.programs.shutil.which", lambda _name: "/bin/sh")
    assert on_machine(several) == Path("/bin/sh")
