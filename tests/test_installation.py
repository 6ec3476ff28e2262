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
