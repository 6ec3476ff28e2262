from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import config
from jpweb.store.jp_files.config import size_limits
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
    return [name for name, _ in config.read_config(root).layers]


def get_refusal(root: Path) -> str:
    with pytest.raises(InvalidConfigFile) as error:
        config.read_config(root)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_read_config_without_files_is_empty(tmp_path: Path, root: Path):
    assert config.read_config(root) == config.ConfigFiles()
    assert config.read_config(tmp_path / "nowhere") == config.ConfigFiles()


def test_read_config_lets_a_file_override_files_it_extends(root: Path):
    write(root, "config.toml", "a = 1")
    write(root, "config.d/b.toml", "a = 2")
    write(root, "config.d/deep/a.json", '{"a": 3}')
    assert config.read_config(root).layers == (
        (".jp/config.d/b.toml", {"a": 2}),
        (".jp/config.d/deep/a.json", {"a": 3}),
        (".jp/config.toml", {"a": 1}),
    )


def test_read_config_extends_config_d_without_a_main_file(root: Path):
    write(root, "config.d/b.toml", "a = 2")
    assert names(root) == [".jp/config.d/b.toml"]


def test_read_config_orders_extended_files_before_and_after_a_file(root: Path):
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


def read_layers(root: Path) -> list[tuple[str, Any]]:
    return [(name.removeprefix(".jp/"), values) for name, values in config.read_config(root).layers]


def test_files_of_each_format_are_read(root: Path):
    write(root, "config.yaml", "base: &b {x: 1}\nmore: {<<: *b, at: 2026-01-02}\n")
    write(root, "config.d/a.json", '\ufeff{"a": "// no comment", /* one */ "b": 2 // two\n}')
    write(root, "config.d/b.yml", "")
    write(root, "config.d/README.md", "Hello")
    assert read_layers(root) == [
        ("config.d/a.json", {"a": "// no comment", "b": 2}),
        ("config.d/b.yml", {}),
        ("config.yaml", {"base": {"x": 1}, "more": {"x": 1, "at": "2026-01-02"}}),
    ]
    assert config.read_config(root).notes == ()


def test_the_first_main_file_is_read_and_others_are_noted(root: Path):
    for name in ("config.json", "config.json5", "config.yml"):
        write(root, name, "{}")
    config_files = config.read_config(root)
    assert sorted(config_files.notes) == [
        ".jp/config.json5 was not read: write TOML, JSON or YAML.",
        ".jp/config.yml was not read: .jp/config.json is.",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "not YAML: while parsing"),
        ("- a", "it is not a YAML table."),
        ("a: &a [*a]", "nested too deep"),
        ("a: !!python/object/apply:os.system [true]", "not YAML: could not determine"),
        ("a: !!binary aGk=", "it has a value that configuration has not"),
        (
            "\n".join(
                ["a0: &a0 [x]"]
                + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
            ),
            "it has more than",
        ),
        (
            "a0: &a0 !!pairs [{x: 1}]\n"
            + "\n".join(
                f"a{n}: &a{n} !!pairs [{{x: *a{n - 1}}}, {{x: *a{n - 1}}}]" for n in range(1, 25)
            ),
            "it has more than 20,000 keys and items",
        ),
        (
            f"a: &x {'y' * 10_000}\nb: [{'*x, ' * 18}]",
            "its values have more than 28,360 characters",
        ),
        (f"? &x {'y' * 10_000}\n: 1\nb: [{'{*x : 1}, ' * 18}]", "its values have more than"),
        (f"a: &x 0x{'f' * 3_500}\nb: [{'*x, ' * 10_000}]", "its values have more than"),
    ],
)
def test_hostile_yaml_is_refused_by_name(root: Path, text: str, problem: str):
    write(root, "config.yaml", text)
    message = get_refusal(root)
    assert message.startswith(".jp/config.yaml")
    assert problem in message


def test_read_config_resolves_nested_extends_from_the_files_folder(root: Path):
    """A persona that builds on a skill lost its prompt."""
    write(root, "config.toml", 'extends = ["personas/dev.toml"]\nname = "main"')
    write(root, "personas/dev.toml", 'extends = ["../skills/*.toml", "base.json"]\nname = "dev"')
    write(root, "personas/base.json", '{"name": "base"}')
    write(
        root, "skills/a.toml", 'name = "a"\nextends = [{path = "more/z.toml", strategy = "after"}]'
    )
    write(root, "skills/more/z.toml", 'name = "z"')
    assert [values["name"] for _, values in read_layers(root)] == ["a", "z", "base", "dev", "main"]


