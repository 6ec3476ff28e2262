from __future__ import annotations

import io
import sys

import pytest

from jpweb.cli.progress import show_progress


class Terminal(io.StringIO):
    """Takes what is printed as a terminal does."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("file", "is_shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_bar_shows_progress_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, file: io.StringIO, is_shown: bool
):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", file)
    with show_progress("Reading garden") as report:
        report(1, 3, "a folder")
    assert ("Reading garden" in file.getvalue()) is is_shown
    assert ("1/3" in file.getvalue()) is is_shown
