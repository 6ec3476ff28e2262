from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import mirror
from jpweb.store.jp_files.mirror import MirrorReport
from tests.store.making import write_folder


def test_the_report_is_one_line():
    report = MirrorReport(3, 1, 20, Counter(answered=2, open=1), 1, 2, 1, ["x: broken"])
    assert report.format_line() == (
        "3 conversations; 1 unchanged; 20 new events; 3 questions (2 answered, 1 open); "
        "1 unknown and 2 broken elements, shown raw; 1 deleted in jp, kept here; "
        "1 with problems"
    )
    assert MirrorReport().format_line() == "0 conversations"
    single = MirrorReport(1, event_count=1, inquiries=Counter(open=1))
    assert single.format_line() == "1 conversation; 1 new event; 1 question (1 open)"


@pytest.mark.django_db
def test_mirror_reports_progress_before_each_conversation_and_at_end(tmp_path: Path):
    for number in (1, 2):
        write_folder(tmp_path, f"1700000000{number}-x", [])
    calls: list[Any] = []
    mirror.mirror_workspace(tmp_path, "", lambda *args: calls.append(args))
    assert calls == [(0, 2, "17000000001-x"), (1, 2, "17000000002-x"), (2, 2, "")]