def test_read_config_merges_a_file_extended_twice_two_times(root: Path):
    write(root, "config.toml", 'extends = ["b.toml", "c.toml"]')
    write(root, "b.toml", 'extends = ["d.toml"]')
    write(root, "c.toml", 'extends = ["d.toml"]')
    write(root, "d.toml", "")
    assert names(root) == [f".jp/{name}.toml" for name in ("d", "b", "d", "c", "config")]


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a": "b", "b": "a"}, ".jp/config.toml -> .jp/a.toml -> .jp/b.toml -> .jp/a.toml"),
        ({"a": "b", "b": "c", "c": "b"}, ".jp/b.toml -> .jp/c.toml -> .jp/b.toml"),
    ],
)
def test_a_circle_of_files_is_refused_by_name(root: Path, files: dict[str, str], circle: str):
    write(root, "config.toml", 'extends = ["a.toml"]')
    for name, extended in files.items():
        write(root, f"{name}.toml", f'extends = ["{extended}.toml"]')
    assert get_refusal(root).startswith("extends is circular: ")
    assert get_refusal(root).endswith(f"{circle}.")


def test_files_that_multiply_are_refused(root: Path):
    write(root, "config.toml", 'extends = ["f0.toml"]')
    for number in range(12):
        path = f"f{number + 1}.toml"
        write(
            root,
            f"f{number}.toml",
            f'extends = ["{path}", {{path = "{path}", strategy = "after"}}]',
        )
    write(root, "f12.toml", "")
    assert "extends more than 400 files, counting each as often" in get_refusal(root)


def test_a_path_that_names_no_file_is_noted(root: Path):
    write(root, "config.toml", 'extends = ["personas/gone.toml", "config.d/*.toml"]')
    assert config.read_config(root).notes == (
        ".jp/personas/gone.toml was not read: there is no such file.",
    )


def test_read_config_writes_nothing(root: Path):
    write(root, "config.toml", "a = 1")
    write(root, "config.d/b.json", "{}")
    before = making.read_tree(root)
    config.read_config(root)
    assert making.read_tree(root) == before


@pytest.mark.parametrize("pattern", ["../x.toml", "/etc/*.toml", "a/../../x.toml", "**/../../*"])
def test_a_pattern_that_leads_out_is_refused(root: Path, pattern: str):
    (root.parent / "x.toml").write_text("a = 1")
    write(root, "config.toml", f'extends = ["{pattern}"]')
    assert get_refusal(root).startswith(f"extends leads out of the workspace: '{pattern}'.")


@pytest.mark.parametrize("target", ["../../secret.toml", "shared.toml", "missing", "config.toml"])
@pytest.mark.parametrize("name", ["config.toml", "config.d/x.toml"])
def test_read_a_linked_file_is_refused(root: Path, name: str, target: str):
    (root.parent / "secret.toml").write_text("a = 1")
    write(root, "shared.toml", "a = 1")
    (root / ".jp" / name).symlink_to(target)
    assert get_refusal(root) == f".jp/{name}: it is a symbolic link, and jpweb follows none."


def test_read_config_refuses_or_notes_a_linked_directory(root: Path):
    outside_folder = root.parent / "outside"
    outside_folder.mkdir()
    (outside_folder / "x.toml").write_text("a = 1")
    (root / ".jp" / "linked").symlink_to(outside_folder)
    write(root, "config.toml", 'extends = ["linked/*"]')
    assert get_refusal(root) == (
        "extends leads through a symbolic link: .jp/linked. It was not followed."
    )
    write(root, "config.toml", 'extends = ["*/*"]')
    assert config.read_config(root).notes == (".jp/linked was not read: it is a symbolic link.",)
    (root / ".jp" / "config.toml").unlink()
    (root / ".jp" / "config.d" / "linked").symlink_to(outside_folder)
    config_files = config.read_config(root)
    assert config_files.layers == ()
    assert config_files.notes == (".jp/config.d/linked was not read: it is a symbolic link.",)


def test_read_a_linked_jp_directory_is_refused(root: Path):
    moved_folder = root.parent / "moved"
    write(root, "config.toml", "a = 1")
    (root / ".jp").rename(moved_folder)
    (root / ".jp").symlink_to(moved_folder)
    assert "cannot be read: .jp: it is a symbolic link" in get_refusal(root)


def test_read_a_fifo_is_refused_without_waiting(root: Path):
    os.mkfifo(root / ".jp" / "config.toml")
    assert get_refusal(root) == ".jp/config.toml: it is not a regular file."


