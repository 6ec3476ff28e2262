from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jpweb import installation
from tests.machine.serving import ROOT


def test_checkout_holds_templates_and_data_beside_the_package():
    assert installation.IS_CHECKOUT
    assert installation.RESOURCE_DIR == ROOT
    assert installation.find_default_data_dir() == ROOT / "var"


@pytest.mark.parametrize(
    ("shared", "platform", "folder"),
    [
        ("/shared", "linux", "/shared/jpweb"),
        ("", "linux", "~/.local/share/jpweb"),
        ("relative", "linux", "~/.local/share/jpweb"),
        ("", "darwin", "~/Library/Application Support/jpweb"),
    ],
    ids=["XDG", "none", "relative", "macOS"],
)
def test_wheel_keeps_data_in_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, shared: str, platform: str, folder: str
):
    monkeypatch.setenv("XDG_DATA_HOME", shared)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(installation, "IS_CHECKOUT", False)
    assert installation.find_default_data_dir() == Path(folder).expanduser()


def test_path_through_a_link_leads_to_its_target_and_need_not_be(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    assert (
        installation.resolve_path(tmp_path / "link" / "new")
        == tmp_path.resolve() / "folder" / "new"
    )


@pytest.mark.parametrize("name", ["circle", "circle/below"])
def test_path_through_a_loop_of_links_is_refused_by_its_name(tmp_path: Path, name: str):
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="symbolic links") as error:
        installation.resolve_path(tmp_path / name)
    assert error.value.filename == str(tmp_path / name)


def test_home_of_an_unknown_user_is_refused():
    with pytest.raises(OSError, match="~nosuchuser/x"):
        installation.resolve_path(Path("~nosuchuser/x"))
