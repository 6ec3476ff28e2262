from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.disk import config
from jpweb.store.errors import BadFile
from tests.store import making


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws" / ".jp" / "config.d").mkdir(parents=True)
    return tmp_path / "ws"


def write(root: Path, name: str, text: str) -> Path:
    path = root / ".jp" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(root: Path) -> list[str]:
    return [name for name, _ in config.read(root).layers]


def refused(root: Path) -> str:
    with pytest.raises(BadFile) as caught:
        config.read(root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_workspace_without_files_says_nothing(tmp_path: Path, root: Path):
    assert config.read(root) == config.Files()
    assert config.read(tmp_path / "nowhere") == config.Files()


def test_the_file_lies_over_what_it_extends(root: Path):
    write(root, "config.toml", "a = 1")
    write(root, "config.d/b.toml", "a = 2")
    write(root, "config.d/deep/a.json", '{"a": 3}')
    assert config.read(root).layers == (
        (".jp/config.d/b.toml", {"a": 2}),
        (".jp/config.d/deep/a.json", {"a": 3}),
        (".jp/config.toml", {"a": 1}),
    )


def test_what_is_extended_without_a_file_counts_too(root: Path):
    write(root, "config.d/b.toml", "a = 2")
    assert names(root) == [".jp/config.d/b.toml"]


def test_a_file_says_itself_what_it_extends_and_what_lies_over_it(root: Path):
    write(
        root,
        "config.toml",
        'extends = ["one.toml", {path = "o*.json", strategy = "after"}, {path = "two.toml"}]',
    )
    for name in ("one.toml", "two.toml", "config.d/three.toml"):
        write(root, name, "")
    write(root, "over.json", "{}")
    assert names(root) == [".jp/one.toml", ".jp/two.toml", ".jp/config.toml", ".jp/over.json"]


def test_a_file_never_extends_itself(root: Path):
    write(root, "config.toml", 'extends = ["*.toml"]')
    assert names(root) == [".jp/config.toml"]


def test_other_formats_are_noted(root: Path):
    for name in ("config.yaml", "config.d/x.yml", "config.d/y.json5"):
        write(root, name, "a: 1")
    write(root, "config.d/README.md", "Hello")
    found = config.read(root)
    assert found.layers == ()
    assert sorted(found.notes) == [
        ".jp/config.d/x.yml was not read: only TOML and JSON are.",
        ".jp/config.d/y.json5 was not read: only TOML and JSON are.",
        ".jp/config.yaml was not read: only TOML is, here.",
    ]


def test_reading_writes_nothing(root: Path):
    write(root, "config.toml", "a = 1")
    write(root, "config.d/b.json", "{}")
    before = making.tree(root)
    config.read(root)
    assert making.tree(root) == before


@pytest.mark.parametrize("pattern", ["../x.toml", "/etc/*.toml", "a/../../x.toml", "**/../../*"])
def test_a_pattern_that_leads_out_is_refused(root: Path, pattern: str):
    (root.parent / "x.toml").write_text("a = 1")
    write(root, "config.toml", f'extends = ["{pattern}"]')
    assert refused(root).startswith(f"extends leads out of the workspace: '{pattern}'.")


@pytest.mark.parametrize("name", ["config.toml", "config.d/x.toml"])
def test_a_link_that_leads_out_is_refused(root: Path, name: str):
    secret = root.parent / "secret.toml"
    secret.write_text("a = 1")
    (root / ".jp" / name).symlink_to(secret)
    assert (
        refused(root)
        == f".jp/{name} is a link that leads out of the workspace. It was not followed."
    )


def test_a_folder_that_is_a_link_out_is_not_followed(root: Path):
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "x.toml").write_text("a = 1")
    (root / ".jp" / "linked").symlink_to(outside)
    write(root, "config.toml", 'extends = ["linked/*"]')
    assert "leads out of the workspace" in refused(root)
    (root / ".jp" / "config.toml").unlink()
    (root / ".jp" / "config.d" / "linked").symlink_to(outside)
    assert config.read(root).layers == ()


def test_a_whole_folder_of_jp_that_is_a_link_out_is_refused(root: Path):
    moved = root.parent / "moved"
    write(root, "config.toml", "a = 1")
    (root / ".jp").rename(moved)
    (root / ".jp").symlink_to(moved)
    assert "leads out of the workspace" in refused(root)


def test_a_link_inside_is_followed(root: Path):
    write(root, "shared.toml", "a = 1")
    (root / ".jp" / "config.toml").symlink_to("shared.toml")
    assert config.read(root).layers == ((".jp/config.toml", {"a": 1}),)


def test_links_in_a_circle_are_told(root: Path):
    (root / ".jp" / "config.toml").symlink_to("config.toml")
    assert refused(root).startswith("The configuration in ")


def test_a_link_to_nothing_is_told(root: Path):
    (root / ".jp" / "config.toml").symlink_to("missing.toml")
    assert refused(root).endswith("missing.toml: No such file or directory")


def test_a_pipe_makes_nobody_wait(root: Path):
    os.mkfifo(root / ".jp" / "config.toml")
    assert refused(root) == ".jp/config.toml is not a regular file."


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.toml", "a = 1\nb = = 2", ".jp/config.toml: not TOML: "),
        ("config.toml", "a = " + "9" * 5000, ".jp/config.toml: not TOML: "),
        ("config.toml", "a = " + "[" * 5000, ".jp/config.toml: nested too deep"),
        ("config.toml", "#" * (config.SIZE + 1), ".jp/config.toml is larger than 1024 KiB."),
        ("config.d/x.json", "{", ".jp/config.d/x.json: not JSON: "),
        ("config.d/x.json", "[" * 100_000, ".jp/config.d/x.json: not JSON: "),
        ("config.d/x.json", "[]", ".jp/config.d/x.json is not a JSON object."),
        ("config.toml", "extends = 1", ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", "extends = [1]", ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", 'extends = [""]', ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", 'extends = [{path = "x", strategy = "y"}]', ".jp/config.toml: extends mu"),
        ("config.toml", 'extends = ["a**b"]', "extends is not a path: 'a**b'."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_names_the_file_and_why(root: Path, name: str, text: str, said: str):
    write(root, name, text)
    assert refused(root).startswith(said)


def test_bad_toml_names_the_line(root: Path):
    write(root, "config.toml", "a = 1\nb = = 2")
    assert "at line 2" in refused(root)


def test_what_is_no_text_is_refused(root: Path):
    (root / ".jp" / "config.toml").write_bytes(b"a = '\xff'")
    assert refused(root) == ".jp/config.toml is not UTF-8."


def test_a_pattern_that_finds_too_much_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config, "FILES", 2)
    for number in range(3):
        write(root, f"config.d/{number}.toml", "")
    assert refused(root) == "extends finds more than 2 files: 'config.d/**/*'."


def test_values_are_as_every_database_takes_them(root: Path):
    write(root, "config.d/x.json", json.dumps({"a\0": ["\ud800"]}))
    values: Any = config.read(root).layers[0][1]
    assert values == {"a\ufffd": ["\ufffd"]}