def test_read_a_directory_in_place_of_the_file_is_refused(root: Path):
    (root / ".jp" / "config.toml").mkdir()
    assert get_refusal(root) == ".jp/config.toml: it is a directory, not a file."


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.toml", "a = 1\nb = = 2", ".jp/config.toml: not TOML: "),
        ("config.toml", "a = " + "9" * 5000, ".jp/config.toml: not TOML: "),
        ("config.toml", "a = " + "[" * 5000, ".jp/config.toml: nested too deep"),
        ("config.toml", "#" * (256 * 1024 + 1), ".jp/config.toml: it is larger than 256 KiB."),
        ("config.toml", "a" + ".a" * 20_000 + " = 1", ".jp/config.toml: nested too deep"),
        ("config.toml", "a = [" + "1," * 20_001 + "]", ".jp/config.toml: it has more than 20,000"),
        ("config.d/x.json", "{", ".jp/config.d/x.json: not JSON: "),
        ("config.d/x.json", "[" * 100_000, ".jp/config.d/x.json: nested too deep"),
        ("config.d/x.json", "[]", ".jp/config.d/x.json: it is not a JSON object."),
        ("config.toml", "extends = 1", ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", "extends = [1]", ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", 'extends = [""]', ".jp/config.toml: extends must be a list of paths"),
        ("config.toml", 'extends = [{path = "x", strategy = "y"}]', ".jp/config.toml: extends mu"),
        ("config.toml", 'extends = ["a**b"]', "extends is not a path: 'a**b'."),
    ],
)  # fmt: skip
def test_read_config_error_names_the_file_and_the_reason(
    root: Path, name: str, text: str, message: str
):
    write(root, name, text)
    assert get_refusal(root).startswith(message)


def test_bad_toml_names_the_line(root: Path):
    write(root, "config.toml", "a = 1\nb = = 2")
    assert "at line 2" in get_refusal(root)


def test_read_config_refuses_a_file_that_is_not_utf8(root: Path):
    (root / ".jp" / "config.toml").write_bytes(b"a = '\xff'")
    assert get_refusal(root) == ".jp/config.toml is not UTF-8."


def test_read_config_refuses_a_pattern_with_too_many_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(size_limits, "MAX_FILES", 2)
    for number in range(3):
        write(root, f"config.d/{number}.toml", "")
    assert get_refusal(root) == "extends finds more than 2 files: 'config.d/**/*'."


def test_read_too_many_bytes_of_all_files_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_TOTAL_BYTES", 2048)
    for number in range(3):
        write(root, f"config.d/{number}.toml", "#" * 1000)
    assert get_refusal(root) == (
        ".jp/config.d/2.toml: with it, the configuration is larger than 2 KiB."
    )


@pytest.mark.parametrize("links", [["d"], ["b", "c"]], ids=["apart", "of one file"])
def test_values_count_as_often_as_files_are_extended(
    root: Path, monkeypatch: pytest.MonkeyPatch, links: list[str]
):
    """A file of 18,000 lists that 99 files extend was merged 99 times, in 6.5 s."""
    write(root, "config.toml", f"extends = {json.dumps([f'{link}.toml' for link in links])}")
    for link in links:
        write(root, f"{link}.toml", 'extends = ["e.toml"]')
    write(root, "e.toml", "a = [1, 2]")
    values = 1 + len(links) + len(links) * 2 + len(links) * 3
    monkeypatch.setattr(size_limits, "MAX_TOTAL_VALUES", values)
    assert names(root)[-1] == ".jp/config.toml"
    monkeypatch.setattr(size_limits, "MAX_TOTAL_VALUES", values - 1)
    assert get_refusal(root).startswith("The configuration has more than ")


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        (["x.toml"] * 51, ".jp/config.toml: extends has more than 50 paths."),
        (["x" * 501], "extends has a path of more than 500 characters: "),
        (["/".join(["**"] * 60 + ["*"])], ""),
        ([f"{'*a' * 200}/x.toml"], ""),
    ],
)
def test_read_patterns_are_bounded(root: Path, extends: list[str], message: str):
    write(root, "config.toml", f"extends = {json.dumps(extends)}")
    write(root, f"{'a' * 200}/x.toml", "a = 1")
    if message:
        assert get_refusal(root).startswith(message)
    else:
        assert f".jp/{'a' * 200}/x.toml" in names(root)


def test_read_too_many_entries_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(size_limits, "MAX_LISTED_ENTRIES", 3)
    for number in range(4):
        write(root, f"config.d/{number}.md", "")
    assert get_refusal(root) == "extends looks at more than 3 entries of directories."


def test_read_too_deep_directories_are_refused(root: Path):
    write(root, "config.d/" + "a/" * 40 + "x.toml", "a = 1")
    assert get_refusal(root) == "extends looks deeper than 32 directories."


def test_values_are_as_every_database_takes_them(root: Path):
    write(root, "config.d/x.json", json.dumps({"a\0": ["\ud800"]}))
    values: Any = config.read_config(root).layers[0][1]
    assert values == {"a\ufffd": ["\ufffd"]}
