"""kill -9 at any point of the writing (docs/jp-format.md, Writing)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import workspace
from jpweb.store.jp_files.workspace import DiskWorkspace
from jpweb.store.jp_files.writer import SMALLEST_BASE_CONFIG
from tests.machine.sizes import mark_proof
from tests.store.jp_files.writing import killed
from tests.store.jp_files.writing.disk import LONG, NEW, SHORT, WriterDisk, read_files
from tests.store.jp_files.writing.killed import DS


def jp_reads(root: Path) -> list[tuple[bytes, bytes]]:
    """Return metadata and events of what jp would list, its start-up validation passed (9)."""
    for home in (root / "silo/conversations", root / "project/.jp/conversations"):
        for folder in home.glob("[!.]*"):
            assert folder.name.partition("-")[0] == str(DS)
            elements = json.loads((folder / "events.json").read_bytes())
            assert all({"timestamp", "type"} <= element.keys() for element in elements)
            for name in ("metadata.json", "base_config.json"):
                assert isinstance(json.loads((folder / name).read_bytes()), dict)
    place = DiskWorkspace(root / "project", "abcde", root / "silo")
    return [
        (
            (conversation.metadata_folder / "metadata.json").read_bytes(),
            workspace.read_events(conversation),
        )
        for conversation in workspace.iterate_conversations(place)
    ]


def prepare_disk(root: Path, case: str) -> dict[str, Any]:
    """Make the disk of a case; return the call that is to be killed."""
    disk = WriterDisk(root)
    if case != "new":
        disk.write(
            homes={"only there": [disk.project], "not here": [disk.silo]}.get(case, disk.homes)
        )
    if case == "not here":
        case = "new"
    for folder in [folder for home in disk.homes for folder in home.glob(f"{DS}*")]:
        (folder / "QUERY_MESSAGE.md").write_text("half a thought")
        if case == "twins":
            twin = folder.with_name(f"{DS}-twin")
            twin.mkdir()
            (twin / "metadata.json").write_bytes((folder / "metadata.json").read_bytes())
            (twin / "base_config.json").write_bytes(SMALLEST_BASE_CONFIG)
            (twin / "events.json").write_bytes(SHORT)
            os.utime(twin / "events.json", ns=(1, 1))
    expected = None if case == "new" else SHORT.decode()
    about = {"title": NEW, "last_activated_at": "2026-01-03 00:00:00.0"}
    call = {"metadata": about, "events": LONG.decode(), "base_config": None, "expected": expected}
    (root / "call.json").write_text(json.dumps(call))
    return call


@pytest.mark.chaos
@pytest.mark.parametrize("case", ["new", "grown", "twins", *mark_proof("not here", "only there")])
def test_kill_at_any_step_leaves_old_or_new_and_a_second_call_completes(tmp_path, case):
    before, after = tmp_path / "before", tmp_path / "after"
    prepare_disk(before, case)
    old = jp_reads(before)
    after.mkdir()
    script = [sys.executable, "-m", "tests.store.jp_files.writing.killed", str(before), str(after)]
    subprocess.run(script, check=True)
    *died, last_folder = sorted(after.iterdir())
    assert last_folder.name == "whole"
    new, complete = jp_reads(last_folder), read_files(last_folder)
    allowed_states = [old, new] + ([[(new[0][0], old[0][1])]] if old else [])
    assert len(died) > 30
    assert new[0][1] == LONG
    for root in died:
        assert jp_reads(root) in allowed_states
        # JP overlooks a folder that is being made, and the next call makes it again.
        foreign = [p for p in root.rglob("QUERY_MESSAGE.md") if ".jpweb-" not in p.parent.name]
        assert {path.read_text() for path in foreign} <= {"half a thought"}
        killed.make_call(root)
        assert strip_dates(read_files(root)) == strip_dates(complete)
        assert not list(root.rglob("*.tmp"))


def strip_dates(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if not name.endswith("TRASHED.md")}
