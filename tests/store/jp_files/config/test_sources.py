from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import config
from jpweb.store.jp_files.config import sources
from jpweb.store.jp_files.config.sources import find_user_global_folder


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The four places, by their names for people."""
    folder_by_name = {
        "user-global": tmp_path / "own" / "jp",
        ".jp": tmp_path / "ws" / ".jp",
        "": tmp_path / "ws",
        "user-workspace": tmp_path / "silo",
    }
    for folder in folder_by_name.values():
        folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("JP_GLOBAL_CONFIG_DIR", str(folder_by_name["user-global"]))
    return folder_by_name


def read(folders: dict[str, Path]) -> config.ConfigFiles:
    return config.read_config(folders[""], folders["user-workspace"])


def write_each(folders: dict[str, Path], texts: dict[str, str]) -> None:
    for label, text in texts.items():
        name = ".jp.toml" if label == "" else "config.toml"
        (folders[label] / name).write_text(text)


ALL_NAMES = [
    "user-global/config.toml",
    ".jp/config.toml",
    ".jp.toml",
    "user-workspace/config.toml",
    "JP_CFG_ASSISTANT_NAME",
]


def test_sources_are_merged_in_the_order_of_jp(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    write_each(folders, dict.fromkeys(folders, "a = 1"))
    monkeypatch.setenv("JP_CFG_ASSISTANT_NAME", "Ada")
    assert [name for name, _ in read(folders).layers] == ALL_NAMES
    assert read(folders).notes == ()


def test_config_ignores_a_silo_that_is_not_bound(folders: dict[str, Path]):
    write_each(folders, {"user-workspace": "a = 1"})
    assert config.read_config(folders[""]) == config.ConfigFiles()


@pytest.mark.parametrize(
    ("label", "count"), [("user-global", 1), (".jp", 2), ("", 3), ("user-workspace", 4)]
)
def test_a_source_that_does_not_inherit_leaves_out_later_files_alone(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, label: str, count: int
):
    write_each(folders, dict.fromkeys(folders, "a = 1") | {label: "inherit = false"})
    monkeypatch.setenv("JP_CFG_ASSISTANT_NAME", "Ada")
    assert [name for name, _ in read(folders).layers] == [*ALL_NAMES[:count], ALL_NAMES[-1]]


def test_config_source_extends_files_of_its_own_folder(folders: dict[str, Path]):
    write_each(folders, dict.fromkeys(folders, 'extends = ["more/*.toml"]'))
    for label, folder in folders.items():
        (folder / "more").mkdir()
        (folder / "more" / "x.toml").write_text(f'at = "{label}"')
    layers = dict(read(folders).layers)
    assert {name: values["at"] for name, values in layers.items() if "at" in values} == {
        "user-global/more/x.toml": "user-global",
        ".jp/more/x.toml": ".jp",
        "more/x.toml": "",
        "user-workspace/more/x.toml": "user-workspace",
    }


def test_the_default_of_extends_is_that_of_the_workspace_alone(folders: dict[str, Path]):
    for folder in folders.values():
        (folder / "config.d").mkdir()
        (folder / "config.d" / "x.toml").write_text("a = 1")
    assert [name for name, _ in read(folders).layers] == [".jp/config.d/x.toml"]


def test_a_users_own_file_may_be_a_link_and_a_workspaces_may_not(folders: dict[str, Path]):
    dotfiles = folders["user-global"].parent / "dotfiles.toml"
    dotfiles.write_text("a = 1")
    (folders["user-global"] / "config.toml").symlink_to(dotfiles)
    assert read(folders).layers == (("user-global/config.toml", {"a": 1}),)
    (folders[""] / ".jp.toml").symlink_to(dotfiles)
    with pytest.raises(InvalidConfigFile, match=r"^\.jp\.toml: it is a symbolic link"):
        read(folders)


def test_a_workspace_that_leads_out_of_its_root_is_refused(folders: dict[str, Path]):
    write_each(folders, {"": 'extends = ["../own/jp/config.toml"]'})
    with pytest.raises(InvalidConfigFile, match="leads out of the workspace"):
        read(folders)


def test_own_files_that_may_not_be_read_are_noted(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    def refuse(source: Any, _names: Any) -> None:
        if source.label == "user-global":
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sources.ConfigSource, "list_present", refuse)
    assert read(folders).notes == ("user-global was not read: Permission denied.",)


def test_config_fingerprint_differs_for_equal_files_elsewhere(folders: dict[str, Path]):
    write_each(folders, {".jp": "a = 1"})
    first = read(folders)
    (folders[".jp"] / "config.toml").unlink()
    write_each(folders, {"": "a = 1"})
    assert read(folders).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"JP_GLOBAL_CONFIG_DIR": "/own"}, "/own"),
        ({"JP_GLOBAL_CONFIG_DIR": "~/mine"}, "/people/ada/mine"),
        ({"JP_GLOBAL_CONFIG_DIR": "relative"}, str(Path.cwd() / "relative")),
        ({"XDG_CONFIG_HOME": "/shared"}, "/shared/jp"),
        ({"XDG_CONFIG_HOME": "relative"}, "/people/ada/.config/jp"),
        ({}, "/people/ada/.config/jp"),
    ],
)
def test_the_user_global_folder_is_the_one_of_jp(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
):
    for name in ("JP_GLOBAL_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/people/ada", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    assert str(find_user_global_folder()) == folder
