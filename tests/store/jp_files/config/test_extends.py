from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import config
from jpweb.store.jp_files.config import size_limits

DIRECTORY_COUNT = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with many directories, one of which has a file of the configuration."""
    for number in range(DIRECTORY_COUNT):
        (tmp_path / ".jp" / "config.d" / f"d{number}").mkdir(parents=True)
    (tmp_path / ".jp" / "config.d" / "d7" / "z.toml").write_text("a = 1")
    return tmp_path


def extend(root: Path, name: str, patterns: list[str]) -> None:
    (root / ".jp" / name).write_text(f"extends = {json.dumps(patterns)}")


@pytest.mark.parametrize("pattern", ["**/" * 160 + "z.toml", "config.d/" + "**/" * 150 + "*"])
def test_consecutive_double_stars_take_the_steps_of_one(root: Path, monkeypatch, pattern: str):
    monkeypatch.setattr(size_limits, "MAX_MATCH_STEPS", 6 * DIRECTORY_COUNT)
    extend(root, "config.toml", [pattern])
    assert ".jp/config.d/d7/z.toml" in [name for name, _ in config.read_config(root).layers]


def test_patterns_of_all_files_have_a_limit_of_steps_together(root: Path):
    extend(root, "config.toml", [f"f{number}.toml" for number in range(20)])
    for number in range(20):
        extend(root, f"f{number}.toml", [f"**/z{number}{letter}.toml" for letter in "abcde"])
    with pytest.raises(InvalidConfigFile, match="extends takes more than 100,000 steps"):
        config.read_config(root)
